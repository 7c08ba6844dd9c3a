"""The session browser, by keyboard."""

from pathlib import Path

from co_tui.events import Message, SessionStart
from co_tui.store.sqlite.store import SqliteStore
from co_tui.ui.launch import Launch
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.stores import listed, store_in


def store(launch: Launch, *sessions: tuple[str, str, str]) -> None:
    kept = SqliteStore(launch.paths)
    for name, prompt, cwd in sessions:
        request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": prompt}]}
        reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"Answer to {prompt}"}]}
        start = SessionStart(model="openai-chat:scripted", policy="balanced", cwd=cwd or str(launch.cwd))
        kept.writing().append(name, [start, Message(turn=1, message=request), Message(turn=1, message=reply)]).result()
    kept.close()


async def test_filter_preview_resume_and_go_on(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    store(launch, ("s-1", "fix flaky login", ""), ("s-2", "payment webhooks", ""), ("s-3", "far away", "/elsewhere"))
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 3" in screen_text(app))
        seen = screen_text(app)
        assert seen.index("payment webhooks") < seen.index("fix flaky login") < seen.index("far away")
        assert "Elsewhere" in seen and "Answer to payment webhooks" in seen
        await type_text(pilot, "login")
        await until(pilot, lambda: "Answer to fix flaky login" in screen_text(app))
        assert "far away" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.session is not None and app.controller.session.id == "s-1")
        assert "Answer to fix flaky login" in screen_text(app)
        await ask(app, pilot, "still flaky")
        contents = [message["content"] for message in provider.requests[-1]["messages"]]
        assert contents[1:] == ["fix flaky login", "Answer to fix flaky login", "still flaky"]


async def test_rename_and_delete_with_question(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    store(launch, ("s-1", "first", ""), ("s-2", "second", ""))
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 2" in screen_text(app))
        await pilot.press("ctrl+r")
        await pilot.pause()
        await pilot.press("end", *["backspace"] * 6)
        await type_text(pilot, "renamed\n")
        await until(pilot, lambda: "renamed" in [row.title for row in listed(home)])
        await until(pilot, lambda: "renamed" in screen_text(app))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "for good?" in screen_text(app))
        await pilot.press("n")
        await until(pilot, lambda: "Sessions · 2" in screen_text(app))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "for good?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "Sessions · 1" in screen_text(app))
        assert [row.id for row in listed(home)] == ["s-1"]
        await pilot.press("escape")
        assert app.screen is app.chat


def written_in(home: Path) -> str:
    return "".join(file.read_text() for file in home.rglob("*.txt"))


async def test_deleting_the_open_session_begins_a_new_one(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "doomed")
        app.chat.prompt.insert("half a secret")
        await pilot.press("f2")
        await until(pilot, lambda: "● doomed" in screen_text(app))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "for good?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "Sessions · 0" in screen_text(app))
        await pilot.press("escape")
        assert app.controller.session is None and "doomed" not in screen_text(app)
        assert "half a secret" not in written_in(home), "nothing of it is left"
        await ask(app, pilot, "fresh")
        assert [row.title for row in listed(home)] == ["fresh"]


async def test_resume_by_id_and_its_mistakes(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    store(launch, ("20260101-abc", "old one", ""))
    async with running(launch) as (app, pilot):
        await type_text(pilot, "/resume nope\n")
        await until(pilot, lambda: "There is no session 'nope'" in transcript_text(app))
        await type_text(pilot, "/resume abc\n")
        await until(pilot, lambda: app.controller.session is not None and "Answer to old one" in screen_text(app))
        await type_text(pilot, "/resume abc\n")
        await until(pilot, lambda: "open already" in transcript_text(app))


async def test_the_browser_opens_first_when_asked(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, browse=True)
    store(launch, ("s-1", "only one", ""))
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: "Sessions · 1" in screen_text(app))
        await pilot.press("escape")


async def test_a_long_session_shows_its_end_first_and_the_rest_as_one_scrolls(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    facts = [SessionStart(model="openai-chat:scripted", cwd=str(launch.cwd))]
    for n in range(400):
        request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"prompt number {n}"}]}
        reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"reply number {n}\n\n- a\n- b"}]}
        facts += [Message(turn=n + 1, message=request), Message(turn=n + 1, message=reply)]
    with store_in(home) as kept:
        kept.writing().append("long", facts).result()
    async with running(launch_for(home, provider, session_id="long")) as (app, pilot):
        assert "reply number 399" in screen_text(app) and len(app.chat.transcript.blocks) < 100
        for _ in range(40):
            await pilot.press("pageup")
        assert len(app.chat.transcript.blocks) > 200
        assert "more below" in screen_text(app)
        await pilot.press("ctrl+end")
        await until(pilot, lambda: "reply number 399" in screen_text(app))
        assert "more below" not in screen_text(app)
