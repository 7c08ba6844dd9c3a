"""Steps and spending of the main agent and of its delegations are one budget (T4, G6, T11)."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo

from co_tui.events import ApprovalRequested, CompactionComplete, DelegationEnd, RequestBilled, SessionError
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.slash.conversation_commands import CONTINUE_PROMPT
from co_tui.session.state.session_state import is_finished, is_unanswered
from co_tui.session.turns.turn import Outcome
from tests.session.tools.test_agent_files import call, project
from tests.session.turns.test_delegations import ended, returned
from tests.support.environments import ScriptedModel, facts
from tests.support.long_run import also_in_a_long_run
from tests.support.stores import stored_events

TASK = "Read the parts."


class Reader(ScriptedModel):
    """The main agent reads `own` files, then delegates; each delegate reads `parts` files, then reports.

    It knows from the last call alone how far it is, as after a restart."""

    def __init__(
        self, own: int, parts: int, delegates: int = 1, writes_at: int = -1, lines: int = 130, window: int = 24_000
    ) -> None:
        self.own, self.parts, self.delegates, self.writes_at, self.lines = own, parts, delegates, writes_at, lines
        super().__init__(self._script, window=window)

    async def _script(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if "working memory" in (info.instructions or ""):
            yield "Title: Reading\n## Decisions and outcomes\n- Parts were read."
            return
        delegated = f"'{TASK}" in str(messages)
        done = _reads(messages, "part" if delegated else "own")
        if CONTINUE_PROMPT in str(messages[-1]) or returned(messages, "delegate_task"):
            yield "All is done."
        elif done < (self.parts if delegated else self.own):
            path = f"{'part' if delegated else 'own'}{done + 1}.txt"
            if delegated and done + 1 == self.writes_at:
                yield {0: call("write_file", f"w-{path}", path=path, content="new")}
            else:
                yield {0: call("read_file", f"r-{path}", path=path)}
        elif delegated:
            yield f"Report: {done} parts."
        else:
            yield {n: call("delegate_task", f"d{n}", agent_name="self", task=TASK) for n in range(self.delegates)}


def _reads(messages: list[ModelMessage], name: str) -> int:
    calls = [part for message in messages if isinstance(message, ModelResponse) for part in message.parts]
    paths = [json.loads(str(part.args)).get("path", "") for part in calls if isinstance(part, ToolCallPart)]
    numbers = [int(found[1]) for path in paths if (found := re.fullmatch(rf"{name}(\d+)\.txt", path))]
    return max(numbers, default=0)


def reading(home: Path, folder: Path, model: Reader, most: int = 200) -> Environment:
    for name, count in (("own", model.own), ("part", model.parts)):
        for n in range(1, count + 1):
            (folder / f"{name}{n}.txt").write_text(f"line of {name} {n}\n" * model.lines)
    made = project(home, folder, {}, model)
    made.settings = made.settings.but(agent_max_steps=most)
    return made


def replies(session: Session) -> int:
    return sum(entry.message["kind"] == "response" for entry in session.state.transcript)


def stopped(session: Session) -> SessionError:
    return facts(list(session.state.timeline), SessionError)[-1]


def report_in(session: Session) -> str:
    """What the main agent got for its delegation."""
    said = [part for entry in session.state.history for part in entry.message["parts"]]
    return next(str(each["content"]) for each in said if each.get("tool_name") == "delegate_task" and "content" in each)


async def continued(session: Session) -> Outcome:
    """What F9 does."""
    assert not is_finished(session.state) and not is_unanswered(session.state)
    return await session.submit(CONTINUE_PROMPT)


async def test_a_delegation_of_many_steps_that_compacts_and_is_killed(home: Path, folder: Path) -> None:
    own, parts, writes_at = 1, 18, 12
    at_the_question = own + 1 + writes_at
    model = Reader(own, parts, writes_at=writes_at, lines=220, window=17_000)
    made = reading(home, folder, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    replied = own + 1 + parts + 2
    assert report_in(session) == f"Report: {parts} parts." and replies(session) == replied
    (end,) = facts(stored_events(home, session.id), DelegationEnd)
    assert (end.outcome, end.usage["requests"]) == ("done", parts + 1)
    assert any(
        each.agent == "self 1" and each.success for each in facts(list(session.state.timeline), CompactionComplete)
    )
    events = stored_events(home, session.id)
    (question,) = [event.seq for event in events if isinstance(event.fact, ApprovalRequested)]
    few = at_the_question + 4
    for most, outcome in also_in_a_long_run([(few, Outcome.FAILED)], [(200, Outcome.DONE)]):
        again = reading(home, folder, Reader(own, parts, writes_at=writes_at, lines=220, window=17_000), most)
        killed = await Session.resume(again, await session.fork(upto=question))
        assert await killed.ask_pending() is outcome
        if outcome is Outcome.DONE:
            assert report_in(killed) == f"Report: {parts} parts." and replies(killed) == replied
        else:
            assert replies(killed) == few, "the steps before the kill count"
            assert (stopped(killed).kind, stopped(killed).agent) == ("steps", "")
            assert f"Stopped after {few} steps (agent_max_steps)" in stopped(killed).what
            assert f"self 1 has not finished its task. Stopped after {few} steps" in report_in(killed)
            assert f"line of part {writes_at + 3}" in report_in(killed), "what it has"
            assert await continued(killed) is Outcome.DONE
        await ended(again, killed, home)
    await ended(made, session, home)


async def test_delegations_side_by_side_share_the_budget(home: Path, folder: Path) -> None:
    model = Reader(own=1, parts=20, delegates=3)
    made = reading(home, folder, model, most=12)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.FAILED
    assert replies(session) == 12 and stopped(session).kind == "steps"
    assert {each.status for each in session.state.delegations.values()} == {"stopped"}
    assert await continued(session) is Outcome.DONE
    await ended(made, session, home)


async def test_a_request_that_is_tried_again_is_one_step(home: Path, folder: Path) -> None:
    model = Reader(own=0, parts=2)
    made = reading(home, folder, model, most=5)
    script, fails = model.script, iter((True, False, True))

    async def flaky(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if f"'{TASK}" in str(messages) and next(fails, False):
            raise ModelHTTPError(503, "scripted", "overloaded")
        async for piece in script(messages, info):
            yield piece

    model.script = flaky
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE and replies(session) == 5
    await ended(made, session, home)


async def test_a_spending_limit_inside_a_delegation_stops_the_turn(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda response: 0.25)
    made = reading(home, folder, Reader(own=2, parts=20))
    made.settings = made.settings.but(max_session_cost=2.0)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.FAILED
    assert replies(session) == 8 and stopped(session).kind == "spending"
    assert session.state.delegations["self 1"].status == "stopped"
    assert "self 1 has not finished its task. Stopped: this session has cost $2.00" in report_in(session)
    await session.switcher.apply_settings(made.settings.but(max_session_cost=9.0))
    assert await session.retry() is Outcome.DONE
    await ended(made, session, home)


async def test_a_delegations_end_says_what_all_its_requests_cost(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda response: 0.25)
    model = Reader(own=0, parts=1)
    made = reading(home, folder, model)
    script, fails = model.script, iter((True, False))

    async def flaky(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if f"'{TASK}" in str(messages) and next(fails, False):
            yield "half of a rep"
            raise ModelHTTPError(503, "scripted", "overloaded")
        async for piece in script(messages, info):
            yield piece

    model.script = flaky
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    (end,) = facts(stored_events(home, session.id), DelegationEnd)
    assert end.usage["requests"] == 3 and end.cost == pytest.approx(0.75)
    bills = facts(stored_events(home, session.id), RequestBilled)
    assert [bill.agent for bill in bills] == ["", "self 1", "self 1", "self 1", ""]
    assert [bill.measured for bill in bills].count("estimate") == 1, "the one that broke off"
    await ended(made, session, home)


async def test_what_it_has_is_returned_after_a_kill_too(home: Path, folder: Path) -> None:
    made = reading(home, folder, Reader(own=1, parts=20), most=6)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.FAILED
    (end,) = [each.seq for each in stored_events(home, session.id) if isinstance(each.fact, DelegationEnd)]
    killed = await Session.resume(made, await session.fork(upto=end))
    assert report_in(killed) == report_in(session) and "line of part 4" in report_in(killed)
    await killed.close()
    await ended(made, session, home)
