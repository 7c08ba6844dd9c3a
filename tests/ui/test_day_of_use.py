"""Small things that a day of use brings up."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection
from textual.widgets import Input, OptionList

from co_tui.actions import COMMANDS
from co_tui.events import CompactionComplete, Event, SessionError, SessionInterrupted
from co_tui.session.queue import WaitingPrompt
from co_tui.ui.app import CoTui
from co_tui.ui.compaction.compaction_screen import CompactionScreen
from co_tui.ui.prompt.queue_screen import QueueScreen
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of
from co_tui.ui.timeline.timeline_entry import timeline_row
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_rendering import BlockLayout
from co_tui.ui.transcript.transcript import Transcript
from co_tui.ui.widgets.key_line import KeyLine
from co_tui.ui.work.tasks_screen import Task, TasksScreen
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import (
    ask,
    launch_for,
    look_in_one_app,
    running,
    screen_text,
    transcript_text,
    type_text,
    until,
)

SLOW = Reply(text="slow " * 20, open_end=True)
"""Goes on until it is stopped."""


async def test_what_was_chosen_is_dropped_or_stopped_while_the_queue_and_the_tasks_move(home: Path) -> None:
    queue = SimpleNamespace(prompts=tuple(WaitingPrompt(n, f"prompt {n}", held=False) for n in range(1, 6)))

    def withdraw(number: int) -> None:
        queue.prompts = tuple(each for each in queue.prompts if each.number != number)

    queue.withdraw = withdraw
    async with running(launch_for(home), ready=False) as (app, pilot):
        screen = QueueScreen(queue)  # type: ignore[arg-type]  # as much of a queue as it uses
        await app.push_screen(screen)
        rows = screen.query_one(OptionList)
        await pilot.press("down", "down")
        withdraw(1)
        await until(pilot, lambda: rows.option_count == 4)
        await pilot.press("d")
        assert [each.number for each in queue.prompts] == [2, 4, 5], "the third, as was chosen"
        withdraw(4)
        await until(pilot, lambda: rows.option_count == 2)
        await pilot.press("d")
        assert [each.number for each in queue.prompts] == [2, 5], "the chosen one was sent; none takes its place"
        await pilot.press("down", "d")
        assert len(queue.prompts) == 1

        tasks = [Task(name, "run", f"make {name}", "running", True, "") for name in ("a", "b")]
        stopped: list[str] = []

        async def stop(key: str) -> None:
            stopped.append(key)

        listed = TasksScreen(SimpleNamespace(stop=stop), lambda: list(tasks))  # type: ignore[arg-type]  # all that it uses
        await app.push_screen(listed)
        await pilot.press("down")
        tasks.insert(0, tasks[0]._replace(key="c"))
        await until(pilot, lambda: listed.query_one(OptionList).option_count == 3)
        await pilot.press("x")
        assert stopped == ["b"]


async def waiting_prompts_stay_below_what_they_follow_and_escape_holds_them(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    provider.script = [SLOW]
    await type_text(pilot, "first\n")
    await until(pilot, lambda: "slow" in transcript_text(app))
    for prompt in ("second", "third", "fourth"):
        await type_text(pilot, f"{prompt}\n")
    await until(pilot, lambda: "3 queued" in screen_text(app))
    kinds = [block.text.strip()[:6] for block in app.chat.transcript.blocks]
    assert kinds.index("second") > next(n for n, text in enumerate(kinds) if text.startswith("slow"))
    await pilot.press("escape")
    await until(
        pilot,
        lambda: app.controller.idle and "3 on hold" in screen_text(app),
    )
    assert len(provider.requests) == 1, "nothing starts by itself"
    last = [block.text for block in app.chat.transcript.blocks][-3:]
    assert last == ["second", "third", "fourth"], "below the word that says it was interrupted"

    await pilot.press("up")
    await until(pilot, lambda: isinstance(app.screen, QueueScreen))
    await pilot.press("j", "d")
    await until(pilot, lambda: [prompt.text for prompt in app.controller.session.queue.prompts] == ["third", "fourth"])
    await pilot.press("enter")
    await until(pilot, lambda: app.chat.prompt.text == "fourth")
    assert [prompt.text for prompt in app.controller.session.queue.prompts] == ["third"]

    await pilot.press("enter")
    await until(pilot, lambda: len(provider.requests) == 2 and app.controller.idle)
    assert "1 on hold" in screen_text(app), "what was typed anew is answered; the rest waits for a word"
    await pilot.press("enter")
    await until(pilot, lambda: len(provider.requests) == 3 and app.controller.idle)
    asked = [request["messages"][-1]["content"] for request in provider.requests]
    assert asked == ["first", "fourth", "third"] and "on hold" not in screen_text(app)


async def prompts_that_wait_in_a_session_are_its_draft_once_it_is_left(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    provider.script = [SLOW]
    await type_text(pilot, "first\n")
    await until(pilot, lambda: "slow" in transcript_text(app))
    await type_text(pilot, "second\n")
    await until(pilot, lambda: "1 queued" in screen_text(app))
    left = app.controller.session_id
    await pilot.press("f7")
    await until(pilot, lambda: not app.controller.session_id)
    assert not app.chat.prompt.text, "it belongs to the other one"
    app.run_command("resume", left)
    await until(pilot, lambda: app.controller.session is not None and app.controller.idle)
    assert app.chat.prompt.text == "second"


async def retries_are_one_line_that_changes(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    provider.script = [Reply(status=503, body='{"error": {"message": "had an error"}}')] * 2
    await ask(app, pilot, "hello")
    told = [block.text for block in app.chat.transcript.blocks if "Retrying" in block.text]
    assert len(told) == 1 and "had an error. Retrying" in told[0] and "(2 of 4)." in told[0]


def test_a_retry_is_reported_in_whole_sentences() -> None:
    error = SessionError(what="It had an error", retry_in_s=0.2, attempt=2, attempts=4)
    assert error.retry_sentence() == "It had an error. Retrying now (2 of 4)."
    shorter = SessionError(what="Too long.", kind="context_limit", outcome="compacted", retry_in_s=0.0)
    assert shorter.retry_sentence() == "Too long. Compacted."


@only_in_a_long_run
async def test_a_new_session_keeps_the_model_that_was_chosen(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "hello")
        provider.model_id = "other"
        await type_text(pilot, "/model openai-chat:other\n")
        await until(pilot, lambda: app.controller.state.model == "openai-chat:other")
        await pilot.press("f7")
        await until(pilot, lambda: not app.controller.session_id)
        await ask(app, pilot, "hello again")
        assert app.controller.state.model == "openai-chat:other"


async def test_a_server_without_a_named_model_has_no_dangling_colon(home: Path, provider: Provider) -> None:
    environ = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
    async with running(launch_for(home, environ=environ)) as (app, pilot):
        assert "the server's first model" in screen_text(app).splitlines()[0]
        await ask(app, pilot, "hello")
        assert "openai-chat:scripted" in screen_text(app).splitlines()[0]


async def selected_text_can_be_read(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await ask(app, pilot, "select me")
    transcript = app.chat.transcript
    app.screen.selections = {transcript: Selection(Offset(0, 0), Offset(40, 2))}
    await pilot.pause()
    chosen = [segment for segment in transcript.render_line(1) if "select me" in segment.text]
    assert chosen and chosen[0].style and chosen[0].style.bgcolor != transcript.rich_style.bgcolor
    assert chosen[0].style.color != chosen[0].style.bgcolor


def test_tags_outside_code_are_shown() -> None:
    laid = BlockLayout(
        Block("reply", "Wrap it in <Suspense> or <b>bold</b>.\n\n<div>\nraw\n</div>"),
        TextRenderer(palette_of(DARK)),
        60,
    )
    seen = "\n".join(laid.line(n).text for n in range(laid.height))
    assert "<Suspense>" in seen and "<b>bold</b>" in seen and "<div>" in seen and "</div>" in seen


async def test_the_last_line_holds_whole_items(home: Path, provider: Provider) -> None:
    known = {"Newline", "Stop", "More", *(command.label for command in COMMANDS)}
    counts = []
    async with running(launch_for(home, provider), size=(60, 20), ready=False) as (app, pilot):
        await until(pilot, lambda: app.chat.query(KeyLine))
        for columns in (60, 80, 120):
            await pilot.resize_terminal(columns, 20)
            await until(pilot, lambda: "More" in screen_text(app).splitlines()[-1])
            items = screen_text(app).splitlines()[-1].strip().split("  ")
            assert {item.split()[-1] for item in items if item.strip()} <= known
            assert items[-1].strip() == "Ctrl+P More"
            counts.append(len(items))
    assert counts[0] < counts[-1], "a wider line holds more"


def test_a_long_entry_of_the_timeline_hangs_below_its_words() -> None:
    fact = SessionInterrupted(what="Stopped before anything came")
    row = timeline_row(Event(session_id="s", seq=1, timestamp="2026-01-01T12:00:00Z", fact=fact), 24)
    lines = str(row).split("\n")
    assert len(lines) > 1 and all(len(line) <= 24 for line in lines)
    assert all(line.startswith("        ") for line in lines[1:])


async def the_view_says_which_key_leads_to_the_end(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    provider.default = Reply(text="\n\n".join(f"paragraph {n}" for n in range(60)))
    await ask(app, pilot, "hello")
    end = app.chat.transcript.scroll_offset.y
    await pilot.press("pageup")
    await until(pilot, lambda: "Ctrl+End" in screen_text(app))
    assert end - app.chat.transcript.scroll_offset.y == app.chat.transcript.size.height - 2, "two lines are seen again"
    await pilot.press("ctrl+end")
    await until(pilot, lambda: "paragraph 59" in screen_text(app) and "Ctrl+End" not in screen_text(app))
    await pilot.press("ctrl+f")
    await until(pilot, lambda: "Search in this conversation" in screen_text(app))
    assert "paragraph 59" in screen_text(app), "searching leaves the newest lines in view"
    await type_text(pilot, "paragraph\n")
    assert "paragraph 59" in screen_text(app)


async def test_a_day_is_read_as_it_went(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        waiting_prompts_stay_below_what_they_follow_and_escape_holds_them,
        prompts_that_wait_in_a_session_are_its_draft_once_it_is_left,
        retries_are_one_line_that_changes,
        selected_text_can_be_read,
        the_view_says_which_key_leads_to_the_end,
    )


@only_in_a_long_run
async def test_escape_leaves_the_search_before_the_dialog_and_an_edit_is_called_one(
    home: Path, provider: Provider
) -> None:
    provider.default = Reply(text="An answer of many words. " * 40)
    async with running(launch_for(home, provider)) as (app, pilot):
        for n in range(4):
            await ask(app, pilot, f"question {n} " + "with many words " * 20)
        await pilot.press("f5", "f5")
        await until(pilot, lambda: app.controller.state.compactions)
        event = app.controller.state.compactions[0]
        app.open_entry(event)
        await until(pilot, lambda: isinstance(app.screen, CompactionScreen))
        await pilot.press("slash", "q", "escape")
        assert isinstance(app.screen, CompactionScreen) and not app.screen.query_one(Input).has_focus
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)

        assert app.controller.session is not None and isinstance(event.fact, CompactionComplete)
        await app.controller.session.edits.edit_summary(event.seq or 0, "My own words.")
        await until(pilot, lambda: "Summary edited by you." in transcript_text(app))
        await until(pilot, lambda: "summary edited" in screen_text(app))
        await type_text(pilot, "/undo\n")
        await until(pilot, lambda: "Edit of the summary undone." in transcript_text(app))


async def test_a_mistake_of_ours_ends_in_a_sentence_without_any_value_in_reach(
    home: Path, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    app = CoTui(launch_for(home, provider))

    def broken() -> None:
        key = "sk-test-0123456789abcdef"
        raise RuntimeError(f"no such thing ({len(key)})")

    with pytest.raises(RuntimeError):
        async with app.run_test() as pilot:
            app.call_later(broken)
            await pilot.pause(1)
    told = capsys.readouterr().err
    assert "co-tui failed: RuntimeError: no such thing" in told and "Traceback" not in told and "sk-test" not in told


@only_in_a_long_run
async def test_a_huge_reply_is_drawn_in_part_and_kept_whole(home: Path, provider: Provider) -> None:
    provider.window = 1_000_000
    provider.script = [Reply(text=("word" * 50 + " ") * 1_500)]
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "talk")
        await until(pilot, lambda: "more characters (v shows" in screen_text(app))
        block = next(block for block in app.chat.transcript.blocks if block.kind == "reply")
        assert len(block.text.strip()) >= 299_999 and isinstance(app.chat.transcript, Transcript)
