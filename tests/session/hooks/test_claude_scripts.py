"""Scripts as Claude Code's documentation describes them, through every tool of a session."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
from pydantic_ai.tools import ToolDefinition

from co_tui.agent.tool_names import TOOLS
from co_tui.agent.toolkit import HookedCall
from co_tui.events import ApprovalDecided, DelegationStart, HookRun, SessionError
from co_tui.paths import locate
from co_tui.session.approvals.questions import Approval, Unattended
from co_tui.session.hooks.call_hooks import TURN_ENDED, SessionCallHooks
from co_tui.session.hooks.session_hooks import SessionHooks
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import HookEntry
from tests.support.approving import YES, Person, left, log_of
from tests.support.environments import facts
from tests.support.hook_scripts import heard, hook, said, specific, user_texts, worked
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.working import Call, Working, working_in

NO = Approval(approved=False, by="user")
EVERYTHING = {
    "web_search": "http://127.0.0.1:9",
    "daily_memory": "compactions",
    "archive_over_chars": 8_000,
}
"""Settings under which a session offers all its tools."""


class Row(NamedTuple):
    """A call, what a script gets of it, and whether it succeeds here once it may run."""

    tool: str
    arguments: dict[str, Any]
    name: str
    given: dict[str, Any]
    works: bool = True

    @property
    def call(self) -> Call:
        return self.tool, self.arguments


EDIT = {"old_text": "1", "new_text": "2"}
SEVERAL = {"files": [{"path": "b", "replacements": [EDIT]}, {"path": "new", "content": "x"}]}
WHY = {"question": "Why?", "header": "Why", "options": [{"label": "so"}, {"label": "thus"}]}
PLAN = Row("present_plan", {"steps": ["look"]}, "ExitPlanMode", {"steps": ["look"]})
ROWS = [
    Row("read_file", {"path": "a"}, "Read", {"file_path": "{}/a"}),
    Row("list_directory", {"path": "."}, "LS", {"path": "."}),
    Row("search_files", {"pattern": "x", "include_glob": "*"}, "Grep", {"pattern": "x", "glob": "*"}),
    Row("find_files", {"pattern": "*"}, "Glob", {"pattern": "*"}),
    Row("write_file", {"path": "w", "content": "x"}, "Write", {"file_path": "{}/w", "content": "x"}),
    Row("create_directory", {"path": "d"}, "Write", {"file_path": "{}/d"}),
    Row("edit_file", {"path": "a", **EDIT}, "Edit", {"file_path": "{}/a", "old_string": "1", "new_string": "2"}),
    Row("edit_files", SEVERAL, "Edit", {"file_path": "{}/b", "old_string": "1", "new_string": "2"}),
    Row("run_command", {"command": "echo hi > made"}, "Bash", {"command": "echo hi > made"}),
    Row("start_command", {"command": "true"}, "Bash", {"command": "true", "run_in_background": True}),
    Row("check_command", {"command_id": "c"}, "BashOutput", {"bash_id": "c"}),
    Row("stop_command", {"command_id": "c"}, "KillShell", {"shell_id": "c"}),
    Row("write_plan", {"items": [{"content": "look"}]}, "TodoWrite", {}),
    Row("load_capability", {"id": "greet"}, "Skill", {"skill": "greet"}),
    Row("web_fetch", {"url": "http://127.0.0.1:9/"}, "WebFetch", {"url": "http://127.0.0.1:9/"}, works=False),
    Row("web_search", {"query": "x"}, "WebSearch", {"query": "x"}, works=False),
    Row("recall", {"query": "x"}, "recall", {"query": "x"}),
    Row("read_artifact", {"reference": "x"}, "read_artifact", {"reference": "x"}, works=False),
    Row("search_memory", {"query": "x"}, "search_memory", {"query": "x"}),
    Row("request_compaction", {}, "request_compaction", {}, works=False),
    Row("ask_user_question", {"questions": [WHY]}, "AskUserQuestion", {}, works=False),
    Row("transfer_to_agent", {"agent_name": "writer", "message": "m"}, "Agent", {"subagent_type": "writer"}),
    Row("delegate_task", {"agent_name": "self", "task": "t"}, "Task", {"subagent_type": "self", "prompt": "t"}),
]


@pytest.fixture(autouse=True)
def files(folder: Path, home: Path) -> None:
    agents = locate({"CO_TUI_HOME": str(home)}).agents
    agents.mkdir(parents=True)
    (agents / "writer.md").write_text("---\nname: writer\n---\nYou write.\n")
    for name in "ab":
        (folder / name).write_text("1\n")
    skill = folder / ".claude" / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: How to greet\n---\nSay it in French.\n")


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def gets(given: dict[str, Any], row: Row, folder: Path) -> None:
    """See that a script got the call."""
    assert given["tool_name"] == row.name and given["tool_use_id"]
    expected = {key: each.format(folder) if isinstance(each, str) else each for key, each in row.given.items()}
    assert expected.items() <= given["tool_input"].items()


def python(folder: Path, name: str, body: str, matcher: str = "") -> tuple[HookEntry, ...]:
    """A hook in Python, as the documentation's examples are; it has its input as `given`."""
    script = folder.parent / f"{name}.py"
    script.write_text(f"import json, os, re, sys\ngiven = json.load(sys.stdin)\n{body}\n")
    return (HookEntry(f"{sys.executable} -S {script}", matcher),)


@pytest.mark.parametrize("mode", also_in_a_long_run(["plan"], ["edits"]))
async def test_every_tool_that_a_session_offers_is_in_the_table(folder: Path, home: Path, mode: str) -> None:
    model = Working()
    await worked(folder, home, model, mode=mode, **EVERYTHING)
    assert {*model.offered} == TOOLS.keys() - ({PLAN.tool} if mode != "plan" else set())
    assert {row.tool for row in (*ROWS, PLAN)} == TOOLS.keys()


@pytest.mark.parametrize(("mode", "rows"), [("edits", ROWS), ("plan", [PLAN])])
async def test_a_script_that_refuses_refuses_every_tool(folder: Path, home: Path, mode: str, rows: list[Row]) -> None:
    before = names_in(folder)
    model = Working([row.call for row in rows])
    hooks = {"preToolUse": hook(folder, "echo not now >&2; exit 2"), "postToolUse": hook(folder, "", name="after")}
    log, _ = await worked(folder, home, model, Unattended(yes=True), mode=mode, hooks=hooks, **EVERYTHING)
    assert [*map("A preToolUse hook refused this: not now".__eq__, model.returned)] == [True] * len(rows)
    for given, row in zip(heard(folder), rows, strict=True):
        gets(given, row, folder)
    assert names_in(folder) == before and (folder / "b").read_text() == "1\n" and not heard(folder, "after")
    assert not facts(log, DelegationStart) and "in French" not in str(model.requests[-1])
    assert [each.by for each in facts(log, ApprovalDecided)] == ["hook"] * len(rows)


@only_in_a_long_run
@pytest.mark.parametrize(("mode", "rows"), [("edits", ROWS), ("plan", [PLAN])])
async def test_a_script_that_asks_asks_about_every_tool(folder: Path, home: Path, mode: str, rows: list[Row]) -> None:
    before = names_in(folder)
    person = Person(*[NO] * len(rows))
    hooks = {"preToolUse": hook(folder, specific(permissionDecision="ask", permissionDecisionReason="sure?"))}
    model = Working([row.call for row in rows])
    await worked(folder, home, model, person, mode=mode, hooks=hooks, **EVERYTHING)
    assert [each.tool for each in person.asked] == [row.tool for row in rows]
    assert {each.reason for each in person.asked if not each.danger} <= {"Asked because of a preToolUse hook: sure?"}
    assert names_in(folder) == before and len(model.returned) == len(rows)


async def test_a_script_that_logs_hears_of_every_tool_before_and_after(folder: Path, home: Path) -> None:
    rows = [row for row in ROWS if row.works]
    hooks = {"preToolUse": hook(folder, "", name="pre"), "postToolUse": hook(folder, "", name="post")}
    model = Working(*(row.call for row in rows))
    log, _ = await worked(folder, home, model, Unattended(yes=True), mode="edits", hooks=hooks, **EVERYTHING)
    for name in ("pre", "post"):
        # The call that changes two files is heard of twice.
        given = [each for each in heard(folder, name) if each["tool_input"].get("file_path") != f"{folder}/new"]
        assert len(given) == len(heard(folder, name)) - 1
        for each, row in zip(given, rows, strict=True):
            gets(each, row, folder)
            assert name == "pre" or each["tool_response"]["content"]
    assert "in French" in str(model.requests[-1]) and facts(log, DelegationStart)


# The examples


BLOCK_ENV = """
if os.path.basename(given["tool_input"].get("file_path", "")) == ".env":
    print("keep your hands off .env", file=sys.stderr)
    sys.exit(2)
"""
VALIDATE_BASH = r"""
if re.search(r"\bgrep\b", given["tool_input"]["command"]):
    print("use rg instead of grep", file=sys.stderr)
    sys.exit(2)
"""
FORMAT = """
with open(given["tool_input"]["file_path"], "a") as file:
    file.write("formatted")
"""
CHANGES_ONE = """
if given["tool_input"]["file_path"].endswith("b"):
    print(json.dumps({"hookSpecificOutput": {"updatedInput": {**given["tool_input"], "new_string": "ours"}}}))
"""
ASKS_FOR_ONE = """
decision = "ask" if given["tool_input"]["file_path"].endswith("b") else "allow"
print(json.dumps({"hookSpecificOutput": {"permissionDecision": decision}}))
"""
LAST_PROMPT = """
lines = [json.loads(line) for line in open(given["transcript_path"])]
blocks = [block for line in lines if line["type"] == "user" for block in line["message"]["content"]]
said = [block["text"] for block in blocks if block["type"] == "text"]
print(json.dumps({"systemMessage": "You said " + said[-1]}))
"""
BOTH = ("edit_files", {"files": [{"path": name, "replacements": [EDIT]} for name in "ab"]})


@pytest.mark.parametrize(
    "call",
    also_in_a_long_run(
        [
            ("edit_file", {"path": ".env", **EDIT}),
            ("edit_files", {"files": [{"path": "a", "replacements": [EDIT]}, {"path": "./.env", "content": "x"}]}),
        ],
        [
            ("write_file", {"path": ".env", "content": "x"}),
            ("create_directory", {"path": ".env"}),
            (
                "edit_files",
                {"files": [{"path": "a", "replacements": [EDIT]}, {"path": ".env", "replacements": [EDIT]}]},
            ),
            ("edit_files", {"files": [{"path": ".env", "content": "x"}]}),
        ],
    ),
)
async def test_block_edits_of_env(folder: Path, home: Path, call: Call) -> None:
    (folder / ".env").write_text("1\n")
    model = Working(call)
    matcher = "Edit|MultiEdit|Write" if call[0] == "edit_files" else "^(Edit|Write)$"
    await worked(folder, home, model, mode="edits", hooks={"preToolUse": python(folder, "guard", BLOCK_ENV, matcher)})
    assert "keep your hands off .env" in model.returned[0]
    assert (folder / ".env").read_text() == (folder / "a").read_text() == "1\n"


async def test_format_after_edit(folder: Path, home: Path) -> None:
    model = Working(("write_file", {"path": "w", "content": ""}), ("edit_file", {"path": "a", **EDIT}))
    model.steps += [("edit_files", {"files": [{"path": "b", "replacements": [EDIT]}, {"path": "n", "content": ""}]})]
    formats = python(folder, "format", FORMAT, "Edit|MultiEdit|Write")
    await worked(folder, home, model, mode="edits", hooks={"postToolUse": formats})
    assert [(folder / name).read_text() for name in "wabn"] == [
        "formatted",
        "2\nformatted",
        "2\nformatted",
        "formatted",
    ]


@only_in_a_long_run
@pytest.mark.parametrize("tool", also_in_a_long_run(["run_command"], ["start_command"]))
async def test_validate_bash(folder: Path, home: Path, tool: str) -> None:
    model = Working((tool, {"command": "grep x a > made"}), (tool, {"command": "touch fine"}))
    hooks = {"preToolUse": python(folder, "guard", VALIDATE_BASH, "Bash")}
    await worked(folder, home, model, Unattended(yes=True), hooks=hooks)
    assert "use rg instead of grep" in model.returned[0] and not (folder / "made").exists()
    assert "hook" not in model.returned[1]


async def test_the_streams_of_a_command_are_separate_and_without_labels(folder: Path, home: Path) -> None:
    model = Working(("run_command", {"command": "echo out; echo err >&2; exit 3"}))
    await worked(folder, home, model, Unattended(yes=True), hooks={"postToolUse": hook(folder, "", "Bash")})
    response = heard(folder)[0]["tool_response"]
    assert (response["stdout"], response["stderr"], response["interrupted"]) == ("out\n", "err\n", False)
    assert "[exit code: 3]" in response["content"]


async def test_changed_input_changes_that_file_only(folder: Path, home: Path) -> None:
    model = Working(BOTH)
    changes = python(folder, "changes", CHANGES_ONE, "Edit")
    await worked(folder, home, model, mode="edits", hooks={"preToolUse": changes})
    assert [(folder / name).read_text() for name in "ab"] == ["2\n", "ours\n"]
    assert "hook about `edit  b`" in user_texts(model)[-1] and "ours" in user_texts(model)[-1]


@pytest.mark.parametrize("answer", also_in_a_long_run([NO], [YES]))
async def test_a_question_about_one_file_asks_about_the_whole_call(folder: Path, home: Path, answer: Approval) -> None:
    person = Person(answer)
    asks = python(folder, "asks", ASKS_FOR_ONE, "Edit")
    await worked(folder, home, Working(BOTH), person, mode="edits", hooks={"preToolUse": asks})
    assert [each.arguments for each in person.asked] == [BOTH[1]]
    assert [(folder / name).read_text() for name in "ab"] == ["2\n" if answer.approved else "1\n"] * 2


async def test_a_script_reads_the_conversation_and_speaks_to_the_user(folder: Path, home: Path) -> None:
    hooks = {"stop": python(folder, "says", LAST_PROMPT)}
    model = Working(("read_file", {"path": "a"}))
    environment = working_in(folder, home, model, Unattended(), hooks=hooks)
    session = await Session.start(environment, "scripted")
    await session.submit("go on")
    runs = [each for each in facts(log_of(environment, session), HookRun) if each.hook == "stop"]
    assert [each.sentence() for each in runs] == ["stop hook: You said go on"]
    await left(environment, session)


STOPS = said({"continue": False, "stopReason": "enough"})
TWICE = [("run_command", {"command": "touch first"}), ("run_command", {"command": "touch second"})]


@pytest.mark.parametrize(("event", "made"), [("preToolUse", set()), ("postToolUse", {"first"})])
async def test_a_script_may_stop_the_turn_which_can_be_continued(
    folder: Path, home: Path, event: str, made: set[str]
) -> None:
    model = Working(*TWICE)
    environment = working_in(folder, home, model, Unattended(yes=True), hooks={event: hook(folder, STOPS)})
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.FAILED
    assert len(model.requests) == 1 and names_in(folder) & {"first", "second"} == made
    (error,) = facts(log_of(environment, session), SessionError)
    assert (error.what, error.kind) == (f"Stopped by a {event} hook: enough", "stopped_by_hook")
    model.steps.clear()
    assert await session.retry() is Outcome.DONE
    assert len(model.requests) == 2 and len(model.returned) == 1
    await left(environment, session)


async def test_calls_after_one_that_stopped_the_turn_do_not_run(folder: Path, home: Path) -> None:
    model = Working(TWICE)
    hooks = {"preToolUse": hook(folder, STOPS)}
    await worked(folder, home, model, Unattended(yes=True), Outcome.FAILED, hooks=hooks)
    assert not names_in(folder) & {"first", "second"}
    stopped = SessionCallHooks(cast(SessionHooks, SimpleNamespace(has_stopped=True)), folder)
    assert await stopped.before(ToolDefinition(name="read_file"), {}, "") == HookedCall("deny", TURN_ENDED)


async def test_a_delegate_s_script_may_stop_the_whole_turn(folder: Path, home: Path) -> None:
    model = Working(("delegate_task", {"agent_name": "self", "task": "look"}))
    hooks = {"subagentStop": hook(folder, STOPS)}
    log, session = await worked(folder, home, model, outcome=Outcome.FAILED, hooks=hooks)
    assert facts(log, SessionError)[-1].what == "Stopped by a subagentStop hook: enough"
    (delegation,) = session.state.delegations.values()
    assert delegation.status == "done" and len(model.requests) == 2


async def test_at_the_end_of_a_turn_stop_is_stop_and_the_reason_is_shown(folder: Path, home: Path) -> None:
    output = said({"continue": False, "stopReason": "enough", "decision": "block", "reason": "more"})
    model = Working()
    log, _ = await worked(folder, home, model, hooks={"stop": hook(folder, output)})
    assert len(model.requests) == 1 and facts(log, HookRun)[0].sentence() == "stop hook: enough"


@pytest.mark.parametrize(
    "person", also_in_a_long_run([Unattended(yes=True)], [Unattended(read_only=True), Unattended()])
)
async def test_no_notification_where_no_one_is_asked(folder: Path, home: Path, person: Unattended) -> None:
    model = Working(("run_command", {"command": "touch made"}), ("ask_user_question", {"questions": [WHY]}))
    log, _ = await worked(folder, home, model, person, hooks={"notification": hook(folder, "")})
    assert not facts(log, HookRun)
