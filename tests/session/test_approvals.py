"""Calls that somebody has to allow first: asked, answered, left open, and passed over."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import FunctionToolset

from co_tui.agent.messages import read_messages
from co_tui.context.repair import INTERRUPTED
from co_tui.events import ApprovalDecided, ApprovalRequested, SessionInterrupted
from co_tui.session.approvals import NOT_ANSWERED
from co_tui.session.environment import Environment
from co_tui.session.questions import NOBODY, READ_ONLY, Approval, ApprovalQuestion, Unattended
from co_tui.session.session import Session
from co_tui.session.state.replay import replay
from co_tui.session.turn import Outcome
from tests.context.test_repair import breaches
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.waiting import until

YES = Approval(approved=True, by="user")


class Person(Unattended):
    """Somebody who answers approvals as a test says; without an answer, the question waits."""

    def __init__(self, *answers: Approval) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[ApprovalQuestion] = []
        self.withdrawn = 0

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        if not self.answers:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        return self.answers.pop(0)


class Tools:
    """One tool that reads and one that has to be allowed, with what became of their calls."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def look(self, path: str) -> str:
        self.ran.append(f"look {path}")
        return f"content of {path}"

    def write(self, path: str) -> str:
        self.ran.append(f"write {path}")
        return f"wrote {path}"


def calls(*named: tuple[str, str]) -> dict[int, DeltaToolCall]:
    return {
        n: DeltaToolCall(tool, f'{{"path": "{path}"}}', tool_call_id=f"{tool}-{path}")
        for n, (tool, path) in enumerate(named)
    }


def asking(*named: tuple[str, str]) -> ScriptedModel:
    """A model that makes these calls at the first prompt, and answers with what was returned last."""

    async def script(messages, info):
        sent.append(messages)
        assert breaches(messages) == []
        returned = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        if returned:
            yield f"{returned[-1].content}"
        else:
            yield calls(*named)

    sent: list[Any] = []
    model = ScriptedModel(script)
    model.sent = sent
    return model


@pytest.fixture
def tools() -> Tools:
    return Tools()


def environment_with(
    home: Path, model: ScriptedModel, tools: Tools, person: Unattended, **settings: Any
) -> Environment:
    environment = environment_for(home, model, **settings)
    environment.toolsets = [FunctionToolset([tools.look, tools.write])]
    environment.asks_first = lambda tool, arguments: tool == "write"
    environment.questions = person
    return environment


def log_of(environment: Environment, session: Session) -> list:
    with environment.store.reading() as reading:
        return list(reading.events(session.id))


async def left(environment: Environment, session: Session) -> None:
    """Close a session, and see that its log is sound: all in pairs, and replayed to the same state."""
    assert breaches(read_messages([entry.message for entry in session.state.history])) == []
    await session.close()
    assert replay(log_of(environment, session)) == session.state
    environment.store.close()


def returns(session: Session) -> list[tuple[str, object, str]]:
    found = [part for entry in session.state.history for part in entry.message["parts"]]
    return [
        (part["tool_call_id"], part["content"], part["outcome"]) for part in found if part["part_kind"] == "tool-return"
    ]


async def test_an_allowed_call_runs_and_the_turn_goes_on(home: Path, tools: Tools) -> None:
    person = Person(YES)
    environment = environment_with(home, asking(("look", "a"), ("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert person.asked == [ApprovalQuestion(tool="write", arguments={"path": "b"}, what="path: b", pattern="b")]
    assert tools.ran == ["look a", "write b"]
    asked, decided = facts(log_of(environment, session), ApprovalRequested | ApprovalDecided)
    assert (asked.call_id, asked.tool, asked.arguments, asked.turn) == ("write-b", "write", {"path": "b"}, 1)
    assert (decided.call_id, decided.approved, decided.by, decided.scope) == ("write-b", True, "user", "once")
    assert returns(session) == [("look-a", "content of a", "success"), ("write-b", "wrote b", "success")]
    assert session.state.pending == ()
    await left(environment, session)


async def test_the_model_hears_why_not(home: Path, tools: Tools) -> None:
    no = Approval(approved=False, by="user", reason="use another file")
    environment = environment_with(home, asking(("write", "b")), tools, Person(no))
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert tools.ran == []
    assert returns(session) == [("write-b", "The user did not allow it: use another file", "denied")]
    (decided,) = facts(log_of(environment, session), ApprovalDecided)
    assert (decided.approved, decided.reason) == (False, "use another file")
    await left(environment, session)


async def test_what_was_left_open_is_asked_again_and_runs_once(home: Path, tools: Tools) -> None:
    person = Person()
    environment = environment_with(home, asking(("look", "a"), ("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    await session.close()
    assert await turn is Outcome.INTERRUPTED and person.withdrawn == 1
    assert [each.call_id for each in session.state.pending] == ["write-b"]
    assert returns(session) == [("look-a", "content of a", "success")], "what ran has run, what waits is open"
    assert not facts(log_of(environment, session), SessionInterrupted)

    environment.questions = person = Person(YES)
    resumed = await Session.resume(environment, session.id)
    assert resumed.state.pending == session.state.pending
    assert await resumed.ask_pending() is Outcome.DONE
    assert person.asked[0].tool == "write"
    assert tools.ran == ["look a", "write b"]
    assert returns(resumed) == [("look-a", "content of a", "success"), ("write-b", "wrote b", "success")]
    assert resumed.state.transcript[-1].message["parts"][0]["content"] == "wrote b"
    assert {entry.turn for entry in resumed.state.transcript} == {1}
    assert await resumed.ask_pending() is None
    await left(environment, resumed)


async def test_a_killed_process_loses_no_question(home: Path, tools: Tools) -> None:
    person = Person()
    environment = environment_with(home, asking(("look", "a"), ("write", "b"), ("write", "c")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    as_it_is_now = await session.fork()  # the log as a process killed at this moment leaves it
    session.interrupt()
    await turn
    await session.close()

    environment.questions = Person(YES, Approval(approved=False, by="user"))
    resumed = await Session.resume(environment, as_it_is_now)
    assert [each.call_id for each in resumed.state.pending] == ["write-b", "write-c"]
    assert await resumed.ask_pending() is Outcome.DONE
    assert tools.ran == ["look a", "write b"]
    assert [(call, outcome) for call, _, outcome in returns(resumed)] == [
        ("look-a", "success"),
        ("write-b", "success"),
        ("write-c", "denied"),
    ]
    await left(environment, resumed)


async def test_quitting_between_two_answers_asks_both_again(home: Path, tools: Tools) -> None:
    person = Person(YES)
    environment = environment_with(home, asking(("write", "a"), ("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: len(person.asked) == 2)
    await session.close()
    await turn
    assert tools.ran == [] and len(session.state.pending) == 2
    environment.questions = Person(YES, YES)
    resumed = await Session.resume(environment, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert sorted(tools.ran) == ["write a", "write b"]
    await left(environment, resumed)


async def test_quitting_again_while_asked_again_leaves_it_open(home: Path, tools: Tools) -> None:
    person = Person()
    environment = environment_with(home, asking(("write", "a")), tools, person)
    session = await Session.start(environment, "scripted")
    for times in (1, 2):
        turn = asyncio.create_task(session.submit("go") if times == 1 else session.ask_pending())
        await until(lambda times=times: len(person.asked) == times)
        await session.close()
        assert await turn is Outcome.INTERRUPTED
        session = await Session.resume(environment, session.id)
    assert [each.call_id for each in session.state.pending] == ["write-a"] and person.withdrawn == 2
    assert replay(log_of(environment, session)) == session.state
    await session.close()
    environment.store.close()


async def test_a_new_prompt_instead_of_an_answer_is_a_no(home: Path, tools: Tools) -> None:
    person = Person()
    model = asking(("write", "a"))
    environment = environment_with(home, model, tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    assert await session.submit("do something else") is Outcome.DONE
    assert await turn is Outcome.INTERRUPTED and person.withdrawn == 1
    assert tools.ran == [] and session.state.pending == ()
    assert returns(session) == [("write-a", NOT_ANSWERED, "denied")]
    assert len(model.sent) == 2, "the model hears of it with the new prompt"
    (decided,) = facts(log_of(environment, session), ApprovalDecided)
    assert (decided.approved, decided.by) == (False, "nobody")
    assert [entry.turn for entry in session.state.transcript] == [1, 1, 1, 2, 2]
    await left(environment, session)


async def test_a_new_prompt_in_a_resumed_session_is_a_no_too(home: Path, tools: Tools) -> None:
    person = Person()
    environment = environment_with(home, asking(("look", "a"), ("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    await session.close()
    await turn
    resumed = await Session.resume(environment, session.id)
    assert await resumed.submit("something else") is Outcome.DONE
    assert tools.ran == ["look a"] and resumed.state.pending == ()
    assert returns(resumed) == [("look-a", "content of a", "success"), ("write-b", NOT_ANSWERED, "denied")]
    assert [entry.turn for entry in resumed.state.transcript] == [1, 1, 1, 1, 2, 2]
    await left(environment, resumed)


async def test_a_policy_that_restores_texts_only_keeps_the_open_call(home: Path, tools: Tools) -> None:
    person = Person()
    environment = environment_with(home, asking(("look", "a"), ("write", "b")), tools, person, restored="texts")
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    await session.close()
    await turn
    environment.questions = Person(YES)
    resumed = await Session.resume(environment, session.id)
    assert await resumed.ask_pending() is Outcome.DONE and tools.ran == ["look a", "write b"]
    await left(environment, resumed)


async def test_a_question_whose_call_is_gone_is_not_asked(home: Path, tools: Tools) -> None:
    person = Person()
    environment = environment_with(home, asking(("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    await session.close()
    await turn
    resumed = await Session.resume(environment, session.id)
    await resumed.clear()
    assert await resumed.ask_pending() is Outcome.DONE
    assert len(person.asked) == 1 and resumed.state.pending == () and tools.ran == []
    await left(environment, resumed)


async def test_stopping_the_turn_is_a_no(home: Path, tools: Tools) -> None:
    person = Person()
    environment = environment_with(home, asking(("look", "a"), ("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    assert session.interrupt()
    assert await turn is Outcome.INTERRUPTED
    assert session.state.pending == () and tools.ran == ["look a"]
    assert returns(session) == [("look-a", "content of a", "success"), ("write-b", INTERRUPTED, "interrupted")]
    assert await session.submit("and now?") is Outcome.DONE
    await left(environment, session)


async def test_clearing_the_context_withdraws_the_question(home: Path, tools: Tools) -> None:
    person = Person()
    environment = environment_with(home, asking(("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    await session.clear()
    assert await turn is Outcome.INTERRUPTED
    assert session.state.pending == () and len(session.state.history) == 0
    await left(environment, session)


@pytest.mark.parametrize(
    ("answer", "asked_for"),
    [
        (Approval(approved=True, by="user", scope="session"), 1),
        (Approval(approved=True, by="user", scope="pattern", pattern="src/*"), 2),
        (YES, 3),
    ],
)
async def test_an_answer_may_reach_further_than_one_call(
    home: Path, tools: Tools, answer: Approval, asked_for: int
) -> None:
    person = Person(*[answer] * 3)
    environment = environment_with(home, asking(("write", "src/a"), ("write", "src/b"), ("write", "c")), tools, person)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert len(person.asked) == asked_for and len(tools.ran) == 3
    await left(environment, session)


async def test_what_was_allowed_for_the_session_holds_after_resuming(home: Path, tools: Tools) -> None:
    always = Approval(approved=True, by="user", scope="session")
    environment = environment_with(home, asking(("write", "a")), tools, Person(always))
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    await session.clear()
    await session.close()
    environment.questions = person = Person()
    resumed = await Session.resume(environment, session.id)
    assert await resumed.submit("again") is Outcome.DONE
    assert person.asked == [] and tools.ran == ["write a", "write a"]
    await left(environment, resumed)


@pytest.mark.parametrize(
    ("flags", "ran", "content"),
    [
        ({"yes": True}, ["write a"], "wrote a"),
        ({"read_only": True}, [], READ_ONLY),
        ({}, [], NOBODY),
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
