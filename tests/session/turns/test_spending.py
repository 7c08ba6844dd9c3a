"""Limits on what a session and a day may cost."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo

from co_tui.events import SessionError, SpentToday, StreamDelta
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.turns import spending
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for, facts, says


@pytest.fixture(autouse=True)
def every_reply_costs_forty_cents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda response: 0.4)
    monkeypatch.setattr(spending, "READ_AGAIN_S", 0.0)


def troubles(session: Session) -> list[tuple[str, str]]:
    return [(error.kind, error.what) for error in facts(list(session.state.timeline), SessionError)]


async def test_a_turn_stops_at_the_sessions_limit_and_warns_before(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("ok")), max_session_cost=1.0)
    session = await Session.start(environment, "scripted")
    for _ in range(3):
        assert await session.submit("go on") is Outcome.DONE
    assert troubles(session) == [
        ("spending_close", "Close to the limit: this session has cost $0.80 of $1.00 (max_session_cost).")
    ]
    assert await session.submit("once more") is Outcome.FAILED
    kind, what = troubles(session)[-1]
    assert kind == "spending" and "this session has cost $1.20 of $1.00" in what and "/config max_session_cost" in what
    said = [message for message in session.state.transcript if "once more" in str(message)]
    assert said, "the prompt is kept"
    await session.switcher.apply_settings(environment.settings.but(max_session_cost=9.0))
    assert await session.submit("and now?") is Outcome.DONE
    await session.close()


async def test_the_days_limit_counts_all_sessions(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("ok")), max_daily_cost=0.5)
    first = await Session.start(environment, "scripted")
    assert await first.submit("one") is Outcome.DONE
    await first.close()
    listener = Listener()
    second = await Session.start(
        environment_for(home, ScriptedModel(says("ok")), max_daily_cost=0.5), "scripted", listener
    )
    assert await second.submit("two") is Outcome.DONE
    assert await second.submit("three") is Outcome.FAILED
    kinds = [kind for kind, _ in troubles(second)]
    assert (
        kinds == ["spending_close", "spending"]
        and "today's sessions have cost $0.80 of $0.50" in troubles(second)[1][1]
    )
    await second.close()
    announced = [event.fact.dollars async for event in listener if isinstance(event.fact, SpentToday)]
    assert announced == pytest.approx([0.4, 0.8])


async def test_a_model_without_a_price_is_said_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda response: None)
    session = await Session.start(environment_for(home, ScriptedModel(says("ok")), max_session_cost=1.0), "scripted")
    for _ in range(3):
        assert await session.submit("go on") is Outcome.DONE
    assert troubles(session) == [("unpriced", "max_session_cost does not count scripted: its price is unknown.")]
    await session.close()


async def test_without_limits_nothing_is_read_or_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending.Spending, "_spent_since", lambda *_: 1 / 0)
    session = await Session.start(environment_for(home, ScriptedModel(says("ok"))), "scripted")
    assert await session.submit("hi") is Outcome.DONE and troubles(session) == []
    await session.close()


async def never_ends(*_: Any) -> AsyncIterator[str]:
    yield "a long reply " * 50
    await asyncio.Event().wait()


async def test_stopped_replies_count_and_teach_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    priced: list[ModelResponse] = []
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda response: priced.append(response) or 0.4)
    session = await Session.start(environment_for(home, ScriptedModel(never_ends), max_session_cost=1.0), "scripted")
    for _ in range(3):
        listener = session.events()
        running = asyncio.create_task(session.submit("write much"))
        async for event in listener:
            if isinstance(event.fact, StreamDelta):
                break
        session.interrupt()
        assert await running is Outcome.INTERRUPTED
    usage = session.state.usage
    assert session.state.total_cost == pytest.approx(1.2) and usage is not None
    assert all(each.usage.input_tokens and each.usage.output_tokens > 50 for each in priced)
    assert not session.state.learnt, "an estimate is nothing to learn from"
    assert await session.submit("once more") is Outcome.FAILED and troubles(session)[-1][0] == "spending"
    await session.close()


@pytest.mark.parametrize(("said", "cost"), [("half of a reply", 0.8), ("", 0.4)])
async def test_a_reply_that_broke_off_counts_and_a_refusal_does_not(home: Path, said: str, cost: float) -> None:
    attempts = iter([said, None])

    async def breaks_once(*_: Any) -> AsyncIterator[str]:
        if (begun := next(attempts)) is None:
            yield "whole"
            return
        if begun:
            yield begun
        raise ModelHTTPError(503, "scripted")

    environment = environment_for(home, ScriptedModel(breaks_once))
    environment.first_backoff_s = 0.0
    session = await Session.start(environment, "scripted")
    assert await session.submit("go on") is Outcome.DONE
    assert session.state.total_cost == pytest.approx(cost)
    await session.close()


@pytest.mark.parametrize(
    ("said", "ends", "counted"),
    [
        ("half of a summary " * 20, "stopped", True),
        ("", "stopped", True),
        ("half of a summary " * 20, "broken", True),
        ("", "broken", False),
    ],
    ids=["stopped", "stopped before it began", "broken off", "refused"],
)
async def test_summaries_that_end_early_count_as_replies_do(
    home: Path, monkeypatch: pytest.MonkeyPatch, said: str, ends: str, counted: bool
) -> None:
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda response: 0.3)
    writing = asyncio.Event()

    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        if "working memory" not in (info.instructions or ""):
            yield "An answer about src/main.py. " * 20
            return
        if said:
            yield said
        writing.set()
        if ends == "broken":
            raise ModelHTTPError(401, "scripted")
        await asyncio.Event().wait()
        yield ""

    session = await Session.start(environment_for(home, ScriptedModel(script)), "scripted")
    for _ in range(3):
        assert await session.submit("What is in src/main.py?") is Outcome.DONE
    learnt = session.state.learnt
    running = asyncio.create_task(session.compact())
    await writing.wait()
    if ends == "stopped":
        session.interrupt()
    done = await running
    assert done.cancelled is (ends == "stopped")
    assert session.state.summary_cost == pytest.approx(0.3 if counted else 0.0)
    assert bool(done.usage.get("input_tokens", 0) >= 50) is counted
    assert bool(done.usage.get("output_tokens", 0) > 20) is bool(said)
    assert session.state.learnt == learnt, "an estimate is nothing to learn from"
    await session.close()


@pytest.mark.parametrize(("month", "day", "begun"), [(3, 29, "28T23:00"), (10, 25, "24T22:00")])
def test_today_begins_at_midnight_on_the_days_of_a_clock_change(
    monkeypatch: pytest.MonkeyPatch, month: int, day: int, begun: str
) -> None:
    class Noon(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2026, month, day, 12)

    monkeypatch.setattr(spending, "datetime", Noon)
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert spending.start_of_today().startswith(f"2026-{month:02}-{begun}")
    finally:
        monkeypatch.undo()
        time.tzset()
