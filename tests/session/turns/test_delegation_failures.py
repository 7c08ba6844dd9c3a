"""What fails inside a delegation: tried again as in a turn, reported to the agent that asked, no end of the others."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai.exceptions import ModelHTTPError, ModelRateLimitError

from co_tui.agent.wire.model_errors import ReplyCutOff
from co_tui.events import DelegationEnd, Message, SessionError
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.session.tools.test_agent_files import REVIEWER, Model, asks, call, project
from tests.session.turns.test_delegations import ended
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.stores import stored_events
from tests.support.waiting import HANGING_S, PATIENCE_S, until

TASK = "Look at a"
READ = {0: call("read_file", "r1", path="a.txt")}
BUSY = ModelHTTPError(503, "scripted", "overloaded")
PASSING = {
    "too many requests": ModelRateLimitError("scripted", "slow down"),
    "a server's failure": BUSY,
    "a stream that is cut": ReplyCutOff("it stopped"),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    also_in_a_long_run(
        [("reviewer", "too many requests"), ("self", "a stream that is cut")],
        [("self", "too many requests"), ("self", "a server's failure")],
    ),
)
async def test_a_passing_failure_is_tried_again_and_no_tool_runs_twice(
    home: Path, folder: Path, name: str, kind: str
) -> None:
    failure = PASSING[kind]
    (folder / "a.txt").write_text("secret of alpha")
    model = Model([(name, TASK)], {TASK: [failure, READ, ["Half a ", failure], failure]})
    made = project(home, folder, {".claude/agents/r.md": REVIEWER}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    agent = f"{name} 1"
    assert session.state.delegations[agent].status == "done"
    assert [TASK in sent and sent.count("secret of alpha") for sent in model.sent(TASK)] == [0, 0, 1, 1, 1]
    events = stored_events(home, session.id)
    retries = facts(events, SessionError)
    assert [(each.agent, each.attempt) for each in retries] == [(agent, 1), (agent, 1), (agent, 2)]
    assert all(each.retry_in_s is not None for each in retries)
    said = [fact.message["kind"] for fact in facts(events, Message) if fact.agent]
    assert said == ["request", "response", "request", "response"], "the task once, a call, its result, the report"
    await ended(made, session, home)


async def test_enough_attempts_and_the_agent_that_asked_is_told(home: Path, folder: Path) -> None:
    model = Model([("self", TASK), ("self", "Look at b")], {TASK: [BUSY] * 9})
    made = project(home, folder, {}, model)
    made.settings = made.settings.but(max_retries=2)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    assert {each.status for each in session.state.delegations.values()} == {"done", "failed"}
    assert len(model.sent(TASK)) == 3
    assert "self 1 failed: scripted" in model.sent("")[-1] and "Report on Look at b." in model.sent("")[-1]
    (failed,) = (each for each in facts(stored_events(home, session.id), DelegationEnd) if each.error)
    assert "overloaded" in failed.error and failed.outcome == "failed"
    await ended(made, session, home)


async def test_what_will_not_pass_is_not_tried_again(home: Path, folder: Path) -> None:
    model = Model([("self", TASK)], {TASK: [ModelHTTPError(401, "scripted", "no such key")]})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    assert len(model.sent(TASK)) == 1 and session.state.delegations["self 1"].status == "failed"
    await ended(made, session, home)


async def test_stopping_the_turn_does_not_wait_for_the_next_attempt(home: Path, folder: Path) -> None:
    model = Model([("self", TASK)], {TASK: [ModelRateLimitError("scripted", "slow")] * 3})
    made = project(home, folder, {}, model)
    made.first_backoff_s = HANGING_S
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Go."))
    await until(lambda: bool(facts(stored_events(home, session.id), SessionError)))
    session.interrupt()
    assert await asyncio.wait_for(turn, PATIENCE_S) is Outcome.INTERRUPTED
    assert session.state.delegations["self 1"].status == "interrupted" and len(model.sent(TASK)) == 1
    model.tasks = []
    assert await session.submit("And now?") is Outcome.DONE
    await ended(made, session, home)


async def test_one_that_is_refused_as_too_long_continues_with_less(home: Path, folder: Path) -> None:
    for n in range(4):
        (folder / f"{n}.txt").write_text(f"result {n} " * 2_000)
    too_long = ModelHTTPError(
        400, "scripted", {"error": {"message": "maximum context length is 8000 tokens, you requested 9700 tokens"}}
    )
    reads = [{0: call("read_file", f"r{n}", path=f"{n}.txt")} for n in range(4)]
    model = Model([("self", TASK)], {TASK: [*reads, too_long]})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    assert session.state.delegations["self 1"].status == "done", session.state.delegations["self 1"].error
    *_, refused, after = model.sent(TASK)
    assert len(after) < len(refused) and TASK in after and "result 3" in after
    assert set(session.state.delegations) == {"self 1"}
    refusals = [each for each in facts(stored_events(home, session.id), SessionError) if each.kind == "context_limit"]
    assert {each.agent for each in refusals} == {"self 1"}
    assert len(session.state.history) == 4 and not session.state.rewrites, "nothing changed"
    await ended(made, session, home)


async def test_a_task_that_does_not_fit_is_told_to_who_gave_it(home: Path, folder: Path) -> None:
    model = Model([("self", "word " * 65_000)], {})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    await session.submit("Go.")
    delegation = session.state.delegations["self 1"]
    assert delegation.status == "failed" and delegation.error.startswith("The task is about")
    await ended(made, session, home)


@only_in_a_long_run
async def test_a_nested_one_is_tried_again_by_itself(home: Path, folder: Path) -> None:
    model = Model([("self", "Outer")], {"Outer": [asks(("self", "Inner"))], "Inner": [BUSY, BUSY]})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    assert {each.status for each in session.state.delegations.values()} == {"done"}
    assert (len(model.sent("Outer")), len(model.sent("Inner"))) == (2, 3)
    assert {each.agent for each in facts(stored_events(home, session.id), SessionError)} == {"self 1/self 1"}
    await ended(made, session, home)
