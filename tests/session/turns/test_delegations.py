"""Parts of the work done by other agents: each sees the conversation and its own results, never another's (T4)."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall
from pydantic_ai_harness import SubAgents

from co_tui.agent.model_messages import message_json, read_messages
from co_tui.events import CompactionComplete, DelegationEnd, DelegationStart, Message, UsageInfo
from co_tui.lab.check import breaches
from co_tui.session.approvals.questions import Approval, ApprovalQuestion, Unattended
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.long_run import only_in_a_long_run
from tests.support.stores import replayed, stored_events
from tests.support.waiting import until

TASKS = ("Look at alpha", "Look at beta")


def text_of(message: ModelMessage) -> str:
    return json.dumps(message_json(message))


def whole(request: list[ModelMessage]) -> str:
    return "".join(map(text_of, request))


def returned(messages: list[ModelMessage], tool: str) -> int:
    parts = (part for message in messages for part in message.parts)
    return sum(isinstance(part, ToolReturnPart) and part.tool_name == tool for part in parts)


class Model:
    """The main agent delegates the tasks at once; each delegate looks that many times, then reports."""

    def __init__(self, tasks: tuple[str, ...] = TASKS, looks: int = 1, wait: asyncio.Event | None = None) -> None:
        self.tasks, self.looks, self.wait = tasks, looks, wait
        self.requests: list[list[ModelMessage]] = []

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if "working memory" in (info.instructions or ""):
            yield "Title: Looks\n## Decisions and outcomes\n- The secret of alpha was looked at, again and again."
            return
        self.requests.append(list(messages))
        prompts = [
            text_of(each) for each in messages if isinstance(each, ModelRequest) and "user-prompt" in text_of(each)
        ]
        task = next((task for task in self.tasks if task in prompts[-1] or task in "".join(prompts[1:])), "")
        if task:
            if self.wait is not None:
                await self.wait.wait()
            seen = sum(request[-1:] != [] and task in whole(request) for request in self.requests)
            if seen <= self.looks:
                arguments = json.dumps({"what": task.split()[-1], "n": seen})
                yield {0: DeltaToolCall(name="look", json_args=arguments, tool_call_id=f"{task.split()[-1]}-{seen}")}
            else:
                yield f"Report on {task.split()[-1]}."
        elif returned(messages, "delegate_task") or not self.tasks:
            yield "All reports are in."
        else:
            yield "I will ask others."
            for n, each in enumerate(self.tasks, 1):
                arguments = json.dumps({"agent_name": "self", "task": each})
                yield {n: DeltaToolCall(name="delegate_task", json_args=arguments, tool_call_id=f"d{n}")}


def look(what: str, n: int = 0) -> str:
    """Look at something."""
    return f"secret of {what} " * 20


def environment(home: Path, model: Model, **settings: Any) -> Environment:
    window = settings.pop("window", 100_000)
    made = environment_for(home, ScriptedModel(model, window=window), tools=[look], **settings)
    made.capabilities = [SubAgents(include_self=True, contain_errors=True)]
    return made


async def ended(made: Environment, session: Session, home: Path, *, killed: bool = False) -> None:
    """Close it, and see that its log is sound: replayed to the same state, every call answered once."""
    await session.close()
    made.store.close()
    assert replayed(home, session.id) == session.state
    for history in (
        () if killed else (session.state.history, *(each.history for each in session.state.delegations.values()))
    ):
        assert [b for b in breaches([], read_messages([e.message for e in history]), fits=True) if "I1" in b] == []


async def test_two_at_once_see_the_conversation_and_their_own_results_only(home: Path) -> None:
    model = Model()
    made = environment(home, model, delegation_context="conversation")
    session = await Session.start(made, "scripted")
    assert await session.submit("Remember the word heliotrope. Ask two others.") is Outcome.DONE
    delegated = session.state.delegations
    assert set(delegated) == {"self 1", "self 2"} and {each.status for each in delegated.values()} == {"done"}
    assert {each.task for each in delegated.values()} == set(TASKS)
    for request in map(whole, model.requests):
        assert "heliotrope" in request, "the top-level conversation"
        assert not ("secret of alpha" in request and "secret of beta" in request), "never another's results"
    assert "Report on alpha." in whole(model.requests[-1]) and "Report on beta." in whole(model.requests[-1])
    assert "secret of" not in whole(model.requests[-1])
    events = stored_events(home, session.id)
    assert [fact.name for fact in facts(events, DelegationStart)] == ["self", "self"]
    assert all(fact.usage["requests"] == 2 and not fact.error for fact in facts(events, DelegationEnd))
    said = [fact for fact in facts(events, Message) if fact.agent]
    assert len(said) == 8 and {fact.agent for fact in said} == {"self 1", "self 2"}
    assert {fact.agent for fact in facts(events, UsageInfo)} == {"", "self 1", "self 2"}
    assert session.state.usage is not None and not session.state.usage.agent, "the gauge is the main agent's"
    await ended(made, session, home)


async def test_stopping_the_turn_stops_them_and_what_came_is_kept(home: Path) -> None:
    model = Model(wait=asyncio.Event())
    made = environment(home, model)
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Ask two others."))
    await until(lambda: len(model.requests) == 3)
    session.interrupt()
    assert await turn is Outcome.INTERRUPTED
    assert {each.status for each in session.state.delegations.values()} == {"interrupted"}
    model.tasks = ()
    assert await session.submit("And now?") is Outcome.DONE, "the conversation goes on"
    await ended(made, session, home)


async def test_one_is_stopped_alone_and_the_turn_continues_with_the_others(home: Path) -> None:
    wait = asyncio.Event()
    model = Model(wait=wait)
    made = environment(home, model)
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Look around"))
    await until(lambda: len(model.requests) == 3)
    session.stop_delegation("self 1")
    await until(lambda: session.state.delegations["self 1"].status != "running")
    wait.set()
    assert await turn is Outcome.DONE
    assert {agent: each.status for agent, each in session.state.delegations.items()} == {
        "self 1": "stopped",
        "self 2": "done",
    }
    last = whole(model.requests[-1])
    assert "self 1 has not finished its task. The user stopped it." in last and "Report on beta." in last
    await ended(made, session, home)


@only_in_a_long_run
async def test_its_own_steps_are_compressed_and_the_task_and_conversation_stay(home: Path) -> None:
    model = Model(tasks=("Look at alpha",), looks=26)
    made = environment(home, model, window=3_000, delegation_context="conversation")
    session = await Session.start(made, "scripted")
    assert await session.submit("Remember the word heliotrope. Ask another.") is Outcome.DONE
    done = [fact for fact in facts(stored_events(home, session.id), CompactionComplete) if fact.agent and fact.success]
    assert done, "its own results passed the limit"
    for request in map(whole, model.requests[1:-1]):
        assert "heliotrope" in request and "Look at alpha" in request and "Agents at work" not in request
    assert len(session.state.history) == 4 and not session.state.rewrites, "nothing of the main history is gone"
    await ended(made, session, home)


class Person(Unattended):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ApprovalQuestion] = []

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        return Approval(approved="alpha" in str(question.arguments), by="user", reason="not that one")


async def test_what_a_delegate_may_not_do_by_itself_is_asked_under_its_name(home: Path) -> None:
    model = Model()
    made = environment(home, model)
    made.questions = person = Person()
    made.asks_first = lambda tool, _: tool == "look"
    session = await Session.start(made, "scripted")
    assert await session.submit("Ask two others.") is Outcome.DONE
    assert {question.agent for question in person.asked} == {"self 1", "self 2"} and not session.state.pending
    sent = "".join(map(whole, model.requests))
    assert "secret of alpha" in sent and "secret of beta" not in sent and "not that one" in sent
    await ended(made, session, home)


async def test_a_killed_process_leaves_no_delegation_running(home: Path) -> None:
    model = Model(tasks=("Look at alpha",), wait=asyncio.Event())
    made = environment(home, model)
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Ask another."))
    await until(lambda: len(model.requests) == 2)
    copy = await session.fork()  # the log as a kill at this moment would leave it
    session.interrupt()
    await turn
    await session.close()
    model.tasks = ()
    again = await Session.resume(made, copy)
    assert {each.status for each in again.state.delegations.values()} == {"interrupted"}
    assert await again.submit("And now?") is Outcome.DONE
    await ended(made, again, home, killed=True)
