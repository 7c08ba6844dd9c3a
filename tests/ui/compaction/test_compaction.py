"""Compact, cancel, undo and open a compaction: by keyboard, in the app."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from co_tui.events import CompactionComplete, Message, SessionStart
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.compaction.compaction_screen import CompactionScreen, shown_summary
from co_tui.ui.control.controller import SessionController
from co_tui.ui.dialogs.choose_message import ChooseMessageScreen
from co_tui.ui.dialogs.simple_dialogs import ConfirmScreen, EditScreen
from co_tui.ui.gauge.gauge_widget import Gauge
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of
from co_tui.ui.timeline.timeline_widget import Timeline
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, click_on, launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.stores import store_in, stored_events
from tests.support.talks import use_window
from tests.support.waiting import HANGING_S, PATIENCE_S

SUMMARY = (
    "Title: Cities\n## Decisions and outcomes\n- Paris answers the question about the capital, in atlas/europe.md."
)
LONG = Reply(text="The capital is Paris, as atlas/europe.md tells. " * 12, prompt_tokens=-1, completion_tokens=120)


@asynccontextmanager
async def talked(
    home: Path, provider: Provider, turns: int = 3, **settings: str
) -> AsyncIterator[tuple[CoTui, Pilot[Any]]]:
    provider.default, provider.window = LONG, 100_000
    provider.summary = Reply(text=SUMMARY, prompt_tokens=400, completion_tokens=40)
    settings = {"tools": "none", **settings}  # nothing but the conversation
    environ = {f"CO_TUI_{name.upper()}": value for name, value in settings.items()}
    launch = launch_for(home, provider, environ=environ)
    async with running(launch) as (app, pilot):
        for n in range(turns):
            app.send(f"question {n} about the capital")  # typed by hand it would take a second each
            await until(
                pilot,
                lambda n=n: (
                    app.controller.state.turn == n + 1
                    and app.controller.session
                    and not app.controller.session.queue.busy
                ),
            )
        yield app, pilot


def last_compaction(app: CoTui) -> CompactionComplete | None:
    found = [event.fact for event in app.controller.state.timeline if isinstance(event.fact, CompactionComplete)]
    return found[-1] if found else None


async def compacted(app: CoTui, pilot: Pilot[Any]) -> CompactionComplete:
    before = len(app.controller.state.compactions)
    await pilot.press("f5", "f5")
    await until(pilot, lambda: len(app.controller.state.compactions) > before)
    fact = last_compaction(app)
    assert fact is not None
    return fact


async def opened_entry(app: CoTui, pilot: Pilot[Any], *to: str) -> CompactionScreen:
    """The newest timeline entry, or the one that keys lead to from there, by keyboard."""
    app.chat.query_one(Timeline).focus()
    await pilot.press("end", *to, "enter")
    await until(pilot, lambda: isinstance(app.screen, CompactionScreen))
    assert isinstance(app.screen, CompactionScreen)
    return app.screen


async def test_escape_cancels_what_is_running_and_else_it_says_what_happened(home: Path, provider: Provider) -> None:
    async with talked(home, provider) as (app, pilot):
        history = list(app.controller.state.history)
        provider.summaries = [Reply(text=SUMMARY, wait_s=HANGING_S)]
        await pilot.press("f5", "f5")
        await until(pilot, lambda: provider.summary_requests and "Compacting" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Compacting conversation" not in screen_text(app))
        assert provider.closed_early.wait(PATIENCE_S)
        done = last_compaction(app)
        assert done is not None and done.cancelled and list(app.controller.state.history) == history
        assert "Compaction cancelled" in screen_text(app)
        written = threading.Event()
        provider.summaries = [Reply(text=SUMMARY, until=written)]
        await pilot.press("f5", "f5")
        await until(pilot, lambda: "Compacting conversation history" in screen_text(app))
        assert "requested by you" in screen_text(app) and "Esc Cancel" in screen_text(app)
        await type_text(pilot, "/compact\n")
        await until(pilot, lambda: "A compaction is already running. Esc stops it." in screen_text(app))
        assert "compacted after this turn" not in screen_text(app), "one answer"
        await type_text(pilot, "typing goes on")
        assert "typing goes on" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: "queued" in screen_text(app))
        written.set()
        await until(
            pilot,
            lambda: app.controller.state.turn == 4 and app.controller.idle,
        )
        seen = screen_text(app)
        assert "Compacting conversation history" not in seen
        assert "Conversation Compacted" in transcript_text(app) and "◆ Conversation Compacted" in seen
        assert "checkpoint 1" in seen
        assert "summarised" in provider.requests[-1]["messages"][1]["content"]


async def test_nothing_to_compact_is_a_note(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: "No session yet" in screen_text(app))
        await type_text(pilot, "/session checkpoints\n")
        await until(pilot, lambda: "No checkpoints yet" in screen_text(app))
        await type_text(pilot, "/undo\n")
        await ask(app, pilot, "hi")
        await type_text(pilot, "/undo\n")
        await until(pilot, lambda: "Nothing to undo" in screen_text(app))


@only_in_a_long_run
async def test_while_the_first_prompt_opens_its_session_a_compaction_waits(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_open, open_session = asyncio.Event(), SessionController.open_for_prompt

    async def held_up(controller: SessionController) -> bool:
        await may_open.wait()
        return await open_session(controller)

    monkeypatch.setattr(SessionController, "open_for_prompt", held_up)
    provider.default = Reply(text="An answer of many words. " * 40)
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "hi\n")
        await pilot.press("f5")
        await until(pilot, lambda: "2 queued" in screen_text(app))
        may_open.set()
        await until(pilot, lambda: last_compaction(app))
        done = last_compaction(app)
        assert done is not None and done.trigger == "manual" and done.pre_messages == 2, "after the turn"


async def test_an_opened_compaction_shows_everything(home: Path, provider: Provider) -> None:
    async with talked(home, provider) as (app, pilot):
        await type_text(pilot, "/pin last\n")
        await until(pilot, lambda: app.controller.state.pins)
        await ask(app, pilot, "one more")
        await compacted(app, pilot)
        await opened_entry(app, pilot)
        seen = screen_text(app)
        assert "atlas/europe.md" in seen and "## What the user said" in seen, "as it is sent"
        assert "p Pin back in" in seen
        await pilot.press("slash", *"cap")
        await until(pilot, lambda: "↓ Messages" in screen_text(app))
        assert "Pin back in" not in screen_text(app), "only the keys of the search"
        assert app.screen.query_one(Input).value == "cap"
        await pilot.press("down")
        await until(pilot, lambda: "p Pin back in" in screen_text(app))
        assert app.screen.query_one("#replaced-list").has_focus and app.screen.query_one(Input).value == "cap"
        await pilot.press("escape")
        assert isinstance(app.screen, CompactionScreen) and not app.screen.query_one(Input).value, (
            "only the search ends"
        )
        await until(pilot, lambda: "question 1 about the capital" in screen_text(app))
        await pilot.press("slash")
        await type_text(pilot, "question2")
        await pilot.press("left")
        await type_text(pilot, " ")
        await until(pilot, lambda: "question 1 about" not in screen_text(app))
        assert "question 2 about the capital" in screen_text(app)
        await pilot.press("enter", "3")
        await until(pilot, lambda: "Kept whole" in screen_text(app))
        seen, fact = " ".join(screen_text(app).split()), app.controller.state.compactions[-1].fact
        assert f"{fact.account}, {fact.post_messages} after" in seen and f"Kept {fact.kept_messages} " in seen
        assert re.search(r"pinned +\d\d:\d\d ", seen) and re.search(r"recent +\d\d:\d\d ", seen)
        assert re.search(r"Quoted from what was replaced .* your words +\d\d:\d\d you question 0", seen)
        await pilot.press("right")
        await until(pilot, lambda: "400 tokens in, 40 out" in screen_text(app))
        assert "checkpoint" in screen_text(app) and "in each request" in screen_text(app)
        assert "requested by you" in screen_text(app), "no trigger's name"
        await pilot.press("2", "home", "c")
        await until(pilot, lambda: app.clipboard.startswith("question 2"))
        await pilot.press("1", "c")
        await until(pilot, lambda: "Paris answers" in app.clipboard)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_undo_edit_and_pin_from_the_opened_entry_and_deletion_leaves_no_checkpoint(
    home: Path, provider: Provider
) -> None:
    async with talked(home, provider) as (app, pilot):
        whole = list(app.controller.state.history)
        await compacted(app, pilot)
        await opened_entry(app, pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        editor = app.screen.query_one(TextArea)
        editor.text = ""
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any("cannot be empty" in each.message for each in app._notifications))
        editor.text = "My own words about Paris."
        await pilot.press("escape")
        await until(pilot, lambda: "Discard the changes?" in screen_text(app))
        await pilot.press("escape", "ctrl+s")
        await until(pilot, lambda: "My own words" in str([entry.message for entry in app.controller.state.history]))
        await until(pilot, lambda: isinstance(app.screen, CompactionScreen)), "one dialog is closed, not two"
        await until(pilot, lambda: "My own words about Paris." in screen_text(app))
        seen = screen_text(app)
        assert "no longer in context" not in seen and "What the model gets" in seen and "u Undo  e Edit" in seen
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        app.screen.query_one(TextArea).text = "Other words."
        await pilot.press("escape", "y")
        await until(pilot, lambda: isinstance(app.screen, CompactionScreen))
        await pilot.press("u")
        await until(pilot, lambda: "Edit of the summary undone." in transcript_text(app))
        await opened_entry(app, pilot, "up")
        seen = screen_text(app)
        assert "no longer in context" in seen and "What the model gets" not in seen and "1-4 Tabs  / Search" in seen
        await pilot.press("e", "u", "2", "home", "p")
        assert isinstance(app.screen, CompactionScreen), "an undone one cannot be changed"
        await pilot.press("escape")
        await type_text(pilot, "/undo\n")
        await until(pilot, lambda: list(app.controller.state.history) == whole)
        done = await compacted(app, pilot)
        await opened_entry(app, pilot)
        await pilot.press("2", "home", "p")
        await until(pilot, lambda: whole[0] in list(app.controller.state.history))
        assert app.controller.state.pins == {whole[0].ref}
        folder, session_id = app.launch.paths.session(app.controller.session_id), app.controller.session_id
        assert done.checkpoint_path.startswith(str(folder)) and folder.is_dir()
        await app.controller.stored.delete(session_id)
        assert not folder.exists()


async def test_rewind_names_what_is_no_turn_a_pin_is_chosen_and_the_prompt_comes_back(
    home: Path, provider: Provider
) -> None:
    async with talked(home, provider) as (app, pilot):
        await type_text(pilot, "/rewind soon\n")
        await until(pilot, lambda: "/rewind takes a turn number, not 'soon'" in screen_text(app))
        await type_text(pilot, "/rewind 7\n")
        await until(pilot, lambda: "No turn 7. This session has 3." in screen_text(app))
        assert len(app.controller.state.history) == 6
        await type_text(pilot, "/pin")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChooseMessageScreen))
        await pilot.press("up", "enter")
        await until(pilot, lambda: len(app.controller.state.pins) == 1 and "1 message pinned" in screen_text(app))
        await type_text(pilot, "/rewind")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChooseMessageScreen))
        await type_text(pilot, "question 1\n")
        await until(pilot, lambda: len(app.controller.state.history) == 2)
        assert app.chat.prompt.text == "question 1 about the capital"
        assert len(app.controller.state.transcript) == 6


async def test_the_list_of_rewind_shows_only_what_the_user_said(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="s-1")
    system = {"part_kind": "system-prompt", "content": "Be brief."}
    asked = {"kind": "request", "parts": [system, {"part_kind": "user-prompt", "content": "my own words"}]}
    task = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "a task for a delegate"}]}
    reply = {"kind": "response", "parts": [{"part_kind": "text", "content": "done"}]}
    said = [Message(turn=1, message=asked), Message(turn=1, message=task, agent="a-1"), Message(turn=1, message=reply)]
    with store_in(home) as store:
        store.writing().append("s-1", [SessionStart(model="openai-chat:scripted", cwd=str(launch.cwd)), *said]).result()
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        app.run_command("rewind", "")
        await until(pilot, lambda: isinstance(app.screen, ChooseMessageScreen))
        seen = screen_text(app)
        assert "you     my own words" in seen and "Be brief." not in seen and "a task for a delegate" not in seen


async def test_telemetry_that_cannot_be_sent_is_said(home: Path, provider: Provider) -> None:
    async with talked(home, provider, turns=0, telemetry="http://127.0.0.1:9/v1/traces") as (app, _):
        assert app.controller.backend.trouble and app.controller.backend.trouble[:30] in screen_text(app)


@only_in_a_long_run
async def test_pins_are_chosen_from_a_list_and_a_fork_continues_as_a_copy(home: Path, provider: Provider) -> None:
    async with talked(home, provider, turns=2) as (app, pilot):
        await type_text(pilot, "/pin")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChooseMessageScreen))
        await pilot.press("up", "enter")
        await until(pilot, lambda: len(app.controller.state.pins) == 1)
        assert "1 message pinned" in screen_text(app)
        await type_text(pilot, "/pin")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: "you     question 0" in screen_text(app))
        await click_on(app, pilot, "you     question 0")
        await until(pilot, lambda: len(app.controller.state.pins) == 2)
        first, history = app.controller.session_id, [entry.message for entry in app.controller.state.history]
        await type_text(pilot, "/fork\n")
        await until(pilot, lambda: app.controller.session_id != first and app.controller.session is not None)
        assert [entry.message for entry in app.controller.session.state.history] == history
        await ask(app, pilot, "only here")
        assert "forked from" in screen_text(app)
        assert len(stored_events(home, first)) < len(stored_events(home, app.controller.session_id))


async def test_the_background_shows_on_the_gauge_and_does_not_block(home: Path, provider: Provider) -> None:
    written = threading.Event()
    # Under this policy a model always writes the summary; a journal would grow without one.
    async with talked(home, provider, turns=1, policy="copilot") as (app, pilot):
        provider.summary = Reply(text=SUMMARY, until=written)
        assert app.controller.session is not None
        await use_window(app.controller.session, 900)
        for n in range(6):
            if app.controller.state.compacting:
                break
            await ask(app, pilot, f"more {n}")
        await until(pilot, lambda: "summarising" in screen_text(app))
        assert any("in the background" in gauge.reading.outlook for gauge in app.screen.query(Gauge))
        assert "Compacting conversation history" not in screen_text(app)
        written.set()
        await until(pilot, lambda: "Conversation Compacted" in transcript_text(app))
        await until(pilot, lambda: "summarising" not in screen_text(app))


async def test_a_declined_summary_is_cancelled_not_failed_and_one_may_be_changed(
    home: Path, provider: Provider
) -> None:
    async with talked(home, provider, compaction_review="on") as (app, pilot):
        before = app.controller.state.history
        ways = also_in_a_long_run([["escape"]], [["n"], ["r", "escape"]])
        for declined, keys in enumerate(ways, 1):
            await pilot.press("f5", "f5")
            await until(pilot, lambda: "Apply the summary?" in screen_text(app))
            app.screen.query_one(QuestionPanel).focus()
            await pilot.press(keys[0])
            if keys[1:]:
                await until(pilot, lambda: isinstance(app.screen, EditScreen))
                await pilot.press(*keys[1:])
            await until(pilot, lambda n=declined: transcript_text(app).count("Compaction cancelled") == n)
            done = last_compaction(app)
            assert done is not None and done.cancelled and not done.success, keys
            await until(pilot, lambda: "compaction cancelled" in screen_text(app))
            assert "failed" not in screen_text(app) and "failed" not in transcript_text(app), keys
            assert app.controller.state.history == before, keys
        logged = [event.fact for event in stored_events(home, app.controller.session_id)]
        assert [fact.cancelled for fact in logged if isinstance(fact, CompactionComplete)] == [True] * len(ways)
        await pilot.press("f5", "f5")
        await until(pilot, lambda: "Apply the summary?" in screen_text(app))
        app.screen.query_one(QuestionPanel).focus()
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        assert "atlas/europe.md" in screen_text(app)
        app.screen.query_one(TextArea).text = "Only this matters."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: (done := last_compaction(app)) and done.edited)
        assert "Only this matters." in str(app.controller.state.history[0].message)


async def test_a_question_leaves_the_keys_to_who_is_typing_and_takes_its_own(home: Path, provider: Provider) -> None:
    async with talked(home, provider, turns=0, compaction_asks="on", context_window="700") as (app, pilot):
        for n in range(8):
            await ask(app, pilot, f"question {n} about the capital")
            if app.screen.query(QuestionPanel):
                break
        await until(pilot, lambda: "Summarise" in screen_text(app) and "% full" in screen_text(app))
        app.chat.prompt.focus()
        await pilot.press("n", "y", "n")
        assert app.chat.prompt.text == "nyn" and app.screen.query(QuestionPanel) and "Tab answers" in screen_text(app)
        app.screen.query_one(QuestionPanel).focus()
        await pilot.press("x")
        assert app.chat.prompt.text == "nynx", "no key of the question's: it belongs in the prompt"
        app.screen.query_one(QuestionPanel).focus()
        await pilot.press("n")
        await until(pilot, lambda: not app.screen.query(QuestionPanel))
        assert last_compaction(app) is None and not provider.summary_requests and app.chat.prompt.has_focus


async def test_a_model_with_a_small_window_asks_before_it_is_taken(home: Path, provider: Provider) -> None:
    async with talked(home, provider, turns=4) as (app, pilot):
        provider.window, provider.model_id = 500, "small"
        await type_text(pilot, "/model openai-chat:small\n")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert "Compact it now" in " ".join(screen_text(app).replace("│", " ").split())
        await pilot.press("n")
        assert app.controller.state.model == "openai-chat:scripted"
        await type_text(pilot, "/model openai-chat:small\n")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: app.controller.state.model == "openai-chat:small")
        done = last_compaction(app)
        assert done is not None and done.trigger == "model_switch"


@only_in_a_long_run
async def test_the_screen_is_at_rest_after_a_compaction_that_waited_for_a_turn(home: Path, provider: Provider) -> None:
    async with talked(home, provider) as (app, pilot):
        provider.script = [Reply(text="word " * 15, delay_s=0.05, prompt_tokens=-1)]
        provider.summaries = [Reply(text=SUMMARY, wait_s=0.5)]
        app.send("a slow one")
        await until(pilot, lambda: app.controller.session and app.controller.session.queue.busy)
        await pilot.press("f5", "f5")
        await until(pilot, lambda: "compacted after this turn" in screen_text(app))
        await until(
            pilot,
            lambda: app.controller.state.compactions and app.controller.idle,
        )
        await until(pilot, lambda: "Esc stop" not in screen_text(app))


def test_an_opened_summary_shows_exactly_what_is_sent_and_explains_its_sign() -> None:
    sent = "Title: **x**\n## Goal\n- $ ls [red]\n    › - $ rm\n    …\n    indented *so*\n1. first"
    renderer = TextRenderer(palette_of(DARK))
    stands = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": sent}]}
    shown = shown_summary(CompactionComplete(success=True, replacement=(stands,)), renderer, is_in_context=True).plain
    assert shown.endswith(f"\n\n{sent}") and "› marks a quoted line that looks like a heading" in shown
    unquoted = CompactionComplete(success=True, summary="## Goal\nPaint")
    assert "marks" not in shown_summary(unquoted, renderer, is_in_context=True).plain
