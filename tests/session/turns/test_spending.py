"""Limits on what a session and a day may cost."""

from pathlib import Path

import pytest

from co_tui.events import SessionError, SpentToday
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.turns import spending
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for, facts, says


@pytest.fixture(autouse=True)
def every_reply_costs_forty_cents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.history.governed_history.price_of", lambda response: 0.4)
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
    monkeypatch.setattr("co_tui.session.history.governed_history.price_of", lambda response: None)
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
