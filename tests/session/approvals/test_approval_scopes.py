"""How far an answer reaches, who gives it without a person, and however a tool comes it can ask."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import FunctionToolset

from co_tui.events import ApprovalDecided, ApprovalRequested, Event, Fact, SessionResume, SessionStart
from co_tui.session.approvals.questions import NOT_APPROVED, READ_ONLY, Approval, Scope, Unattended
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.turns.turn import Outcome
from co_tui.settings.permission_rules import Rule, RuleInForce, parse_rule
from tests.support.approving import YES, Person, Tools, asking, environment_with, left, log_of, returns
from tests.support.environments import ScriptedModel, facts
from tests.support.long_run import also_in_a_long_run
from tests.support.working import Working, repository, working_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def answered(scope: Scope, *rules: str) -> Approval:
    return Approval(approved=True, by="user", scope=scope, rules=rules)


WRITES = [("write_file", {"path": path, "content": "x"}) for path in ("src/a", "src/b", "c")]


@pytest.mark.parametrize(
    ("answer", "asked_for", "at_once"),
    also_in_a_long_run(
        [
            (answered("session", "Edit(src/**)"), ["src/a", "c"], False),
            (answered("project", "Edit(src/**)", "Edit(./*)"), ["src/a"], True),
        ],
        [(answered("session", "Edit(src/**)"), ["src/a", "c"], True), (YES, ["src/a", "src/b", "c"], True)],
    ),
)
async def test_an_answer_allows_what_it_shows(
    home: Path, folder: Path, answer: Approval, asked_for: list[str], at_once: bool
) -> None:
    person = Person(*[answer] * 3)
    environment = working_in(folder, home, Working(*([WRITES] if at_once else WRITES)), person)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert [question.arguments["path"] for question in person.asked] == asked_for
    assert all((folder / call["path"]).read_text() == "x" for _, call in WRITES)
    await left(environment, session)


async def test_the_question_offers_the_rules(home: Path, folder: Path) -> None:
    line = "grep -rn TODO . | head -5 && pytest -q tests && rm x"
    no = Approval(approved=False, by="user")
    person = Person(no, no)
    calls = [("run_command", {"command": line}), ("run_command", {"command": "git status && mypy ."})]
    environment = working_in(folder, home, Working(*calls), person)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    dangerous, ordinary = person.asked
    assert (dangerous.danger, dangerous.rules) == ("deletes files", ())
    assert dangerous.new == ("pytest -q tests", "rm x")
    assert (ordinary.danger, ordinary.rules, ordinary.new) == ("", ("Bash(mypy, harmless options)",), ("mypy .",))
    assert ordinary.where.startswith(str(folder))
    await left(environment, session)


async def test_what_was_allowed_for_the_session_holds_after_resuming(home: Path, folder: Path) -> None:
    write = ("write_file", {"path": "src/a", "content": "x"})
    environment = working_in(folder, home, Working(write), Person(answered("session", "Edit(src/**)")))
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    await session.edits.clear()
    await left(environment, session)
    person = Person()
    environment = working_in(folder, home, Working(("write_file", {"path": "src/b", "content": "y"})), person)
    resumed = await Session.resume(environment, session.id)
    assert await resumed.submit("again") is Outcome.DONE
    assert person.asked == [] and (folder / "src/b").read_text() == "y"
    await left(environment, resumed)


async def test_what_was_allowed_for_the_session_holds_in_that_folder_only(
    home: Path, folder: Path, tmp_path: Path
) -> None:
    rule, call = "Bash(make test)", ("run_command", {"command": "make test"})
    other = repository(tmp_path / "other")
    for place in (folder, other):
        (place / "Makefile").write_text("test:\n\ttouch made\n")
    session_id, asked = "", list[tuple[int, tuple[str, ...]]]()
    for place in (folder, other, other, folder):
        person = Person(answered("session", rule))
        environment = working_in(place, home, Working(call), person)
        opening = Session.resume(environment, session_id) if session_id else Session.start(environment, "scripted")
        session = await opening
        session_id = session.id
        assert await session.submit("go") is Outcome.DONE and (place / "made").exists()
        asked.append((len(person.asked), session.asked_again))
        if place is other and len(asked) == 2:
            decided = facts(log_of(environment, session), ApprovalDecided)
            assert [each.folder for each in decided] == [str(folder), str(other)]
        await left(environment, session)
    assert asked == [(1, ()), (1, (rule,)), (0, ()), (0, ())]


def test_an_older_answer_holds_in_the_folder_that_the_session_worked_in_then() -> None:
    def at(*log: Fact) -> tuple[Rule, ...]:
        return replay(Event(session_id="s", seq=n, timestamp="", fact=fact) for n, fact in enumerate(log, 1)).allowed

    asked = ApprovalRequested(call_id="1", tool="run_command", arguments={"command": "make x"})
    allowed = ApprovalDecided(call_id="1", approved=True, scope="session", rules=("Bash(make x)",))
    start, moved, back = SessionStart(cwd="/a"), SessionResume(cwd="/b"), SessionResume(cwd="/a")
    rules = (parse_rule("Bash(make x)"),)
    assert (
        at(start, asked, allowed) == at(start, asked, allowed, moved, back) == at(start, moved, asked, allowed) == rules
    )
    assert at(start, asked, allowed, moved) == at(start, moved, asked, allowed, back) == ()
    assert (
        at(start, asked, allowed.but(folder="/b")) == () and at(start, asked, allowed.but(folder="/b"), moved) == rules
    )


async def test_what_was_allowed_for_the_project_holds_in_its_next_session(home: Path, folder: Path) -> None:
    write = ("write_file", {"path": "src/a", "content": "x"})
    for person in (Person(answered("project", "Edit(src/**)")), Person()):
        environment = working_in(folder, home, Working(write), person)
        session = await Session.start(environment, "scripted")
        assert await session.submit("go") is Outcome.DONE
        await left(environment, session)
    assert person.asked == []


async def test_what_was_allowed_for_the_project_is_asked_about_again_once_it_is_revoked(
    home: Path, folder: Path
) -> None:
    person = Person(answered("project", "Edit(src/**)"), YES)
    model = Working(WRITES[0])
    environment = working_in(folder, home, model, person)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    (rule,) = [each.rule for each in session.approvals.all() if each.revocable]
    await session.approvals.revoke(rule)
    assert not session.approvals.all() and not session.state.allowed
    model.steps = [WRITES[1]]
    await session.submit("go on")
    assert [question.arguments["path"] for question in person.asked] == ["src/a", "src/b"]
    await left(environment, session)


async def test_a_rule_that_denies_is_logged_and_told_to_the_model(home: Path, folder: Path) -> None:
    denied = RuleInForce("deny", parse_rule("Bash(curl:*)"), "config.toml")
    model, person = Working(("run_command", {"command": "ls && curl x"})), Person()
    environment = working_in(folder, home, model, person, permissions=(denied,))
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert person.asked == []
    assert model.returned == ["Denied by rule Bash(curl:*) in config.toml."]
    [decided] = facts(log_of(environment, session), ApprovalDecided)
    assert (decided.approved, decided.by) == (False, "Bash(curl:*)")
    await left(environment, session)


@pytest.mark.parametrize(
    ("flags", "ran", "content"),
    [
        ({"yes": True}, ["write a"], "wrote a"),
        ({"read_only": True}, [], READ_ONLY),
        ({}, [], NOT_APPROVED),
    ],
)
async def test_without_a_person_the_flags_answer(home: Path, tools: Tools, flags, ran, content) -> None:
    environment = environment_with(home, asking(("write", "a")), tools, Unattended(**flags))
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert tools.ran == ran and returns(session)[0][1] == content
    assert len(facts(log_of(environment, session), ApprovalDecided)) == 1
    await left(environment, session)


def by_capability(tools: Tools, environment: Environment) -> None:
    """Tools that a capability brings."""
    environment.toolsets, environment.capabilities = (), [Toolset(FunctionToolset([tools.write]))]


def by_declaration(tools: Tools, environment: Environment) -> None:
    """A tool that says by itself that it asks."""
    environment.toolsets = [FunctionToolset([Tool(tools.write, requires_approval=True)])]
    environment.asks_first = lambda tool, arguments: False


def by_itself(tools: Tools, environment: Environment) -> None:
    """A tool that asks when it sees what it would do."""

    def write(ctx: RunContext[Any], path: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"what": f"+++ {path}"})
        return tools.write(path)

    environment.toolsets = [FunctionToolset([write])]
    environment.asks_first = lambda tool, arguments: False


@pytest.mark.parametrize("brought", [by_capability, by_declaration, by_itself])
async def test_however_a_tool_comes_it_can_ask(home: Path, tools: Tools, brought: Callable[..., None]) -> None:
    person = Person(YES)
    environment = environment_with(home, asking(("write", "a")), tools, person)
    brought(tools, environment)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert tools.ran == ["write a"]
    assert [question.what for question in person.asked] == ["+++ a" if brought is by_itself else "path: a"]
    await left(environment, session)


async def test_a_model_that_calls_no_tools_gets_none(home: Path, tools: Tools) -> None:
    offered: list[int] = []

    class Brings(AbstractCapability[Any]):
        def get_instructions(self) -> str:
            return "Use the tools."

    async def script(messages, info):
        offered.append(len(info.function_tools))
        yield "no"

    environment = environment_with(home, ScriptedModel(script, takes_tools=False), tools, Person())
    environment.capabilities = [Brings()]
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert offered == [0]
    await left(environment, session)


async def test_a_search_leaves_out_what_must_not_be_read(home: Path, folder: Path) -> None:
    denied = RuleInForce("deny", parse_rule("Read(.env)"), "config.toml")
    (folder / ".env").write_text("KEY=greeting-of-the-secret\n")
    (folder / "sub").mkdir()
    (folder / "sub/link").symlink_to("../.env")
    model = Working(
        ("search_files", {"pattern": "greeting", "include_glob": "**/*"}),
        ("search_files", {"pattern": "greeting", "include_glob": ".*"}),
        ("read_file", {"path": "sub/link"}),
    )
    environment = working_in(folder, home, model, Person(), permissions=(denied,))
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert "login.py" in model.returned[0] and "secret" not in "".join(model.returned)
    assert "Read(.env)" in model.returned[2]
    await left(environment, session)
