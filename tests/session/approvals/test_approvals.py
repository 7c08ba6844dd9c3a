"""Calls that need approval: asked, answered, left open, and skipped."""

import asyncio
from pathlib import Path

from co_tui.context.request.repair import INTERRUPTED
from co_tui.events import ApprovalDecided, ApprovalRequested, SessionInterrupted
from co_tui.session.approvals.asking import NOT_ANSWERED
from co_tui.session.approvals.questions import Approval, ApprovalQuestion
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.turns.turn import Outcome
from tests.support.approving import YES, Person, Tools, asking, environment_with, left, log_of, returns
from tests.support.environments import facts
from tests.support.waiting import until


async def test_an_allowed_call_runs_and_the_turn_continues(home: Path, tools: Tools) -> None:
    person = Person(YES)
    environment = environment_with(home, asking(("look", "a"), ("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    (asked,) = person.asked
    assert asked.call_id
    assert asked.but(call_id="") == ApprovalQuestion(
        tool="write", arguments={"path": "b"}, what="path: b", new=("write",)
    )
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
    assert returns(session) == [("write-b", "The user denied it: use another file", "denied")]
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
    assert [each.call_id for each in resumed.state.pending] == ["write-b"], "the other waits behind it"
    assert await resumed.ask_pending() is Outcome.DONE
    assert tools.ran == ["look a", "write b"]
    assert [(call, outcome) for call, _, outcome in returns(resumed)] == [
        ("look-a", "success"),
        ("write-b", "success"),
        ("write-c", "denied"),
    ]
    await left(environment, resumed)


async def test_quitting_between_two_answers_asks_the_second_again(home: Path, tools: Tools) -> None:
    person = Person(YES)
    environment = environment_with(home, asking(("write", "a"), ("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: len(person.asked) == 2)
    await session.close()
    await turn
    assert tools.ran == ["write a"] and len(session.state.pending) == 1
    environment.questions = Person(YES)
    resumed = await Session.resume(environment, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert tools.ran == ["write a", "write b"]
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
    await resumed.edits.clear()
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
    await session.edits.clear()
    assert await turn is Outcome.INTERRUPTED
    assert session.state.pending == () and len(session.state.history) == 0
    await left(environment, session)
