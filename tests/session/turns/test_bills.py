"""Each request that was sent has one bill, whatever became of its reply, and all bills count."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall

from co_tui.events import RequestBilled, SessionRename
from co_tui.session.session import Session
from co_tui.session.turns import spending
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for, facts, says
from tests.support.waiting import until

PRICE = 0.4


@pytest.fixture(autouse=True)
def every_request_has_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda reply: PRICE)
    monkeypatch.setattr(spending, "READ_AGAIN_S", 0.0)


def stored_bills(session: Session) -> list[RequestBilled]:
    with session._environment.store.reading() as reading:
        return facts(list(reading.events(session.id)), RequestBilled)


@pytest.mark.parametrize("ends", ["broken", "stopped"])
@pytest.mark.parametrize(
    "said",
    [{0: DeltaThinkingPart(content="", signature="hidden")}, {0: DeltaToolCall("look", tool_call_id="c1")}],
    ids=["hidden thinking", "a call's name"],
)
async def test_a_reply_that_ends_after_something_invisible_is_paid(home: Path, said: Any, ends: str) -> None:
    attempts = iter([said, "whole"])
    began = asyncio.Event()

    async def script(*_: Any) -> AsyncIterator[Any]:
        yield (piece := next(attempts))
        if piece is said:
            began.set()
            if ends == "stopped":
                await asyncio.Event().wait()
            raise ModelHTTPError(503, "scripted")

    session = await Session.start(environment_for(home, ScriptedModel(script)), "scripted")
    running = asyncio.create_task(session.submit("go on"))
    await began.wait()
    if ends == "stopped":
        session.interrupt()
    assert await running is (Outcome.INTERRUPTED if ends == "stopped" else Outcome.DONE)
    bills = stored_bills(session)
    assert [bill.what for bill in bills] == ["turn"] * (1 if ends == "stopped" else 2)
    assert bills[0].measured == "estimate" and bills[0].input_tokens > 0
    assert session.state.total_cost == pytest.approx(PRICE * len(bills))
    await session.close()


@pytest.mark.parametrize("title", ["A fine title", "word " * 60, ""], ids=["used", "too long", "broken off"])
async def test_a_title_is_paid_whether_it_is_used_or_not(home: Path, title: str) -> None:
    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield title or "half a tit"
        if not title:
            raise ModelHTTPError(503, "scripted")

    environment = environment_for(
        home, ScriptedModel(says("ok")), ScriptedModel(script, name="titles"), summarization_model="titles"
    )
    environment.names_sessions = True
    session = await Session.start(environment, "scripted")
    assert await session.submit("go on") is Outcome.DONE
    await until(lambda: session.state.summary_cost and (title != "A fine title" or session.state.title == title))
    await session.close()
    bills = stored_bills(session)
    assert [(bill.what, bill.model) for bill in bills] == [("turn", "scripted"), ("title", "titles")]
    assert bool(facts(list(session.state.timeline), SessionRename)) is title.startswith("A fine")
    assert session.state.total_cost == pytest.approx(2 * PRICE)
    with environment.store.reading() as reading:
        row = reading.session(session.id)
    assert (row.cost, row.summary_cost) == pytest.approx((2 * PRICE, PRICE))


async def test_assumed_prices_count_in_both_limits(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda reply: None)
    monkeypatch.setattr("co_tui.session.bills.assumed_price", lambda reply, model: PRICE)
    for limit in ("max_session_cost", "max_daily_cost"):
        folder = home / limit
        session = await Session.start(environment_for(folder, ScriptedModel(says("ok")), **{limit: 0.7}), "scripted")
        outcomes = [await session.submit("go on") for _ in range(3)]
        assert outcomes == [Outcome.DONE, Outcome.DONE, Outcome.FAILED], limit
        assert session.state.assumed_cost == pytest.approx(2 * PRICE) and session.state.total_cost is None
        await session.close()


async def test_deleting_a_session_does_not_lower_what_today_cost(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("ok")))
    session = await Session.start(environment, "scripted")
    assert await session.submit("go on") is Outcome.DONE
    fork = await Session.resume(environment, await session.fork())
    assert await fork.submit("and on") is Outcome.DONE
    for each in (session, fork):
        await each.close()
    with environment.store.reading() as reading:
        for each in (session, fork):
            assert reading.spent_since(spending.start_of_today()) == pytest.approx(2 * PRICE)
            with environment.store.claim(each.id):
                environment.store.delete(each.id)
        assert reading.spent_since(spending.start_of_today()) == pytest.approx(2 * PRICE)
        assert reading.spent_since("9999") == 0.0
