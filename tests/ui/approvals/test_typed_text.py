"""Typed text never answers a question: a letter does only where it is pressed alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from co_tui.session.approvals.questions import Approval, ApprovalQuestion, ModelAnswer, ModelQuestion
from co_tui.ui.app import CoTui
from co_tui.ui.approvals import lone_letters
from co_tui.ui.approvals.question_bar import CONFIRMS, QuestionPanel
from co_tui.ui.approvals.whole_question import WholeQuestionScreen
from co_tui.ui.control.dialog_questions import DialogQuestions
from tests.support.provider import Provider
from tests.support.screen import launch_for, question_shown, running, screen_text, until
from tests.support.waiting import HANGING_S

COMMAND = ApprovalQuestion(
    tool="run_command", arguments={"command": "make"}, what="\n".join(f"make {n}" for n in range(60)), rules=("make",)
)
DANGER = COMMAND.but(what="rm -r build", danger="deletes files", rules=())
PROSE = "yap and more, run npm"
ALLOWED, DENIED = Approval(approved=True, by="user"), Approval(approved=False, by="user")


@pytest.fixture(autouse=True)
def letters_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """No letter is alone before the next key is there, however loaded the machine is."""
    monkeypatch.setattr(lone_letters, "ALONE_S", HANGING_S)


@asynccontextmanager
async def asked(
    app: CoTui, pilot: Pilot[None], question: ApprovalQuestion = COMMAND
) -> "AsyncIterator[asyncio.Task[Approval]]":
    """A question with the focus; withdrawn at the end."""
    asking = asyncio.create_task(DialogQuestions(app, app.chat).approve(question))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    app.chat.query(QuestionPanel).first().focus()
    await until(pilot, lambda: isinstance(app.screen.focused, QuestionPanel))
    yield asking
    asking.cancel()
    await until(pilot, lambda: not question_shown(app))
    app.chat.prompt.text = ""


def burst(app: CoTui, text: str) -> None:
    """Keys that are all read at once."""
    for character in text:
        key = {" ": "space", ",": "comma", "\n": "enter"}.get(character, character)
        app.post_message(events.Key(key, "\r" if character == "\n" else character))


async def test_prose_answers_nothing_and_is_in_the_prompt(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        async with asked(app, pilot) as asking:
            burst(app, PROSE)
            await until(pilot, lambda: app.chat.prompt.text == PROSE)
            assert not asking.done() and "Tab answers" in screen_text(app)

        async with asked(app, pilot) as asking:
            for key in "yap":  # as typed, each key after the one before was handled
                await pilot.press(key)
            await until(pilot, lambda: app.chat.prompt.text == "yap")
            assert not asking.done()

        async with asked(app, pilot) as asking:
            await pilot.press("n")
            app.post_message(events.Paste("pm run\nall"))
            await until(pilot, lambda: app.chat.prompt.text == "npm run\nall")
            assert not asking.done()

        async with asked(app, pilot) as asking:  # a letter that is held down
            burst(app, "yyy")
            await until(pilot, lambda: app.chat.prompt.text == "yyy")
            assert not asking.done()

        async with asked(app, pilot) as asking:  # `?` shows the keys only in an empty prompt
            burst(app, "y?")
            await until(pilot, lambda: app.chat.prompt.text == "y?")
            assert not asking.done() and app.screen is app.chat

        async with asked(app, pilot) as asking:
            await pilot.press("space")
            await until(pilot, lambda: isinstance(app.screen, WholeQuestionScreen))
            burst(app, PROSE)
            await until(pilot, lambda: app.screen is app.chat and app.chat.prompt.text == PROSE)
            assert not asking.done()


@pytest.mark.parametrize(("gap_s", "answers"), [(0.0, False), (0.05, False), (0.24, False), (0.41, True)])
async def test_the_time_between_two_keys_decides(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, gap_s: float, answers: bool
) -> None:
    monkeypatch.setattr(lone_letters, "ALONE_S", 0.4 * HANGING_S)  # by the keys' own times, whenever they are read
    async with running(launch_for(home, provider)) as (app, pilot), asked(app, pilot) as asking:
        for n, letter in enumerate("ny"):
            key = events.Key(letter, letter)
            key.time += n * gap_s * HANGING_S
            app.post_message(key)
        if answers:
            assert await asking == DENIED
        else:
            await until(pilot, lambda: app.chat.prompt.text == "ny")
            assert not asking.done()


async def test_enter_after_a_letter_answers_at_once_and_another_key_forgets_the_letter(
    home: Path, provider: Provider
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        async with asked(app, pilot) as asking:
            burst(app, "n\n")
            assert await asking == DENIED
        async with asked(app, pilot) as asking:
            await pilot.press("n", "backspace", "enter")
            assert await asking == ALLOWED, "Enter chooses the marked answer: the letter was taken back"
        async with asked(app, pilot) as asking:
            await pilot.press("n", "tab")
            await pilot.press("tab", "y", "enter")
            assert await asking == ALLOWED
        async with asked(app, pilot) as asking:
            await pilot.press("space")
            await until(pilot, lambda: isinstance(app.screen, WholeQuestionScreen))
            burst(app, "n\n")
            assert await asking == DENIED
        assert app.chat.prompt.text == ""


async def test_a_letter_alone_answers_after_a_while(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lone_letters, "ALONE_S", 0.05)
    async with running(launch_for(home, provider)) as (app, pilot):
        async with asked(app, pilot) as asking:
            await pilot.press("y")
            assert await asking == ALLOWED
        async with asked(app, pilot) as asking:
            await pilot.press("space")
            await until(pilot, lambda: isinstance(app.screen, WholeQuestionScreen))
            await pilot.press("n")
            assert await asking == DENIED


async def test_what_destroys_needs_the_letter_and_enter(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lone_letters, "ALONE_S", 0.0)
    async with running(launch_for(home, provider)) as (app, pilot):
        async with asked(app, pilot, DANGER) as asking:
            assert "y  Allow once (y, then Enter)" in screen_text(app) and "❯ n  Deny" in screen_text(app)
            await pilot.press("y")
            await until(pilot, lambda: CONFIRMS in screen_text(app) and "❯ y  Allow once" in screen_text(app))
            assert not asking.done()
            await pilot.press("enter")
            assert await asking == ALLOWED
        async with asked(app, pilot, DANGER) as asking:
            await pilot.press("y", "tab")
            await until(pilot, lambda: app.focused is app.chat.prompt)
            await pilot.press("tab", "enter")
            assert await asking == DENIED, "who comes back confirms nothing"
        async with asked(app, pilot, DANGER) as asking:
            await pilot.press("y", "down", "up", "up", "enter")
            await until(pilot, lambda: "Deny, because" in screen_text(app))
            assert not asking.done()


async def test_options_are_checked_together_and_prose_that_begins_with_a_digit_checks_none(
    home: Path, provider: Provider
) -> None:
    which = ModelQuestion(question="Which?", options=("red", "green", "blue"), multiple=True)
    async with running(launch_for(home, provider)) as (app, pilot):
        asking = asyncio.create_task(DialogQuestions(app, app.chat).ask(which))
        await until(pilot, lambda: app.chat.query(QuestionPanel))
        app.chat.query_one(QuestionPanel).focus()
        await until(pilot, lambda: isinstance(app.screen.focused, QuestionPanel))
        burst(app, "13 files, very odd")
        await until(pilot, lambda: app.chat.prompt.text == "13 files, very odd")
        await pilot.press("tab")
        burst(app, "13\n")
        assert await asking == ModelAnswer(selected=("red", "blue"))
