"""How far an answer reaches, who gives it without a person, and however a tool comes it can ask."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import FunctionToolset

from co_tui.events import ApprovalDecided
from co_tui.session.environment import Environment
from co_tui.session.questions import NOBODY, READ_ONLY, Approval, Unattended
from co_tui.session.session import Session
from co_tui.session.turn import Outcome
from tests.support.approving import YES, Person, Tools, asking, environment_with, left, log_of, returns
from tests.support.environments import ScriptedModel, facts


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
