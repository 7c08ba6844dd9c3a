"""A session of another program in the app: shown, and continued with the default model."""

from pathlib import Path

from co_tui.exchange.importers import load
from tests.support.foreign import claude_call, claude_result, claude_row, write_lines
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import answer, ask, launch_for, running, screen_text, transcript_text, until
from tests.support.stores import listed, store_in

ROWS = [
    claude_row("user", "Where is the heron?", 1),
    claude_row("assistant", [claude_call("c", path="pond.txt")], 2, message={"model": "claude-x"}),
    claude_row("user", [claude_result("c", "a heron stands there")], 3),
    claude_row("user", "Only its shadow is left.", 4, isCompactSummary=True),
    claude_row("assistant", "At the pond.", 5, message={"model": "claude-x"}),
]


async def test_an_imported_session_is_shown_and_continued(home: Path, provider: Provider, tmp_path: Path) -> None:
    (imported,) = load(write_lines(tmp_path / "talk.jsonl", ROWS))
    with store_in(home) as store:
        store.writing().import_log(imported.log).result()
    async with running(launch_for(home, provider, session_id=imported.session_id)) as (app, pilot):
        await until(pilot, lambda: "At the pond." in transcript_text(app))
        assert "Where is the heron?" in transcript_text(app)
        await answer(app, pilot, "h")
        await ask(app, pilot, "And now?")
        sent = [str(message["content"]) for message in provider.requests[-1]["messages"]]
        assert sent[-3:] == ["Only its shadow is left.", "At the pond.", "And now?"]
    (row,) = listed(home)
    assert row.model == "openai-chat:scripted" and row.messages == 6 and row.compactions == 1


@only_in_a_long_run
async def test_an_imported_session_is_compacted_before_its_first_request(
    home: Path, provider: Provider, tmp_path: Path
) -> None:
    rows = [
        row
        for n in range(0, 24, 2)
        for row in (
            claude_row("user", f"Where is heron {n}? " + "It has long legs. " * 40, n + 1),
            claude_row("assistant", f"Heron {n} is at the pond. " + "It stands still. " * 40, n + 2),
        )
    ]
    (imported,) = load(write_lines(tmp_path / "talk.jsonl", rows))
    with store_in(home) as store:
        store.writing().import_log(imported.log).result()
    provider.summary = Reply("Title: Herons\n## Decisions and outcomes\n- Every heron is at the pond.")
    async with running(launch_for(home, provider, session_id=imported.session_id)) as (app, pilot):
        await answer(app, pilot, "h")
        await until(pilot, lambda: app.controller.session is not None)
        assert app.controller.state.usage is None, "nothing was sent yet"
        await until(pilot, lambda: "Not measured yet: 24 messages" in screen_text(app))
        await pilot.press("f5", "f5")
        await until(pilot, lambda: "Conversation Compacted: " in transcript_text(app))
        assert not provider.requests and len(app.controller.state.history) < len(rows)
        await ask(app, pilot, "And now?")
        assert "Every heron is at the pond." in str(provider.requests[-1]["messages"])
