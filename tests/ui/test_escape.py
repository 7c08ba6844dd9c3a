"""Esc does what the footer and the prompt's border say, wherever the focus is."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from co_tui.session.approvals.questions import ApprovalQuestion
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.approvals.whole_question import WholeQuestionScreen
from co_tui.ui.chat import chat_requests
from co_tui.ui.chat.chat_requests import EscTwice
from co_tui.ui.compaction.compaction_screen import CompactionScreen
from co_tui.ui.control.dialog_questions import DialogQuestions
from co_tui.ui.timeline.timeline_widget import Timeline
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
from tests.support.waiting import HANGING_S, PATIENCE_S

COMMAND = ApprovalQuestion(
    tool="run_command", arguments={"command": "make"}, what="\n".join(f"make {n}" for n in range(60))
)


def footer(app: CoTui) -> str:
    return screen_text(app).rstrip("\n").splitlines()[-1]


def border(app: CoTui) -> str:
    """The prompt with its border, right above the footer."""
    return "\n".join(screen_text(app).rstrip("\n").splitlines()[-4:-1])


async def in_a_question_esc_denies_and_in_the_prompt_it_stops(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    provider.default = Reply(wait_s=HANGING_S)
    app.send("go")
    await until(pilot, lambda: "Esc stop" in border(app) and "Esc Stop" in footer(app))
    asking = asyncio.create_task(DialogQuestions(app, app.chat).approve(COMMAND))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    app.chat.query_one(QuestionPanel).focus()
    await until(pilot, lambda: "Esc Deny" in footer(app) and "Esc" not in border(app))

    await pilot.press("space")
    await until(pilot, lambda: isinstance(app.screen, WholeQuestionScreen) and "Esc Back" in footer(app))
    await pilot.press("escape")
    await until(pilot, lambda: app.screen is app.chat and app.chat.query(QuestionPanel))
    app.chat.query_one(QuestionPanel).focus()
    await until(pilot, lambda: "Esc Deny" in footer(app))

    await pilot.press("tab")
    app.chat.prompt.focus()
    await until(pilot, lambda: "Esc Stop" in footer(app) and "Esc stop" in border(app))
    app.chat.query_one(QuestionPanel).focus()
    await pilot.press("escape")
    assert not (await asyncio.wait_for(asking, PATIENCE_S)).approved
    assert app.controller.busy, "the turn was not stopped"
    await until(pilot, lambda: "Esc Stop" in footer(app))
    await pilot.press("escape")
    await until(pilot, lambda: app.controller.idle)


async def the_letter_of_an_answer_that_is_not_offered_does_nothing(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    asking = asyncio.create_task(DialogQuestions(app, app.chat).approve(COMMAND))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    panel = app.chat.query_one(QuestionPanel)
    panel.focus()
    await pilot.press("p")
    await until(pilot, lambda: "p is not offered here" in screen_text(app))
    assert panel.has_focus and not app.chat.prompt.text
    await pilot.press("y")
    assert (await asyncio.wait_for(asking, PATIENCE_S)).approved


async def test_escape_and_letters_answer_only_what_is_offered(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        in_a_question_esc_denies_and_in_the_prompt_it_stops,
        the_letter_of_an_answer_that_is_not_offered_does_nothing,
    )


async def test_esc_leaves_the_timeline_before_it_stops_the_turn(home: Path, provider: Provider) -> None:
    provider.default = Reply(wait_s=HANGING_S)
    async with running(launch_for(home, provider), size=(80, 24)) as (app, pilot):
        app.send("go")
        await until(pilot, lambda: "Esc Stop" in footer(app))
        for key in ("ctrl+l", "f4"):
            await pilot.press(key)
            await until(pilot, lambda: "─ Timeline" in screen_text(app) and "Esc Back" in footer(app))
            assert "Esc stop" not in border(app)
            await pilot.press("escape")
            await until(pilot, lambda: "─ Timeline" not in screen_text(app) and "Esc Stop" in footer(app))
            assert app.controller.busy and app.focused is app.chat.prompt

        await pilot.press("f4")
        await until(pilot, lambda: "Esc Back" in footer(app))
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: "Esc Stop" in footer(app)), "beside the chat it need not be closed"
        await pilot.press("ctrl+l")
        await until(pilot, lambda: app.chat.query_one(Timeline).has_focus and "Esc Back" in footer(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is app.chat.prompt and "Esc Stop" in footer(app))
        assert app.controller.busy
        await pilot.press("escape")
        await until(pilot, lambda: app.controller.idle)


@only_in_a_long_run
async def test_a_compaction_is_cancelled_and_its_search_is_closed_first(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="An answer of many words. " * 40)
    async with running(launch_for(home, provider)) as (app, pilot):
        for n in range(4):
            await ask(app, pilot, f"question {n} " + "with many words " * 20)
        provider.summaries = [Reply(wait_s=HANGING_S)]
        await pilot.press("f5", "f5")
        await until(pilot, lambda: "Compacting" in screen_text(app) and "Esc Cancel" in footer(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Compaction cancelled" in screen_text(app) and "Esc" not in footer(app))

        await pilot.press("f5", "f5")
        await until(pilot, lambda: app.controller.state.rewrites)
        app.open_entry(app.controller.state.compactions[-1])
        await until(pilot, lambda: isinstance(app.screen, CompactionScreen))
        await pilot.press("slash", *"many", "enter", "escape")
        assert isinstance(app.screen, CompactionScreen) and not app.screen.query_one(Input).value
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)


@pytest.fixture
def slow_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy this machine is, two keys come soon enough after each other."""
    monkeypatch.setattr(chat_requests, "ESC_TWICE_S", PATIENCE_S)


@pytest.mark.usefixtures("slow_keys")
async def test_esc_twice_opens_rewind_only_where_it_has_nothing_else_to_do(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("escape", "escape")
        assert app.screen is app.chat, "there is nothing to go back to"
        await ask(app, pilot, "one")
        app.chat._esc = EscTwice()  # the screen was opened only now
        await pilot.press("x", "escape", "escape")
        assert app.screen is app.chat and app.chat.prompt.text == "x"
        await pilot.press("backspace", "escape", "escape")
        await until(pilot, lambda: "Rewind to before" in screen_text(app))

        await pilot.press("escape", "escape", "escape")
        await until(pilot, lambda: app.screen is app.chat)
        await type_text(pilot, "/history \n")
        await until(pilot, lambda: "1 turn." in transcript_text(app)), "the first of them closed the list"


@pytest.mark.usefixtures("slow_keys")
async def test_esc_pressed_often_to_stop_a_turn_does_not_open_rewind(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[str] = []
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "one")
        monkeypatch.setattr(app, "run_command", lambda name, _: commands.append(name))
        provider.default = Reply(wait_s=HANGING_S)
        app.send("go")
        await until(pilot, lambda: "Esc Stop" in footer(app))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.controller.idle and "Esc" not in footer(app))
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert commands == []


def test_two_esc_belong_together_only_if_they_come_within_400_ms() -> None:
    esc = EscTwice()
    assert not esc.pressed(10.0, for_nothing_else=True)
    assert not esc.pressed(10.41, for_nothing_else=True)
    assert esc.pressed(10.8, for_nothing_else=True)
    assert not esc.pressed(10.9, for_nothing_else=True), "the third begins nothing"
    assert not esc.pressed(20.0), "it stopped something"
    assert not esc.pressed(20.1, for_nothing_else=True)
    assert not esc.pressed(20.2, for_nothing_else=True)
