"""What a person is asked before a call runs, how it is answered, and the rules that come of it."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input

from co_tui.session.approvals.questions import (
    ASKED_AGAIN,
    Approval,
    ApprovalQuestion,
    BatchedCall,
    ModelAnswer,
    ModelQuestion,
)
from co_tui.settings.permission_rules import rules_text
from co_tui.settings.rules import PRESENT_PLAN
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.approval_wording import approval_panel, rest_panel
from co_tui.ui.approvals.modes import SandboxCheck
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.approvals.question_text import with_changes
from co_tui.ui.approvals.whole_question import WholeQuestionScreen, _text
from co_tui.ui.chat.focus_rule import MOMENT_S
from co_tui.ui.control.dialog_questions import DialogQuestions
from co_tui.ui.themes.themes import DARK, palette_of
from co_tui.ui.widgets.field import Field
from tests.support.long_run import LONG_RUN, also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import (
    click_on,
    launch_for,
    look_in_one_app,
    running,
    screen_text,
    transcript_text,
    type_text,
    until,
    write_answer,
)
from tests.support.waiting import PATIENCE_S
from tests.ui.chat.test_working import asked, call

COMMAND = ApprovalQuestion(
    tool="run_command",
    arguments={"command": "grep -rn TODO src | head -5 && pytest -q"},
    what="grep -rn TODO src | head -5 && pytest -q",
    where="/shop · not sandboxed",
    new=("pytest -q",),
    rules=("Bash(pytest:*)",),
)
DANGER = COMMAND.but(what="rm -r build", new=("rm -r build",), rules=(), danger="deletes files")
PLAN = ApprovalQuestion(
    tool=PRESENT_PLAN, arguments={"summary": "**One** fix.", "steps": ["Read it", "Mend it"]}, what="…"
)


class NoSandbox(SandboxCheck):
    async def trouble(self) -> str:
        return "bwrap is not installed"


class WorkingSandbox(SandboxCheck):
    async def trouble(self) -> str:
        return ""


async def answered(app: CoTui, pilot: Pilot[Any], question: Any, keys: Iterable[str], **options: Any) -> Any:
    """What becomes of a question when these keys are pressed in its panel."""
    dialogs = DialogQuestions(app, app.chat, **options)
    asking = dialogs.ask(question) if isinstance(question, ModelQuestion) else dialogs.approve(question)
    answer = asyncio.create_task(asking)
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    app.chat.query(QuestionPanel).last().focus()
    await pilot.pause()
    await pilot.press(*keys)
    result = await asyncio.wait_for(answer, PATIENCE_S)
    await until(pilot, lambda: not app.chat.query(QuestionPanel))
    return result


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({}, "Run this command?"),
        ({"tool": "start_command"}, "Start this command in the background?"),
        ({"agent": "self 1"}, "self 1: Run this command?"),
        ({"tool": "edit_file", "what": "--- a.py\n+++ a.py\n@@ -1 +1,2 @@\n-a\n+b\n+c"}, "Change src/a.py? +2 −1"),
        ({"tool": "write_file", "what": "--- new file\n+++ a.py\n@@ -0,0 +1 @@\n+b"}, "Create src/a.py? +1"),
        ({"tool": "create_directory", "what": "creates the folder src/a.py"}, "Create the folder src/a.py?"),
        ({"tool": "mcp__docs__find", "what": "find of MCP server docs\nword: x"}, "Use find (docs)?"),
        ({"tool": "other"}, "Use the tool other?"),
    ],
)
def test_the_title_says_what_would_happen(changes: dict[str, Any], title: str) -> None:
    question = COMMAND.but(**changes, arguments={"path": "src/a.py"})
    assert approval_panel(question, has_sandbox=False).title == title


ONE_CHANGE = "--- src/a.py\n+++ src/a.py\n@@ -1 +1,2 @@\n-a\n+b\n+c"


@pytest.mark.parametrize(
    ("paths", "what", "title"),
    [
        (["src/a.py"], ONE_CHANGE, "Change src/a.py? +2 −1"),
        (["src/a.py"], "--- new file\n+++ src/a.py\n@@ -0,0 +1 @@\n+b", "Create src/a.py? +1"),
        (["src/a.py", "src/a.py"], ONE_CHANGE, "Change src/a.py? +2 −1"),
        (["src/a.py", "b.py"], "", "Change src/a.py and b.py?"),
        (["a.py", "b.py", "c.py"], "", "Change a.py, b.py and c.py?"),
        ([f"a/long/folder/of/files/{n}.py" for n in range(9)], "", "Change {0}, {1} and 7 more files?"),
    ],
)
def test_the_title_names_the_files_of_a_change(paths: list[str], what: str, title: str) -> None:
    arguments = {"files": [{"path": path} for path in paths]}
    question = COMMAND.but(tool="edit_files", arguments=arguments, what=what)
    assert approval_panel(question, has_sandbox=False).title == title.format(*paths)


def test_every_danger_is_named() -> None:
    dangers = "deletes files, overwrites the remote's history and publishes or sends to others"
    assert approval_panel(DANGER.but(danger=dangers), has_sandbox=False).warning == dangers


def test_enter_answers_a_danger_with_no_wherever_the_arrows_go() -> None:
    choices = approval_panel(DANGER, has_sandbox=False).choices
    reached = [choices.chosen()]
    for _ in choices.all:
        choices.move(1)
        reached.append(choices.chosen())
    assert reached[0] == "n" and "y" in choices and "y" not in reached
    ruled = COMMAND.but(rules=("Bash(make:*)",))
    whole = [approval_panel(each, has_sandbox=False).whole for each in (ruled, ruled.but(danger="deletes files"))]
    assert ["Rule for s and p: " in each for each in whole] == [True, False], "there is no s and no p"


def test_a_command_that_looks_like_a_diff_is_shown_as_a_command() -> None:
    panel = approval_panel(COMMAND.but(what="--- a\n+++ b\n rm x"), has_sandbox=False)
    assert panel.title == "Run this command?" and panel.diff is None


@pytest.mark.parametrize(
    ("what", "new", "below"),
    [
        ("grep x | head && pytest -q", ("pytest -q",), ("new here: pytest -q",)),
        ("pytest -q", ("pytest -q",), ()),
        ("pytest -q && touch 'a b'", ("pytest -q", "touch 'a b'"), ()),
        ("ls; touch a; touch b", ("touch a", "touch b"), ("new here: touch a, touch b",)),
    ],
)
def test_what_is_new_is_named_unless_all_of_it_is(what: str, new: tuple[str, ...], below: tuple[str, ...]) -> None:
    assert approval_panel(COMMAND.but(what=what, new=new), has_sandbox=False).below == below


def test_rules_as_answers_name_them() -> None:
    rules = (
        "Bash(pytest, harmless options)",
        "Edit(src/**)",
        "Bash(make a, harmless options)",
        "mcp__docs__find",
        "Bash",
    )
    assert rules_text(rules) == "edits in src/, mcp__docs__find, Bash, pytest and make a, harmless options"


async def each_answer_allows_what_it_shows(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    allowed = Approval(approved=True, by="user")
    for_session = allowed.but(scope="session", rules=("Bash(pytest:*)",))
    for_project = for_session.but(scope="project")
    denied = Approval(approved=False, by="user")
    asking = asyncio.create_task(DialogQuestions(app, app.chat).approve(COMMAND))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    app.chat.query_one(QuestionPanel).focus()
    seen = screen_text(app)
    assert "─ /shop · not sandboxed ─" in seen and "new here: pytest -q" in seen
    assert "❯ y  Allow once" in seen and "s  Allow pytest:* this session" in seen
    assert "p  Always allow pytest:* in this project" in seen and "n  Deny     r  Deny with a reason" in seen
    await click_on(app, pilot, "Deny with a reason")
    await write_answer(app, pilot, "too slow")
    assert await asking == denied.but(reason="too slow")
    few = [
        (("y",), allowed),
        (("s",), for_session),
        (("down", "down", "enter"), for_project),
        (("escape",), denied),
    ]
    more = [
        (("p",), for_project),
        (("n",), denied),
        (("enter",), allowed),
        (("down", "enter"), for_session),
        (("up", "up", "enter"), denied),
    ]
    for keys, answer in also_in_a_long_run(few, more):
        assert await answered(app, pilot, COMMAND, keys) == answer, keys


async def test_all_of_it_is_read_and_answered_on_the_full_screen(home: Path, provider: Provider) -> None:
    rules = tuple(f"Bash(program-number-{n}:*)" for n in range(9))
    question = COMMAND.but(what="\n".join(f"touch {n}" for n in range(60)), rules=rules)
    async with running(launch_for(home, provider), size=(80, 24)) as (app, pilot):
        more = [(("s",), "session"), (("enter",), "once")]
        for keys, scope in also_in_a_long_run([(("down", "down", "enter"), "project")], more):
            answer = asyncio.create_task(DialogQuestions(app, app.chat).approve(question))
            await until(pilot, lambda: app.chat.query(QuestionPanel))
            app.chat.query_one(QuestionPanel).focus()
            await until(pilot, lambda: "more lines" in screen_text(app) and "Space  View all" in screen_text(app))
            assert "program-number-8" not in screen_text(app) and "… this session" in screen_text(app)
            await pilot.press("space")
            await until(pilot, lambda: isinstance(app.screen, WholeQuestionScreen))
            await pilot.press("end")
            await until(pilot, lambda: "program-number-8" in screen_text(app) and "touch 59" in screen_text(app))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chat and app.chat.query(QuestionPanel))
            app.chat.query_one(QuestionPanel).focus()
            await pilot.press("space")
            await until(pilot, lambda: isinstance(app.screen, WholeQuestionScreen))
            await pilot.press(*keys)
            given = await asyncio.wait_for(answer, PATIENCE_S)
            assert (given.approved, given.scope) == (True, scope)
            assert given.rules == (() if scope == "once" else rules), "all that it stands for"


async def what_destroys_looks_like_it_and_enter_does_not_allow_it(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    denied = Approval(approved=False, by="user")
    assert await answered(app, pilot, DANGER, ("enter",)) == denied
    assert await answered(app, pilot, DANGER, ("down", "down", "enter")) == denied
    assert await answered(app, pilot, DANGER, ("space", "enter")) == denied, "on the full screen, too"
    assert (await answered(app, pilot, DANGER, ("y", "enter"))).approved
    assert (await answered(app, pilot, DANGER, ("space", "y", "enter"))).approved
    asking = asyncio.create_task(DialogQuestions(app, app.chat).approve(DANGER))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    panel = app.chat.query_one(QuestionPanel)
    panel.focus()
    await pilot.pause()
    seen = screen_text(app)
    assert "Warning: deletes files." in seen and "❯ n  Deny" in seen and "this session" not in seen
    assert panel.styles.border_title_color.hex6 == app.theme_variables["error"].upper()
    await pilot.press("n")
    await asking


async def what_a_small_terminal_does_not_show_takes_no_key(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    async def resized(columns: int, rows: int) -> None:
        await pilot.resize_terminal(columns, rows)
        await until(pilot, lambda: app.chat.is_covered == bool(app.chat.query("TooSmall")) == (rows < 16))

    before = asyncio.create_task(DialogQuestions(app, app.chat).approve(DANGER))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    app.chat.query_one(QuestionPanel).focus()
    await resized(80, 12)
    await pilot.press("y")
    await resized(80, 24)
    await pilot.press("n")
    assert not (await before).approved
    await resized(80, 12)
    while_small = asyncio.create_task(DialogQuestions(app, app.chat).approve(DANGER))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    await pilot.press("y", "tab", "y", *"words", "enter")
    await resized(80, 24)
    await until(pilot, lambda: app.chat.query_one(QuestionPanel).has_focus)
    assert not app.chat.prompt.text
    await asyncio.sleep(MOMENT_S)
    await pilot.press("y", "enter")
    assert (await while_small).approved


async def a_plan_is_accepted_in_a_mode_sent_back_or_left(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    accepted, works = Approval(approved=True, by="user"), {"sandbox": WorkingSandbox()}
    assert await answered(app, pilot, PLAN, ("y",), **works) == accepted.but(mode="ask")
    assert await answered(app, pilot, PLAN, ("down", "enter"), **works) == accepted.but(mode="edits")
    assert await answered(app, pilot, PLAN, ("a",), **works) == accepted.but(mode="auto")
    assert await answered(app, pilot, PLAN, ("n",)) == Approval(approved=False, by="user")
    asking = asyncio.create_task(DialogQuestions(app, app.chat, NoSandbox()).approve(PLAN))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    app.chat.query_one(QuestionPanel).focus()
    seen = screen_text(app)
    assert "Accept this plan?" in seen and "One fix." in seen and "2. Mend it" in seen
    assert "y  Accept, ask before changes" in seen and "sandbox" not in seen
    await pilot.press("r")
    await write_answer(app, pilot, "test it first")
    assert await asking == Approval(approved=False, by="user", reason="test it first")


async def field_opened(app: CoTui, pilot: Pilot[Any], question: ApprovalQuestion, dialogs: DialogQuestions) -> Any:
    """The answer to come of a question whose field for a reason is open."""
    asking = asyncio.create_task(dialogs.approve(question))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    app.chat.query_one(QuestionPanel).focus()
    await pilot.pause()
    await pilot.press("r")
    await until(pilot, lambda: isinstance(app.screen.focused, Field))
    return asking


async def test_nothing_written_as_a_reason_allows_a_call(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(80, 20)) as (app, pilot):
        asking = await field_opened(app, pilot, DANGER, DialogQuestions(app, app.chat))
        await click_on(app, pilot, "rm -r build")
        await pilot.press("y", "e", "s")
        app.post_message(Paste("\nnot\n  now\n"))
        await until(pilot, lambda: app.chat.query_one(Field).value == "yesnot now")
        await pilot.press("enter")
        assert await asking == Approval(approved=False, by="user", reason="yesnot now")


async def what_was_written_for_a_question_that_goes_away_is_in_the_prompt(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    dialogs = DialogQuestions(app, app.chat)
    first = await field_opened(app, pilot, COMMAND.but(agent="one"), dialogs)
    second = asyncio.create_task(dialogs.approve(COMMAND.but(agent="two", what="make all")))
    await type_text(pilot, "wh")
    first.cancel()
    await until(pilot, lambda: "two: Run this command?" in screen_text(app))
    await pilot.press("y")
    await until(pilot, lambda: app.chat.prompt.text == "why")
    assert not second.done() and "Tab answers" in screen_text(app)
    second.cancel()


def test_a_list_of_calls_hides_nothing() -> None:
    files = [{"path": f"src/a_long_name_of_a_module_{n}.py"} for n in range(9)]
    calls = (
        BatchedCall(call_id="1", tool="mcp__db__query", arguments={"note": "fine " * 60, "sql": "drop table users"}),
        BatchedCall(call_id="2", tool="edit_files", arguments={"files": files}),
        BatchedCall(call_id="3", tool="run_command", arguments={"command": f"touch ok{' ' * 5_000}; make"}),
    )
    panel = rest_panel(COMMAND.but(rest=calls, of=4))
    assert panel.title == "Allow these 4 calls?" and panel.text.count("\n") == 3
    for text in (panel.text, panel.whole):
        assert "sql: drop table users" in text and "a_long_name_of_a_module_8.py" in text
        assert "touch ok ⟨5,000 blanks⟩ ; make" in text


def test_each_change_of_a_list_of_calls_is_shown_as_a_diff() -> None:
    diffs = [f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old {name}\n+new {name}" for name in ("a.py", "b.py")]
    arguments = {"path": "a.py", "old_text": "old a.py", "new_text": "new a.py"}
    first = ApprovalQuestion(tool="edit_file", arguments=arguments, what=diffs[0], of=3)
    gone = "This change is no longer possible: old_text is not in the file."
    panel = rest_panel(
        first.but(
            rest=(
                BatchedCall(call_id="2", tool="edit_file", arguments=arguments | {"path": "b.py"}, what=diffs[1]),
                BatchedCall(call_id="3", tool="edit_file", arguments=arguments | {"path": "c.py"}, what=gone),
            )
        )
    )
    for lines in (with_changes(panel.text, panel.changes), [_text(panel, 80, palette_of(DARK))]):
        shown = "\n".join(line.plain for line in lines)
        for name in ("a.py", "b.py"):
            assert f"-old {name}" in shown and f"+new {name}" in shown
    assert gone in panel.whole and "a.py" not in panel.whole.replace("new a.py", "").replace("old a.py", "")


SEVERAL = ModelQuestion(question="Which ones?", options=("red", "green", "blue"), multiple=True)


async def several_answers_are_checked_and_accepted(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    keys = ("space", "down", "down", "space", "enter")
    assert await answered(app, pilot, SEVERAL, keys) == ModelAnswer(selected=("red", "blue"))
    assert await answered(app, pilot, SEVERAL, ("3", "1", "enter")) == ModelAnswer(selected=("red", "blue"))
    assert await answered(app, pilot, SEVERAL, ("down", "enter")) == ModelAnswer(selected=("green",))
    asking = asyncio.create_task(DialogQuestions(app, app.chat).ask(SEVERAL))
    await until(pilot, lambda: app.chat.query(QuestionPanel))
    app.chat.query_one(QuestionPanel).focus()
    await pilot.press("space")
    await until(pilot, lambda: "❯ 1  [x] red" in screen_text(app) and "2  [ ] green" in screen_text(app))
    await type_text(pilot, "eggs 12")
    await until(pilot, lambda: app.chat.prompt.text == "eggs 12")
    app.chat.prompt.text = ""
    app.chat.query_one(QuestionPanel).focus()
    await pilot.press("n")
    assert (await asking).declined


@only_in_a_long_run
async def test_the_model_gets_all_that_was_chosen(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    which = {
        "header": "Colours",
        "question": "Which ones?",
        "options": [{"label": "red"}, {"label": "green"}, {"label": "blue"}],
        "multi_select": True,
    }
    provider.script = [call("ask_user_question", questions=[which])]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("paint it")
        await asked(app, pilot, "Which ones?")
        await pilot.press("space", "down", "space", "enter")
        await until(pilot, lambda: app.controller.idle)
        assert json.loads(provider.requests[-1]["messages"][-1]["content"]) == {"Colours": ["red", "green"]}


async def test_rules_are_listed_with_their_file_added_and_revoked(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    folder = home.parent
    provider.script = [
        call("run_command", command="touch a"),
        Reply(text="Done."),
        call("run_command", command="touch c"),
    ]
    (folder / ".co-tui.toml").write_text('[permissions]\ndeny = ["Bash(curl:*)"]\n')
    async with running(launch_for(home, provider), size=(100, 30)) as (app, pilot):
        app.run_command("approvals", "")
        await until(pilot, lambda: "deny   Bash(curl:*)" in screen_text(app))
        await pilot.press("d")
        await until(pilot, lambda: "Edit it there" in " ".join(screen_text(app).replace("│", " ").split()))
        await pilot.press("a")
        await until(pilot, lambda: "Add a rule" in screen_text(app))
        await type_text(pilot, "nonsense\n")
        await until(pilot, lambda: "is not a rule. Examples" in screen_text(app))
        app.screen.query_one(Input).value = "Bash(make:*)"
        await pilot.press("enter", "down", "enter")
        await until(pilot, lambda: "ask    Bash(make:*)" in screen_text(app))
        assert "Bash(make:*)" in (home / "config" / "config.toml").read_text()
        for key, rule, row in (("1", "Bash(ls:*)", "allow  Bash(ls:*)"), ("3", "Bash(rm:*)", "deny   Bash(rm:*)")):
            await pilot.press("a")
            await until(pilot, lambda: isinstance(app.screen.focused, Field))
            app.screen.query_one(Input).value = rule
            await pilot.press("enter", key)
            await until(pilot, lambda row=row: row in screen_text(app))
        await pilot.press("escape")
        app.send("go")
        await asked(app, pilot, "touch a")
        await pilot.press("s")
        await until(pilot, lambda: "Done." in screen_text(app) and app.controller.idle)
        app.run_command("approvals", "")
        await until(pilot, lambda: "─ Approvals ─" in screen_text(app))
        seen = screen_text(app)
        assert "allow  touch, harmless options" in seen and "this session" in seen and "ask    Bash(make:*)" in seen
        await pilot.press("d")
        await until(pilot, lambda: "Revoked touch, harmless options." in screen_text(app))
        assert app.controller.state.allowed == ()
        rows = [line for line in screen_text(app).splitlines() if " Bash(" in line]
        row = next(n for n, line in enumerate(rows) if "Bash(make:*)" in line)
        await pilot.press("home", *["down"] * row, "d")
        await until(pilot, lambda: "ask    Bash(make:*)" not in screen_text(app))
        assert "make" not in (home / "config" / "config.toml").read_text()
        assert all(str(each.rule) != "Bash(make:*)" for each in app.controller.session.settings.permissions)
        await pilot.press("escape")
        app.send("again")
        await asked(app, pilot, "touch c")
        await pilot.press("n")
        await until(pilot, lambda: app.controller.idle)


async def test_a_resumed_session_says_what_its_answers_still_allow(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    (home.parent / "a.py").write_text("helo\n")
    provider.script = [call("edit_file", path="a.py", old_text="helo", new_text="hello")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("mend it")
        await asked(app, pilot, "Change a.py?")
        await pilot.press("s")
        await until(pilot, lambda: app.controller.idle and not app.controller.state.pending)
        session_id = app.controller.session_id
        assert "Still allowed" not in transcript_text(app)
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        said = "Still allowed in this session: edits of top-level files. /approvals lists and revokes."
        await until(pilot, lambda: said in transcript_text(app))
        await app.controller.modes.switch("edits")
        app.run_command("approvals", "")
        await until(pilot, lambda: "allow  Edit(./*)  this session" in screen_text(app))
        assert "mode edits: edits files here without asking" in screen_text(app), "what else is allowed"
    if not LONG_RUN:
        return
    (home / "data" / "machine.key").unlink()  # as on another machine
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        said = ASKED_AGAIN.format("edits of top-level files")
        await until(pilot, lambda: said in transcript_text(app))
        assert app.controller.state.allowed == () and "Still allowed" not in transcript_text(app)


async def without_rules_the_list_says_how_to_get_some(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    app.run_command("approvals", "")
    await until(pilot, lambda: "No rules yet." in screen_text(app) and "a Add" in screen_text(app))
    assert "revoke" not in screen_text(app)


async def test_questions_are_answered_by_keyboard(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        without_rules_the_list_says_how_to_get_some,
        each_answer_allows_what_it_shows,
        what_destroys_looks_like_it_and_enter_does_not_allow_it,
        what_a_small_terminal_does_not_show_takes_no_key,
        a_plan_is_accepted_in_a_mode_sent_back_or_left,
        what_was_written_for_a_question_that_goes_away_is_in_the_prompt,
        several_answers_are_checked_and_accepted,
    )


async def test_a_rule_that_cannot_be_used_is_named_at_the_start_and_in_the_list(home: Path, provider: Provider) -> None:
    config = home / "config/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\ndeny = ["Bash(curl"]\n')
    async with running(launch_for(home, provider)) as (app, pilot):
        said = "deny 'Bash(curl' is not a rule. Until you fix it, no allow rule for Bash applies."
        await until(pilot, lambda: said in transcript_text(app).replace("\n", " "))
        app.run_command("approvals", "")
        await until(pilot, lambda: "deny   Bash(curl (not a rule)" in screen_text(app))


async def test_kept_approvals_that_were_too_broad_are_said_once(home: Path, provider: Provider) -> None:
    kept = home / "state" / "approvals.json"
    kept.parent.mkdir(parents=True)
    older = [{"tool": "run_command", "pattern": pattern} for pattern in ("python3 *", "npm test")]
    kept.write_text(json.dumps({str(home.parent): older}))
    for times in (1, 0):
        async with running(launch_for(home, provider)) as (app, pilot):
            await until(pilot, lambda: app.controller.backend.ready)
            await pilot.pause(0.5)
            assert transcript_text(app).count("too broad and is asked again: run_command: python3 *") == times
