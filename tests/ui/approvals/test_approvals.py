"""A session's questions: answered at the keyboard, and asked again after resuming."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.toolsets import FunctionToolset
from textual.pilot import Pilot
from textual.widgets import Input

from co_tui.events.file_diff import read_diff
from co_tui.session import environment
from co_tui.session.approvals.questions import ApprovalQuestion, ModelAnswer, ModelQuestion
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.approval_wording import approval_panel
from co_tui.ui.approvals.choices import Choice, Choices
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.approvals.question_text import beginning, fitted_title
from co_tui.ui.approvals.whole_question import WholeQuestionScreen
from co_tui.ui.chat import focus_rule
from co_tui.ui.control.dialog_questions import DialogQuestions
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, type_text, until, write_answer
from tests.support.waiting import HANGING_S


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, provider: Provider) -> list[str]:
    """What the model's one tool wrote, each time after it was allowed."""
    done: list[str] = []

    def write_file(path: str, content: str) -> str:
        done.append(path)
        return f"wrote {path}"

    usual = environment.Environment
    monkeypatch.setattr(
        environment,
        "Environment",
        partial(usual, toolsets=[FunctionToolset([write_file])], asks_first=lambda tool, _: tool == "write_file"),
    )
    provider.script = [call("src/a.py")]
    return done


def call(path: str, content: str = "x = 1") -> Reply:
    return Reply(text="", tool=("write_file", f'{{"path": "{path}", "content": "{content}"}}'))


async def asked(app: CoTui, pilot: Pilot[Any]) -> QuestionPanel:
    await until(pilot, lambda: app.chat.query(QuestionPanel) and "Change src/a.py?" in screen_text(app))
    panel = app.chat.query_one(QuestionPanel)
    panel.focus()
    return panel


@only_in_a_long_run
async def test_a_call_is_allowed_by_a_key(home: Path, provider: Provider, written: list[str]) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it")
        await asked(app, pilot)
        seen = screen_text(app)
        assert "path: src/a.py" in seen and "content: x = 1" in seen and "❯ y  Allow once" in seen
        assert "1 approval pending" in seen and "this session" not in seen, "no rule, so nothing to keep"
        await pilot.press("y")
        await until(pilot, lambda: app.controller.idle)
        assert written == ["src/a.py"] and not app.chat.query(QuestionPanel)


@only_in_a_long_run
async def test_arrows_and_enter_choose(home: Path, provider: Provider, written: list[str]) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it")
        await asked(app, pilot)
        await pilot.press("down")
        await until(pilot, lambda: "❯ n  Deny" in screen_text(app))
        await pilot.press("down", "down")
        await until(pilot, lambda: "❯ y  Allow once" in screen_text(app)), "the first comes after the last"
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.idle)
        assert written == ["src/a.py"]


async def test_enter_in_the_prompt_sends_and_never_answers(home: Path, provider: Provider, written: list[str]) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it")
        await pilot.press("o")
        panel = await shown(app, pilot)
        await pilot.press("k", "enter")
        await until(pilot, lambda: app.controller.state.turn == 2 and app.controller.idle)
        assert written == [] and not panel.has_focus and not app.chat.query(QuestionPanel)


async def test_the_next_question_of_a_batch_has_the_keys_at_once(
    home: Path, provider: Provider, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [f'{{"path": "src/{name}.py", "content": ""}}' for name in "ab"]
    provider.script = [Reply(text="", tools=tuple(("write_file", each) for each in arguments))]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write both")
        first = await asked(app, pilot)
        assert "1 of 2" in screen_text(app)
        monkeypatch.setattr(focus_rule, "MOMENT_S", HANGING_S)
        app.chat.questions._rule.reached()
        await pilot.press("y")
        await until(pilot, lambda: "2 of 2" in screen_text(app))
        second = app.chat.query(QuestionPanel).last()
        await until(pilot, lambda: second.has_focus)
        assert second is not first
        await pilot.press("n")
        await until(pilot, lambda: app.controller.idle)
        assert written == ["src/a.py"] and app.chat.prompt.text == ""


async def test_a_key_right_after_a_question_appears_was_meant_for_the_prompt(
    home: Path, provider: Provider, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(focus_rule, "MOMENT_S", HANGING_S)
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it")
        panel = await shown(app, pilot)
        await until(pilot, lambda: panel.has_focus)
        await pilot.press("y")
        await until(pilot, lambda: "Tab answers" in screen_text(app))
        assert app.chat.prompt.text == "y" and app.chat.prompt.has_focus and written == []
        await pilot.press("tab", "y")
        await until(pilot, lambda: app.controller.idle)
        assert written == ["src/a.py"] and app.chat.prompt.text == "y"


async def test_a_refusal_can_say_why(home: Path, provider: Provider, written: list[str]) -> None:
    provider.script = [call("src/a.py", "\\n".join(f"line {n}" for n in range(40)))]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it")
        await asked(app, pilot)
        assert "more lines" in screen_text(app) and "line 30" not in screen_text(app)
        await pilot.press("space")
        await until(pilot, lambda: isinstance(app.screen, WholeQuestionScreen))
        assert "❯ y  Allow once" in screen_text(app), "the same choices"
        await pilot.press("escape")
        await asked(app, pilot)
        await pilot.press("r")
        await until(pilot, lambda: "Deny, because…" in screen_text(app) and "Change src/a.py?" in screen_text(app))
        await pilot.press("escape")
        await asked(app, pilot)
        assert app.controller.state.pending, "back is back to the question"
        assert "Deny, because…" not in screen_text(app)
        await pilot.press("space")
        await until(pilot, lambda: isinstance(app.screen, WholeQuestionScreen))
        await pilot.press("r")
        await until(pilot, lambda: app.screen is app.chat and "waiting for your answer" in screen_text(app))
        await write_answer(app, pilot, "not this file")
        await until(pilot, lambda: app.controller.idle)
        assert written == [] and "denied: not this file" in screen_text(app)
        assert provider.requests[-1]["messages"][-1]["content"] == "The user denied it: not this file"
        await pilot.press("ctrl+l", "f", "f")
        await until(pilot, lambda: "─ approvals ─" in screen_text(app) and "not this file" in screen_text(app))
        assert "✗ denied" in screen_text(app) and "asks to" not in screen_text(app), "the answered question is gone"


async def test_who_comes_back_is_asked_again(home: Path, provider: Provider, written: list[str]) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it")
        await asked(app, pilot)
        seen = screen_text(app)
        assert "content: x = 1" in seen and "❯ y  Allow once" in seen and "1 approval pending" in seen
        assert "this session" not in seen, "no rule, so nothing to keep"
        session_id = app.controller.session_id
    assert written == []
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await asked(app, pilot)
        assert "path: src/a.py" in screen_text(app)
        await pilot.press("y")
        await until(pilot, lambda: app.controller.idle and not app.controller.state.pending)
        assert written == ["src/a.py"]
        assert provider.requests[-1]["messages"][-1] == {
            "role": "tool",
            "tool_call_id": provider.requests[-1]["messages"][-1]["tool_call_id"],
            "content": "wrote src/a.py",
        }


@only_in_a_long_run
async def test_a_new_prompt_takes_the_question_away(home: Path, provider: Provider, written: list[str]) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it")
        await asked(app, pilot)
        app.chat.prompt.focus()
        await type_text(pilot, "never mind\n")
        await until(pilot, lambda: app.controller.state.turn == 2 and app.controller.idle)
        assert written == [] and not app.chat.query(QuestionPanel)
        assert "Esc stop" not in screen_text(app)


async def test_the_models_own_questions(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        dialogs = DialogQuestions(app, app.chat)
        which = ModelQuestion(question="Which one?", options=("the [red] one", "the blue one"))
        answer = asyncio.create_task(dialogs.ask(which))
        await until(pilot, lambda: "2  the blue one" in screen_text(app) and "❯ 1  the [red] one" in screen_text(app))
        app.chat.query_one(QuestionPanel).focus()
        await pilot.press("2")
        assert await answer == ModelAnswer(selected=("the blue one",))
        answer = asyncio.create_task(dialogs.ask(ModelQuestion(question="What is it called?")))
        await until(pilot, lambda: "What is it called?" in screen_text(app))
        app.chat.query_one(QuestionPanel).focus()
        await pilot.press("w")
        await write_answer(app, pilot, "Ishmael")
        assert await answer == ModelAnswer(text="Ishmael")
        answer = asyncio.create_task(dialogs.ask(which))
        await until(pilot, lambda: app.chat.query(QuestionPanel))
        app.chat.query_one(QuestionPanel).focus()
        await pilot.press("escape")
        assert (await answer).declined


DIFF = "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n kept\n-    old = 1\n+    new = 2\n kept too"


@pytest.mark.parametrize(
    ("text", "rows", "seen", "whole"),
    [
        ("one two three four", 3, ["one two", "three four"], True),
        ("a\nb\nc\nd", 3, ["a", "b", "… 2 more lines"], False),
        ("x" * 400, 3, ["x" * 10, "x" * 10, "… 1 more line"], False),
        (DIFF, 9, ["1 │  kept", "2 │ -    old", "  │ = 1", "2 │ +    new", "  │ = 2", "3 │  kept", "  │ too"], True),
        (DIFF, 4, ["2 │ -    old", "  │ = 1", "2 │ +    new", "  │ = 2"], False),
        (DIFF, 3, ["2 │ -    old", "  │ = 1", "… 1 more line"], False),
    ],
)
def test_as_much_of_a_question_as_there_is_room_for(text: str, rows: int, seen: list[str], whole: bool) -> None:
    shown = beginning(text, 12 if text is DIFF else 10, rows, diff=read_diff(text))
    assert [row.plain.rstrip() for row in shown.rows] == seen and shown.whole is whole


RULES = "pytest:*, uv run ruff check:*"


@pytest.mark.parametrize(
    ("width", "packed", "rows"),
    [
        (40, False, ["❯ y  Allow once", "  s  Allow pytest:*, uv run ruff ch… now", "  n  Deny     r  Reason"]),
        (60, False, ["❯ y  Allow once", f"  s  Allow {RULES} now", "  n  Deny     r  Reason"]),
        (26, True, ["❯ y Allow once", "  s Allow pytest:*, u… now", "  n Deny     r Reason"]),
    ],
)
def test_choices_are_never_broken_and_cut_with_a_sign(width: int, packed: bool, rows: list[str]) -> None:
    choices = Choices(
        (
            Choice("y", "Allow once"),
            Choice("s", "Allow {} now", RULES),
            Choice("n", "Deny"),
            Choice("r", "Reason", same_row=True),
        )
    )
    shown = [row.plain for row in choices.rows(width, packed=packed)]
    assert shown == rows and all(len(row) <= width for row in shown)
    assert choices.is_cut(width, packed=packed) is (width < 60)


@pytest.mark.parametrize(
    ("width", "title", "left"),
    [
        (40, "Run this? ───── ~/shop · no net · 1 of 2", ""),
        (36, "Run this? ─────────────────── 1 of 2", "~/shop · no net"),
        (9, "Run this?", "1 of 2 · ~/shop · no net"),
        (6, "Run t…", "1 of 2 · ~/shop · no net"),
    ],
)
def test_what_the_border_cannot_hold_is_said_below(width: int, title: str, left: str) -> None:
    shown, left_over = fitted_title("Run this?", "~/shop · no net", "1 of 2", width)
    assert (shown.plain, left_over) == (title, left)


async def test_a_question_waits_for_tab_while_the_user_types(
    home: Path, provider: Provider, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(focus_rule, "MOMENT_S", HANGING_S)
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("a", "backspace")
        app.send("write it")
        panel = await shown(app, pilot)
        await until(pilot, lambda: "Tab answers" in screen_text(app))
        assert app.chat.prompt.has_focus
        await pilot.press("tab")
        assert panel.has_focus
        await pilot.press("tab")
        assert app.chat.prompt.has_focus
        monkeypatch.setattr(focus_rule, "MOMENT_S", 0.0)
        await pilot.press("escape")
        await until(pilot, lambda: app.controller.idle)
        await until(pilot, lambda: "src/a.py" in screen_text(app) and "interrupted" in screen_text(app))
        assert written == [], "and a call that nothing came of says so"


async def shown(app: CoTui, pilot: Pilot[Any]) -> QuestionPanel:
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    return app.chat.query_one(QuestionPanel)


@only_in_a_long_run
async def test_tab_goes_from_the_prompt_to_the_question(home: Path, provider: Provider, written: list[str]) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it")
        app.chat.prompt.insert("half a thought")
        await until(pilot, lambda: app.chat.query(QuestionPanel) and "Tab answers" in screen_text(app))
        assert app.chat.prompt.has_focus and "◔ waiting for your answer" in screen_text(app)
        await pilot.press("tab", "y")
        await until(pilot, lambda: app.controller.idle)
        assert written == ["src/a.py"] and "waiting for your answer" not in screen_text(app)


@only_in_a_long_run
async def test_a_question_about_a_change_shows_much_of_its_diff(home: Path, provider: Provider) -> None:
    diff = "\n".join(["--- a/src/app.py", "+++ b/src/app.py", "@@ -1,40 +1,40 @@", *(f"+line {n}" for n in range(40))])
    question = ApprovalQuestion(
        tool="write_file", arguments={"path": "src/app.py"}, what=diff, rules=("Edit(src/**)",), where="~/shop"
    )
    async with running(launch_for(home, provider), size=(80, 24)) as (app, pilot):
        app.chat.show_question(QuestionPanel(approval_panel(question, has_sandbox=False), lambda _: None))
        for size, least in (((80, 24), 10), ((120, 40), 14), ((43, 36), 10)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: len(screen_text(app).splitlines()) == size[1])
            await until(pilot, lambda: "Allow once" in screen_text(app) and "more line" in screen_text(app))
            seen = screen_text(app)
            assert sum(f"+line {n} " in seen for n in range(40)) >= least and "? keys" in seen, size
            assert "Deny" in seen and "View all" in seen, "every answer is still there"


@only_in_a_long_run
async def test_a_question_behind_a_dialog_appears_when_that_closes(
    home: Path, provider: Provider, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is not app.chat)
        app.send("write it")
        panel = await shown(app, pilot)
        await pilot.pause()
        assert not panel.has_focus
        monkeypatch.setattr(focus_rule, "MOMENT_S", HANGING_S)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat and panel.has_focus)
        await pilot.press("y")
        await pilot.pause()
        assert app.chat.prompt.text == "y" and app.chat.prompt.has_focus and written == []


@only_in_a_long_run
async def test_a_question_leaves_the_focus_where_it_was_before_the_terminal_lost_it(
    home: Path, provider: Provider, written: list[str]
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("ctrl+f")
        await until(pilot, lambda: isinstance(app.focused, Input))
        app.app_focus = False
        await pilot.pause()
        app.send("write it")
        await shown(app, pilot)
        await pilot.pause()
        app.app_focus = True
        await pilot.pause()
        assert isinstance(app.focused, Input)
        await pilot.press("y")
        await pilot.pause()
        assert isinstance(app.focused, Input) and written == []
