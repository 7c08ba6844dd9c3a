"""The session browser, by keyboard."""

import asyncio
import threading
from datetime import date
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.events import Key
from textual.widgets import Input

from co_tui.events import Message, SessionStart
from co_tui.session.launch import Launch
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.stored_values import SessionRow
from co_tui.ui.sessions import sessions_screen
from co_tui.ui.sessions.session_actions import deletion_question
from co_tui.ui.sessions.session_finder import Found, Listed, SessionFinder
from co_tui.ui.sessions.session_list_widget import SessionList
from co_tui.ui.sessions.session_listing import SessionListing, SessionQuery, day_name
from tests.support.long_run import LONG_RUN, also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider
from tests.support.pushing import log_of
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.stores import listed, store_in, stored_events
from tests.support.time_zones import time_zone
from tests.support.waiting import HANGING_S


def store(launch: Launch, *sessions: tuple[str, str, str]) -> None:
    kept = SqliteStore(launch.paths)
    for name, prompt, cwd in sessions:
        request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": prompt}]}
        reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"Answer to {prompt}"}]}
        start = SessionStart(model="openai-chat:scripted", policy="balanced", cwd=cwd or str(launch.cwd))
        kept.writing().append(name, [start, Message(turn=1, message=request), Message(turn=1, message=reply)]).result()
    kept.close()


async def test_filter_preview_resume_and_continue(home: Path, provider: Provider) -> None:
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


async def test_a_cancelled_search_stops_its_query(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = launch_for(home)
    store(launch, ("s-1", "fix flaky login", ""))
    begun, cancelled = threading.Event(), threading.Event()

    def search(reader: Reader, typed: str, **how: object) -> None:
        begun.set()
        assert cancelled.wait(HANGING_S)

    monkeypatch.setattr(Reader, "search", search)
    monkeypatch.setattr(Reader, "cancel", lambda reader: cancelled.set())
    finder = SessionFinder(launch.store, str(launch.cwd))
    task = asyncio.create_task(finder.found("login", by_relevance=False, in_trash=False))
    assert await asyncio.to_thread(begun.wait, HANGING_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()
    finder.close()


async def test_typing_on_cancels_the_search(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = launch_for(home)
    store(launch, ("s-1", "fix flaky login", ""))
    searched, cancelled = [], []

    async def found(finder: SessionFinder, typed: str, **how: object) -> Found:
        searched.append(typed)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(typed)
            raise
        return Found()

    monkeypatch.setattr(SessionFinder, "found", found)
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 1" in screen_text(app))
        await type_text(pilot, "log")
        await until(pilot, lambda: "log" in searched)
        monkeypatch.setattr(sessions_screen, "PAUSE_S", 1_000)
        await type_text(pilot, "i")
        await until(pilot, lambda: cancelled[-1:] == ["log"])
        await pilot.press("escape")
        await until(pilot, lambda: app.screen.query_one("#filter", Input).value == "")


async def test_rename_pin_delete_restore_and_delete_for_good(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    store(launch, ("s-1", "first", ""), ("s-2", "second", ""))
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 2" in screen_text(app))
        await pilot.press("f1")
        await until(pilot, lambda: "Here" in screen_text(app))
        here = screen_text(app).partition("Here")[2].partition("First keys")[0].split()
        assert [word for word in here if word.startswith("Ctrl+")] == [f"Ctrl+{letter}" for letter in "FREDKT"]
        await pilot.press("f1")
        await pilot.press("ctrl+r")
        await pilot.pause()
        await pilot.press("end", *["backspace"] * 6)
        await type_text(pilot, "renamed\n")
        await until(pilot, lambda: "▌ renamed" in screen_text(app))
        assert "renamed" in [row.title for row in listed(home)]
        await pilot.press("down", "ctrl+k")
        await until(pilot, lambda: "▌ ★ first" in screen_text(app))
        assert screen_text(app).index("Pinned") < screen_text(app).index("★ first") < screen_text(app).index("renamed")
        await pilot.press("down", "ctrl+d")
        await until(pilot, lambda: "to the trash?" in screen_text(app))
        await pilot.press("n")
        await until(pilot, lambda: "to the trash?" not in screen_text(app))
        assert "Sessions · 2" in screen_text(app)
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "to the trash?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "Sessions · 1" in screen_text(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "Trash · 1" in screen_text(app) and "▌ renamed" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "The trash is empty." in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Sessions · 2" in screen_text(app))
        await pilot.press("down", "ctrl+d")
        await until(pilot, lambda: "to the trash?" in screen_text(app))
        await pilot.press("y", "ctrl+t")
        await until(pilot, lambda: "▌ renamed" in screen_text(app) and "Trash · 1" in screen_text(app))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "forever?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "Trash · 0" in screen_text(app))
        assert [row.id for row in listed(home)] == ["s-1"] and not stored_events(home, "s-2")
        await pilot.press("escape", "escape")
        assert app.screen is app.chat


async def test_what_was_said_is_found_as_one_pauses(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_for(home, provider)
    store(
        launch,
        ("s-1", "payment webhooks", ""),
        ("s-2", "[bold]a [/bold]\x1b[31mtrap", ""),
        ("s-3", "heron or swan", ""),
        ("s-4", "heron heron", "/elsewhere"),
    )
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 4" in screen_text(app))
        assert "[bold]a [/bold]" in screen_text(app) and "\x1b" not in screen_text(app), "shown, not obeyed"
        with monkeypatch.context() as typing:
            typing.setattr(sessions_screen, "PAUSE_S", HANGING_S)
            await type_text(pilot, "answe")
            await until(pilot, lambda: "No title matches “answe”" in screen_text(app))
        await pilot.press("r")
        await until(pilot, lambda: "Found in 4 sessions, newest first" in screen_text(app))
        assert "Sessions · 4 of 4" in screen_text(app) and "Ctrl+F Fork" in screen_text(app)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "by relevance" in screen_text(app))
        await type_text(pilot, " swan")
        await until(pilot, lambda: "Found in 1 session," in screen_text(app))
        await until(pilot, lambda: "Answer to heron or swan" in screen_text(app))
        (marked,) = {
            segment.style.underline
            for strip in app.screen._compositor.render_strips(app.size)
            for segment in strip
            if segment.text == "swan" and segment.style is not None and segment.style.bold
        }
        assert marked, "in the preview"
        await type_text(pilot, "qqq")
        await until(pilot, lambda: "No matches for “answer swanqqq”. Esc clears." in screen_text(app))
        assert "Ctrl+F Fork" not in screen_text(app), "no key for nothing"
        await pilot.press("escape")
        await until(pilot, lambda: "Sessions · 4" in screen_text(app))
        for odd in also_in_a_long_run(["NEAR(", "x" * 10_000], ['"', "*", "a-b OR", "'; --", "漢字"]):
            app.screen.query_one(Input).value = odd
            await until(pilot, lambda: "No matches for" in screen_text(app))
        app.screen.query_one(Input).value = "heron"
        await until(pilot, lambda: "Sessions · 2 of 4" in screen_text(app))
        seen = screen_text(app)
        assert seen.index("heron or swan") < seen.index("Elsewhere · Today") < seen.index("heron heron")
        app.screen.query_one(Input).value = "answer swan"
        await until(pilot, lambda: "Found in 1 session," in screen_text(app))
        await pilot.press("ctrl+r")
        await pilot.pause()
        await pilot.press("end", *["backspace"] * 13)
        await type_text(pilot, "birds\n")
        await until(pilot, lambda: "▌ birds" in screen_text(app))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "to the trash?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "No matches for “answer swan”" in screen_text(app))
        await pilot.press("escape", "escape")
        assert app.screen is app.chat


async def test_enter_on_a_hit_shows_that_message_in_the_open_session_and_in_another(
    home: Path, provider: Provider
) -> None:
    launch = launch_for(home, provider)
    store(launch, ("s-1", "payment webhooks", ""), ("s-2", "other things", ""))
    kept = SqliteStore(launch.paths)
    for name, word in (("s-1", "heron"), ("s-2", "swan")):
        texts = [f"A {word} stood here." if number == 3 else f"Line {number}.\n\n" * 30 for number in range(12)]
        replies = [{"kind": "response", "parts": [{"part_kind": "text", "content": text}]} for text in texts]
        kept.writing().append(name, [Message(turn=1, message=reply) for reply in replies]).result()
    kept.close()
    async with running(launch.but(session_id="s-1"), size=(80, 24)) as (app, pilot):
        for word, name in also_in_a_long_run([("swan", "s-2")], [("heron", "s-1")]):
            assert word not in screen_text(app)
            await pilot.press("f2")
            await until(pilot, lambda: "Sessions · 2" in screen_text(app))
            await type_text(pilot, word)
            await until(pilot, lambda: "Found in 1 session" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda word=word: app.screen is app.chat and f"A {word} stood here" in screen_text(app))
            assert app.controller.session_id == name and app.chat.transcript.has_focus


async def test_fork_from_any_prompt_and_export(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    store(launch, ("s-1", "build a boat", ""))
    with store_in(home) as kept:
        request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "paint it red"}]}
        reply = {"kind": "response", "parts": [{"part_kind": "text", "content": "Painted."}]}
        kept.writing().append("s-1", [Message(turn=2, message=request), Message(turn=2, message=reply)]).result()
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 1" in screen_text(app))
        await pilot.press("ctrl+e")
        await until(pilot, lambda: "Export into this folder" in screen_text(app))
        await pilot.press("m")
        await until(pilot, lambda: (launch.cwd / "co-tui-s-1.md").exists())
        assert "Painted." in (launch.cwd / "co-tui-s-1.md").read_text()
        await until(pilot, lambda: [each.message for each in app._notifications][-1:])
        assert "co-tui-s-1.md" in [*app._notifications][-1].message
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "paint it red" in screen_text(app) and "all of it" in screen_text(app))
        await pilot.press("up", "enter")
        await until(pilot, lambda: app.controller.session is not None)
        assert app.chat.prompt.text == "paint it red", "to be said otherwise"
        assert app.controller.state.title == "build a boat (fork)" and app.controller.state.turn == 1
        assert [entry.turn for entry in app.controller.state.history] == [1, 1]
        if not LONG_RUN:
            return
        app.chat.prompt.text = ""
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 2" in screen_text(app))
        await pilot.press("down", "ctrl+f")
        await until(pilot, lambda: "all of it" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.session is not None and app.controller.state.turn == 2)
    assert len(listed(home)) == 3


@pytest.mark.parametrize("size", also_in_a_long_run([(60, 16)], [(80, 24)]))
async def test_on_a_small_screen_everything_works(home: Path, provider: Provider, size: tuple[int, int]) -> None:
    launch = launch_for(home, provider)
    store(launch, *((f"s-{n:02}", f"talk {n} about " + "a long matter " * 9, "") for n in range(30)))
    async with running(launch, size) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 30" in screen_text(app))
        seen = screen_text(app).split("\n")
        assert "Enter Resume" in seen[-1] and "Esc Back" in seen[-1] and "F1 Help" in seen[-1], "in one line"
        assert max(map(cell_len, seen)) <= size[0]
        assert ("2 messages" in screen_text(app)) == (size == (80, 24)), "the preview folds below, or away"
        for _ in range(3):
            await pilot.press("pagedown")
        await pilot.press("ctrl+end")
        assert "▌ talk 0 about" in screen_text(app)
        await pilot.click(SessionList, offset=(10, 2))
        chosen = app.screen.query_one(SessionList).row
        assert chosen is not None and chosen.id != "s-00"
        await pilot.click(SessionList, offset=(10, 2))
        await until(pilot, lambda: app.controller.session is not None and app.controller.session.id == chosen.id)


def written_in(home: Path) -> str:
    return "".join(file.read_text() for file in home.rglob("*.txt"))


async def test_deleting_the_open_session_begins_a_new_one(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "doomed")
        app.chat.prompt.insert("half a secret")
        await pilot.press("f2")
        await until(pilot, lambda: "● doomed" in screen_text(app))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "to the trash?" in screen_text(app))
        await pilot.press("y", "ctrl+t")
        await until(pilot, lambda: "Trash · 1" in screen_text(app))
        assert app.controller.session is None
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "forever?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "Trash · 0" in screen_text(app))
        await pilot.press("f2")
        assert "doomed" not in screen_text(app)
        assert "half a secret" not in written_in(home), "nothing of it is left"
        await ask(app, pilot, "fresh")
        assert [row.title for row in listed(home)] == ["fresh"]


async def test_resume_by_id_and_its_mistakes(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    store(launch, ("20260101-abc", "old one", ""))
    async with running(launch) as (app, pilot):
        await type_text(pilot, "/resume nope\n")
        await until(pilot, lambda: "No session 'nope'" in transcript_text(app))
        await type_text(pilot, "/resume abc\n")
        await until(pilot, lambda: app.controller.session is not None and "Answer to old one" in screen_text(app))
        await type_text(pilot, "/resume abc\n")
        await until(pilot, lambda: "already open" in transcript_text(app))


async def test_the_browser_opens_first_when_asked(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, first_command="sessions")
    store(launch, ("s-1", "only one", ""))
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: "Sessions · 1" in screen_text(app))
        await pilot.press("escape")


async def test_a_long_session_shows_its_end_first_and_the_rest_as_one_scrolls(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    facts = [SessionStart(model="openai-chat:scripted", cwd=str(launch.cwd))]
    for n in range(200):
        request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"prompt number {n}"}]}
        reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"reply number {n}\n\n- a\n- b"}]}
        facts += [Message(turn=n + 1, message=request), Message(turn=n + 1, message=reply)]
    with store_in(home) as kept:
        kept.writing().append("long", facts).result()
    async with running(launch_for(home, provider, session_id="long")) as (app, pilot):
        assert "reply number 199" in screen_text(app) and len(app.chat.transcript.blocks) < 100
        for _ in range(20):
            await pilot.press("pageup")
        assert len(app.chat.transcript.blocks) > 100
        assert "more below" in screen_text(app)
        await pilot.press("ctrl+end")
        await until(pilot, lambda: "reply number 199" in screen_text(app))
        assert "more below" not in screen_text(app)


@pytest.mark.parametrize(
    ("day", "name"),
    [
        (date(2026, 11, 15), "Today"),
        (date(2026, 11, 16), "Today"),  # a clock that was set back
        (date(2026, 11, 14), "Yesterday"),
        (date(2026, 11, 9), "Monday"),
        (date(2026, 11, 8), "8 November"),
        (date(2025, 11, 8), "8 November 2025"),
    ],
)
def test_days_are_named_as_people_name_them(day: date, name: str) -> None:
    assert day_name(day, date(2026, 11, 15)) == name


async def test_a_session_of_the_last_year_is_listed_and_opened(home: Path) -> None:
    launch = launch_for(home)
    log = log_of("s-1", "the last heron")
    late = [event.but(timestamp="9999-12-31T23:59:59.000000Z") for event in log]
    launch.store.writing().import_log(late).result()
    with time_zone("Asia/Tokyo"):
        async with running(launch) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: "the last heron" in screen_text(app) and "December 9999" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: "the last heron" in transcript_text(app))


async def test_what_is_typed_with_enter_in_one_burst_chooses_what_it_says(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    store(launch, ("s-1", "fix flaky login", ""), ("s-2", "payment webhooks", ""))
    async with running(launch) as (app, pilot):
        for key in ("f2", *"login", "enter"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: app.controller.session is not None and app.controller.session.id == "s-1")


def test_deleting_mentions_a_pin_and_how_to_undo_it() -> None:
    row = SessionRow._make("" for _ in SessionRow._fields)._replace(title="Plans", messages=1)
    assert deletion_question(row).startswith("Move “Plans” to the trash? Restorable for 30 days (Ctrl+T)")
    assert "“Plans” is pinned" in deletion_question(row._replace(pinned=True))
    assert deletion_question(row._replace(trashed="2026-01-01")) == "Delete “Plans” with its 1 message forever?"


def test_a_search_that_misses_older_messages_says_so() -> None:
    listing = SessionListing("heron", Listed([], 0, 3), Found())
    assert listing.title == "Sessions · 0 of 3"
    listing = listing._replace(found=Found(is_incomplete=True))
    assert listing.title == "Sessions · 0 of 3 · not all messages searched yet"


def test_the_end_of_a_long_list_is_there_without_all_before_it(home: Path) -> None:
    launch = launch_for(home)
    with store_in(home) as kept:
        for n in range(300):
            kept.writing().append(f"s-{n:03}", [SessionStart(model="m", cwd="/a" if n % 2 else "/b")]).result()
    finder = SessionFinder(launch.store, "/a")
    whole = finder.listed("", in_trash=False, limit=300)
    part = finder.listed("", in_trash=False, limit=100, last=50)
    assert (part.rows, part.last, part.missing) == (whole.rows[:100], whole.rows[-50:], 150)
    part = finder.listed("", in_trash=False, limit=100, last=400)
    assert [*part.rows, *part.last] == whole.rows and part.missing == whole.missing == 0
    query = SessionQuery(finder)
    query.load("")
    assert (len(query.listed.rows), query.listed.missing) == (100, 200) and query.extend()
    query.load("")
    assert query.listed.rows == whole.rows and not query.extend()
    query.restart(in_trash=False)
    query.load("")
    assert query.reach_end() and not query.reach_end()
    query.load("")
    assert (query.listed.last, query.listed.missing) == (whole.rows[-100:], 100) and query.extend_end()
    query.load("")
    assert [*query.listed.rows, *query.listed.last] == whole.rows and not query.extend_end()
    finder.close()


@only_in_a_long_run
async def test_from_the_end_of_a_long_list_one_walks_back_through_all_of_it(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    with store_in(home) as kept:
        for n in range(420):
            kept.writing().append(f"s-{n:03}", [SessionStart(model="m", cwd=str(launch.cwd))]).result()
    async with running(launch) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: "Sessions · 420" in screen_text(app))
        sessions = app.screen.query_one(SessionList)
        await pilot.press("ctrl+end")
        await until(pilot, lambda: sessions.row is not None and sessions.row.id == "s-000")
        for n in range(1, 420, 38):
            sessions.move(-38)
            await pilot.pause()
            assert sessions.row is not None and sessions.row.id == f"s-{min(n + 37, 419):03}"
        await pilot.press("ctrl+end")
        await until(pilot, lambda: sessions.row is not None and sessions.row.id == "s-000")
