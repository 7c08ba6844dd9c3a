"""Questions and verdicts of a session without a session: what is asked again, kept, withdrawn and said."""

import os
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.tools import ToolDenied

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.verdict import RUN, Verdict
from co_tui.agent.toolkit import AskedCall, HookedCall
from co_tui.events import ApprovalDecided, ApprovalRequested, Fact, ModeChange
from co_tui.session.approvals.asking import KEEPS_CHANGING, MOST_ASKED_AGAIN, Approvals
from co_tui.session.approvals.created_files import CreatedFiles
from co_tui.session.approvals.modes import tighter_mode
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.approvals.questions import Approval
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.folder.folder_guard import CreatedProtected, SetAside
from co_tui.settings.permission_rules import Rule, parse_rule
from tests.support.approving import YES, Person
from tests.support.kept_folders import KeptFolder

CALL = AskedCall("1", "run_command", {"command": "make"})
ASKED = ApprovalRequested(call_id="1", tool="run_command", arguments={"command": "make"}, what="command: make", turn=1)
OFFERED = Verdict("ask", new=("make",), rules=(parse_rule("Bash(make)"),))


class Fixed(Permissions):
    """Says the same about every call."""

    def __init__(self, log: KeptFolder, verdict: Verdict = OFFERED) -> None:
        super().__init__(Judge(folder=log.folder, home=log.home), log.recorder)
        self.kept = self  # type: ignore[assignment]
        self.added: list[Rule] = []
        self._verdict = verdict

    async def verdict(self, tool: str, arguments: Any) -> Verdict:
        return self._verdict

    def add(self, rule: Rule) -> None:
        self.added.append(rule)


@pytest.fixture
def log(tmp_path: Path) -> KeptFolder:
    return KeptFolder(tmp_path)


def types(facts: list[Fact]) -> list[str]:
    return [fact.TYPE for fact in facts]


@pytest.mark.parametrize(
    ("pending", "asked_anew"),
    [
        (ASKED.but(mark="ours"), False),
        (ASKED, True),
        (ASKED.but(mark="ours", arguments={"command": "make install"}), True),
        (ASKED.but(mark="ours", agent="helper"), True),
    ],
    ids=["the same", "of another machine", "another call", "of another agent"],
)
async def test_a_pending_question_is_used_only_if_it_is_about_this_call(
    log: KeptFolder, pending: ApprovalRequested, asked_anew: bool
) -> None:
    await log.recorder.record(pending)
    person = Person(YES)
    assert await Approvals(log.recorder, person, 1, Fixed(log)).ask(CALL) is None
    assert types(log.facts[1:]) == ["approval.requested"] * asked_anew + ["approval.decided"]
    assert len(person.asked) == 1


async def test_a_question_whose_call_is_allowed_by_now_is_answered_without_the_user(log: KeptFolder) -> None:
    await log.recorder.record(ASKED.but(mark="ours"))
    assert await Approvals(log.recorder, Person(), 1, Fixed(log, RUN)).ask(CALL) is None
    assert log.facts[-1].by == "an earlier answer"


@pytest.mark.parametrize(("scope", "kept"), [("once", 0), ("session", 0), ("project", 1)])
async def test_only_an_answer_for_the_project_is_kept(log: KeptFolder, scope: Any, kept: int) -> None:
    permissions = Fixed(log)
    answer = Approval(approved=True, by="user", scope=scope, rules=("Bash(make)",))
    await Approvals(log.recorder, Person(answer), 1, permissions).ask(CALL)
    assert len(permissions.added) == kept


async def test_a_call_that_a_hook_asks_about_can_only_be_allowed_once(log: KeptFolder) -> None:
    person = Person(YES)
    await Approvals(log.recorder, person, 1, Fixed(log)).ask(CALL._replace(hooked=HookedCall("ask", "careful")))
    assert person.asked[0].rules == () and "careful" in person.asked[0].reason
    denied = await Approvals(log.recorder, Person(), 1, Fixed(log)).ask(CALL._replace(hooked=HookedCall("deny", "no")))
    assert isinstance(denied, ToolDenied) and "no" in denied.message and log.facts[-1].by == "hook"


async def test_a_file_that_keeps_changing_is_not_asked_about_for_ever(log: KeptFolder) -> None:
    numbers = count()

    async def changes(tool: str, arguments: Any) -> str:
        return f"change {next(numbers)}"

    person = Person(*[YES] * 2 * MOST_ASKED_AGAIN)
    call = AskedCall("1", "write_file", {"path": "a"}, "change")
    denied = await Approvals(log.recorder, person, 1, Fixed(log), what=changes).ask(call)
    assert isinstance(denied, ToolDenied) and denied.message == KEEPS_CHANGING
    assert len(person.asked) == MOST_ASKED_AGAIN and person.asked[-1].note


async def test_the_questions_of_another_agent_are_not_withdrawn(log: KeptFolder) -> None:
    await log.recorder.record(ASKED, ASKED.but(agent="helper"))
    await Approvals(log.recorder, Person(), 1, Fixed(log)).withdraw("over")
    assert [(each.agent, each.reason) for each in log.facts if isinstance(each, ApprovalDecided)] == [("", "over")]
    assert [each.agent for each in log.recorder.state.pending] == ["helper"]


@pytest.mark.parametrize(("mode", "changes"), [("edits", ["edits"]), ("ask", []), ("", []), ("nonsense", [])])
async def test_an_accepted_plan_changes_the_mode_to_one_that_there_is(
    log: KeptFolder, mode: str, changes: list[str]
) -> None:
    answer = Approval(approved=True, by="user", mode=mode)
    await Approvals(log.recorder, Person(answer), 1, Fixed(log)).ask(AskedCall("1", "present_plan", {}))
    assert [fact.to for fact in log.facts if isinstance(fact, ModeChange)] == changes


async def test_a_line_that_the_sandbox_refused_is_asked_about_in_auto_unless_it_only_reads(log: KeptFolder) -> None:
    judge = Judge(folder=log.folder, home=log.home, environ={"PATH": os.environ["PATH"]})
    permissions = Permissions(judge, log.recorder)
    for line in ("ls", "make", "rm -r x"):
        assert permissions.refused_by_sandbox(line, "touch: cannot touch '/etc/x': Read-only file system")
    await log.recorder.record(ModeChange(from_="ask", to="auto"))

    async def about(line: str) -> Verdict:
        return await permissions.verdict("run_command", {"command": line})

    assert (await about("ls")).only_reads and (await about("make all")).action == "run"
    make, remove = await about("make"), await about("rm -r x")
    assert (make.action, make.outside_sandbox, make.danger) == ("ask", True, "")
    assert "it writes outside this folder" in make.reason and remove.danger == "deletes files"
    await log.recorder.record(ModeChange(from_="auto", to="ask"))
    assert not (await about("make")).outside_sandbox


async def test_a_tool_that_asks_by_itself_is_asked_about(log: KeptFolder) -> None:
    permissions = Fixed(log, RUN)
    assert (await permissions.about_question("order_lunch", {})) == Verdict("ask", new=("order_lunch",))
    assert (await permissions.about_question("run_command", {"command": "make"})) == RUN


@pytest.mark.parametrize(
    ("own", "usual", "mode"),
    [("edits", "ask", "ask"), ("plan", "auto", "plan"), ("", "edits", "edits"), ("nonsense", "edits", "edits")],
)
async def test_a_session_continues_in_the_tighter_of_its_mode_and_the_usual_one(
    log: KeptFolder, own: str, usual: str, mode: str
) -> None:
    if own:
        await log.recorder.record(ModeChange(from_="ask", to=own))
    state: SessionState = log.recorder.state
    assert tighter_mode(state, usual) == mode


async def test_what_a_command_made_never_replaces_what_is_there_by_now(tmp_path: Path) -> None:
    aside, folder = tmp_path / "aside", tmp_path / "shop"
    for each in (aside, folder):
        each.mkdir()
        (each / ".npmrc").write_text(each.name)
    made = CreatedProtected(folder, (SetAside(".npmrc", aside / ".npmrc"),))
    assert await CreatedFiles(Person(YES), folder).ask(made) == made, "it stays where it has no effect"
    assert ((aside / ".npmrc").read_text(), (folder / ".npmrc").read_text()) == ("aside", "shop")
    (folder / ".npmrc").unlink()
    assert await CreatedFiles(Person(Approval(approved=False, by="user")), folder).ask(made) == made
    assert await CreatedFiles(Person(YES), folder).ask(made) is None
    assert (folder / ".npmrc").read_text() == "aside"
