"""`kill -9` at every step between reply, question, answer and result, for the main agent and for delegates.

Appending is durable, so that a log cut off after an event is what a kill at that moment leaves.
"""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai.toolsets import FunctionToolset

from co_tui.context.request.repair import INTERRUPTED
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    DelegationEnd,
    DelegationStart,
    Event,
    Message,
    SessionInterrupted,
    SessionResume,
)
from co_tui.session.approvals.questions import Approval
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.turns.turn import Outcome
from co_tui.session.turns.unfinished import waiting_calls
from tests.session.state.test_state import log, said
from tests.support.approving import YES, Person, Tools, log_of, returns
from tests.support.environments import facts
from tests.support.killed import (
    FIRST,
    PROMPT,
    check_finished,
    check_waits_or_is_closed,
    environment_of,
    statuses,
)
from tests.support.long_run import LONG_RUN, also_in_a_long_run
from tests.support.stores import replayed
from tests.support.waiting import until

DELEGATED_CUTS = (ApprovalRequested, ApprovalDecided, DelegationStart, DelegationEnd)
SUITE_CUTS = (DELEGATED_CUTS, (*DELEGATED_CUTS, Message))
"""Events of delegates and of the main agent, after which the suite cuts off the log; a long run does after each."""


def test_a_call_that_was_decided_no_longer_waits() -> None:
    parts = [{"part_kind": "tool-call", "tool_name": "write", "args": {}, "tool_call_id": each} for each in "abcd"]
    reply = Message(turn=1, message={"kind": "response", "parts": parts})
    asked = [ApprovalRequested(call_id=each, tool="write") for each in "abc"]
    logged = [said("Write."), reply, *asked, ApprovalDecided(call_id="b", approved=True, by="user")]
    events = [Event(session_id="s", seq=n, timestamp="", fact=fact) for n, fact in enumerate(logged, 1)]
    assert waiting_calls(replay(events[:-1])) == frozenset("abcd")
    assert waiting_calls(replay(events)) == frozenset("acd"), "b may have run"


@pytest.mark.parametrize("scenario", also_in_a_long_run(["main"], ["parallel", "delegate", "nested"]))
async def test_after_every_event_it_is_asked_again_or_interrupted(home: Path, scenario: str) -> None:
    made = environment_of(home, scenario, Tools(), Person(*[YES] * 5))
    session = await Session.start(made, "scripted")
    assert await session.submit(FIRST) is Outcome.DONE
    first = session.state.seq
    assert await session.submit(PROMPT) is Outcome.DONE
    events = log_of(made, session)
    begin = next(n for n, event in enumerate(events) if event.fact.TYPE == "message" and event.seq > first)
    asked_again = 0
    for upto in range(begin, len(events)):
        cut = events[begin : upto + 1]
        if not (LONG_RUN or isinstance(cut[-1].fact, SUITE_CUTS[scenario == "main"])):
            continue
        copy = await session.fork(upto=cut[-1].seq)
        tools, person = Tools(), Person(*[YES] * 5)
        again = environment_of(home, scenario, tools, person)
        resumed = await Session.resume(again, copy)
        check_waits_or_is_closed(resumed.state)
        reported = {each.agent for each in facts(cut, DelegationEnd)}
        assert closed_with(log_of(again, resumed)) <= {INTERRUPTED, *(reported and REPORTS)}
        pending = {(each.agent, each.call_id) for each in resumed.state.pending}
        decided = {(each.agent, each.call_id) for each in facts(cut, ApprovalDecided)}
        requested = {(each.agent, each.call_id) for each in facts(cut, ApprovalRequested)}
        assert pending == requested - decided, "no question is lost, and none is asked twice"
        asked_again += bool(pending)
        assert await resumed.ask_pending() is (Outcome.DONE if pending else None)
        ran = [each for each in tools.ran if each.startswith("write")]
        assert len(ran) == len(set(ran)) and len(person.asked) >= len(pending)
        assert not {each.tool for each in person.asked} - {"write"}
        answered = {each.arguments["path"] for each in facts(cut, ApprovalRequested) if _key(each) in decided}
        assert not {each.removeprefix("write ") for each in ran} & answered, "what may have run never runs again"
        assert {each.arguments["path"] for each in facts(cut, ApprovalRequested) if _key(each) in pending} <= {
            each.removeprefix("write ") for each in ran
        }
        assert await resumed.submit("And now?") is Outcome.DONE
        log = log_of(again, resumed)
        check_finished(resumed.state, log)
        assert len(facts(log, SessionInterrupted)) <= 1
        await resumed.close()
        assert replayed(home, copy) == resumed.state

        if LONG_RUN or upto % 3 == 0:
            before = log_of(again, resumed)
            third = await Session.resume(again, copy)
            assert [event.fact.TYPE for event in log_of(again, third)[len(before) :]] == ["session.resume"]
            await third.close()
        again.store.close()
    assert asked_again > 0
    await session.close()
    made.store.close()


REPORTS = {f"Report: {task}" for task in ("Write b.", "Write c.", "Have b written.")}


def closed_with(events: list[Event]) -> set[str]:
    """The content of the tool returns that were logged when the session was opened again."""
    opened = next(n for n, event in enumerate(events) if isinstance(event.fact, SessionResume))
    said = [part for fact in facts(events[opened:], Message) for part in fact.message["parts"]]
    return {part["content"] for part in said if part["part_kind"] == "tool-return"}


def _key(asked: ApprovalRequested) -> tuple[str, str]:
    return asked.agent, asked.call_id


async def left_at_its_question(home: Path, scenario: str, questions: int = 1) -> Session:
    """A session that was left, in order, while that many questions waited."""
    person = Person()
    made = environment_of(home, scenario, Tools(), person)
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit(PROMPT))
    await until(lambda: len(person.asked) == questions)
    await session.close()
    assert await turn is Outcome.INTERRUPTED
    assert len(session.state.pending) == questions and replayed(home, session.id) == session.state
    check_waits_or_is_closed(session.state)
    made.store.close()
    return session


@pytest.mark.parametrize(
    ("scenario", "questions"), also_in_a_long_run([("parallel", 2)], [("delegate", 1), ("nested", 1)])
)
async def test_quitting_at_a_delegates_question_is_no_different(home: Path, scenario: str, questions: int) -> None:
    session = await left_at_its_question(home, scenario, questions)
    tools, person = Tools(), Person()
    made = environment_of(home, scenario, tools, person)
    resumed = await Session.resume(made, session.id)
    asked_again = asyncio.create_task(resumed.ask_pending())
    await until(lambda: len(person.asked) == questions)
    await resumed.close()
    assert await asked_again is Outcome.INTERRUPTED and resumed.state.pending == session.state.pending, "and once more"
    made.questions = person = Person(*[YES] * questions)
    resumed = await Session.resume(made, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert sorted(tools.ran)[-questions:] == [f"write {path}" for path in "bc"[:questions]]
    assert {each.status for each in resumed.state.delegations.values()} == {"done"}
    check_finished(resumed.state, log_of(made, resumed))
    for name, delegation in resumed.state.delegations.items():
        (end,) = [each for each in facts(log_of(made, resumed), DelegationEnd) if each.agent == name]
        replies = [entry for entry in delegation.history if entry.agent == name and entry.message["kind"] == "response"]
        assert end.usage["requests"] == len(replies), "before and after the pause"
    await resumed.close()
    made.store.close()


@pytest.mark.parametrize(
    ("scenario", "instead"),
    also_in_a_long_run(
        [("delegate", "clear"), ("delegate", "prompt at once"), ("parallel", "prompt"), ("nested", "stop")],
        [("delegate", "prompt"), ("delegate", "stop")],
    ),
)
async def test_what_is_not_answered_ends_with_its_turn(home: Path, scenario: str, instead: str) -> None:
    session = await left_at_its_question(home, scenario, 2 if scenario == "parallel" else 1)
    tools, person = Tools(), Person()
    made = environment_of(home, scenario, tools, person)
    resumed = await Session.resume(made, session.id)
    if instead == "clear":
        await resumed.edits.clear()
        assert await resumed.ask_pending() is Outcome.DONE and not person.asked
    elif instead != "prompt at once":
        turn = asyncio.create_task(resumed.ask_pending())
        await until(lambda: person.asked)
        if instead == "stop":
            resumed.interrupt()
        else:
            said = asyncio.create_task(resumed.submit("Something else."))
            await asyncio.sleep(0)
            resumed.interrupt()
        assert await turn is Outcome.INTERRUPTED
        if instead == "prompt":
            resumed.queue.release()
            assert await said is Outcome.DONE
    assert await resumed.submit("And now?") is Outcome.DONE
    assert not tools.ran and {each.status for each in resumed.state.delegations.values()} == {"interrupted"}
    check_finished(resumed.state, log_of(made, resumed))
    await resumed.close()
    made.store.close()


async def test_an_agent_that_can_no_longer_be_asked_is_interrupted(home: Path) -> None:
    session = await left_at_its_question(home, "nested")
    made = environment_of(home, "nested", Tools(), Person())
    made.capabilities = []
    resumed = await Session.resume(made, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert {each.status for each in resumed.state.delegations.values()} == {"interrupted"}
    check_finished(resumed.state, log_of(made, resumed))
    await resumed.close()
    made.store.close()


async def test_what_was_decided_about_delegations_holds_after_a_kill(home: Path) -> None:
    """The one that began is not asked about again, the one that was denied stays denied."""
    no = Approval(approved=False, by="user", reason="no")
    tools, person = Tools(), Person(YES, no)
    made = environment_of(home, "parallel", tools, person)
    made.asks_first = lambda tool, arguments: tool in ("write", "delegate_task")
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit(PROMPT))
    await until(lambda: len(person.asked) == 3)
    as_it_is_now = await session.fork()
    session.interrupt()
    await turn
    await session.close()
    made.questions = person = Person(YES)
    resumed = await Session.resume(made, as_it_is_now)
    assert await resumed.ask_pending() is Outcome.DONE
    assert [each.tool for each in person.asked] == ["write"] and tools.ran == ["write b"]
    assert sorted(outcome for _, _, outcome in returns(resumed)) == ["denied", "success"]
    check_finished(resumed.state, log_of(made, resumed))
    await resumed.close()
    made.store.close()


async def test_a_question_whose_tool_is_gone_ends_with_its_call(home: Path) -> None:
    session = await left_at_its_question(home, "main")
    made = environment_of(home, "main", tools := Tools(), person := Person())
    made.toolsets = [FunctionToolset([tools.look])]
    resumed = await Session.resume(made, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert not resumed.state.pending and not person.asked and "write b" not in tools.ran
    check_finished(resumed.state, log_of(made, resumed))
    await resumed.close()
    made.store.close()


async def test_what_was_asked_about_is_asked_again_though_nothing_asks_by_now(home: Path) -> None:
    session = await left_at_its_question(home, "delegate")
    tools, person = Tools(), Person(YES)
    made = environment_of(home, "delegate", tools, person)
    made.asks_first = lambda tool, arguments: False
    resumed = await Session.resume(made, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert tools.ran == ["write b"] and [each.agent for each in person.asked] == ["self 1"]
    (decided,) = facts(log_of(made, resumed), ApprovalDecided)
    assert (decided.approved, decided.agent) == (True, "self 1")
    check_finished(resumed.state, log_of(made, resumed))
    await resumed.close()
    made.store.close()


@pytest.mark.parametrize(
    ("scenario", "last", "told"),
    [
        ("main", ApprovalDecided, ["content of a", "The user denied it: no", "The user denied it: no"]),
        ("delegate", DelegationEnd, ["Report: Write b."]),
    ],
)
async def test_what_the_log_knows_the_model_is_told(home: Path, scenario: str, last: type, told: list[str]) -> None:
    made = environment_of(home, scenario, Tools(), Person(*[Approval(approved=False, by="user", reason="no")] * 2))
    session = await Session.start(made, "scripted")
    assert await session.submit(PROMPT) is Outcome.DONE
    cut = [event.seq for event in log_of(made, session) if isinstance(event.fact, last)][-1]
    resumed = await Session.resume(made, await session.fork(upto=cut))
    assert [content for _, content, _ in returns(resumed)] == told
    await session.close()
    await resumed.close()
    made.store.close()


def test_a_log_of_an_older_version_shows_no_call_as_running_for_ever() -> None:
    calls = [
        {"part_kind": "tool-call", "tool_name": tool, "tool_call_id": tool, "args": "{}"}
        for tool in ("look", "delegate_task")
    ]
    prompt = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "And now?"}]}
    killed = [
        Message(turn=1, message={"kind": "response", "parts": calls}),
        DelegationStart(agent="self 1", name="self", task="Look.", call_id="delegate_task"),
        ApprovalRequested(call_id="x", tool="write", agent="self 1"),
    ]
    assert statuses(log(*killed)) == ["…", "approval pending · conversation"]
    assert statuses(log(*killed, SessionResume(), Message(turn=2, message=prompt))) == ["interrupted", "interrupted"]
