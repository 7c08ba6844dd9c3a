"""The gauge names the mark of the policy in force, and forecasts from what came since the last rewrite."""

from pathlib import Path

import pytest

from co_tui.context.marks import marks
from co_tui.context.policy import policy_of
from co_tui.events import UsageInfo
from co_tui.session.session import Session
from co_tui.session.state.context_report import context_report
from co_tui.ui.widgets.gauge_reading import GaugeReading
from tests.context.test_request import LOADED
from tests.support.environments import ScriptedModel, environment_for, says
from tests.support.here import Here
from tests.support.provider import Provider
from tests.support.stores import listed
from tests.support.talks import LONG, talk, talking

LIMIT = 100_000


def usage(tokens: int, messages: int = 10) -> UsageInfo:
    return UsageInfo(
        token_limit=LIMIT, current_tokens=tokens, messages_count=messages,
        system_tokens=0, conversation_tokens=tokens, tool_definition_tokens=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "outlook"),
    [
        ("balanced", "compacts at 80 %, ≈ 25 turns"),
        ("copilot", "compacts at 80 %, ≈ 25 turns"),
        ("inkeep", "compacts at 50 %, ≈ 10 turns"),
        ("co-cli", "compacts over 40 messages, ≈ 7 turns"),
        ("cowagent", "compacts over 20 turns, ≈ 4 turns"),
        ("off", "never compacts"),
    ],
)
def test_each_policy_has_its_own_mark(policy: str, outlook: str) -> None:
    reading = GaugeReading(
        usage(20_000, messages=12),
        tokens_per_turn=2_400,
        messages_per_turn=4,
        turns=16,
        marks=marks(policy_of(LOADED[policy]), LIMIT),
    )
    if policy == "inkeep":
        reading = reading._replace(tokens_per_turn=3_000)
    assert reading.outlook == outlook


def test_the_nearest_mark_is_named() -> None:
    cowagent = policy_of(LOADED["cowagent"])
    reading = GaugeReading(usage(49_000), tokens_per_turn=1_000, turns=3, marks=marks(cowagent, LIMIT))
    assert reading.outlook == "compacts at 50 %, ≈ 1 turns"
    small = marks(cowagent, 20_000)
    assert small.share == 1.0, "a budget beyond the window is the window"


async def test_the_pace_does_not_reach_across_a_rewrite(home: Path, provider: Provider) -> None:
    provider.default, provider.window = LONG, 100_000
    async with talking(home, provider) as session:
        await talk(session, 4)
        pace = session.state.tokens_per_turn
        for rewrite in (session.compact, session.undo, lambda: session.rewind(3), session.clear):
            await rewrite()
            assert session.state.tokens_per_turn == 0
            await talk(session, 3)
            assert session.state.tokens_per_turn == pytest.approx(pace, rel=0.25)
            assert session.state.messages_per_turn == 2


async def test_one_figure_of_what_a_session_cost(home: Path) -> None:
    priced = ScriptedModel(says("The function in src/module.py returns early, as the tests say."), name="gpt-4o")
    environment = environment_for(home, priced)
    session = await Session.start(environment, "gpt-4o")
    for n in range(3):
        await session.submit(f"Question {n} about src/module.py and the function? " + "more words " * 100)
    await session.compact()
    state = session.state
    assert state.cost > 0 and state.summary_cost > 0 and state.total_cost == state.cost + state.summary_cost
    figures = context_report(state)
    (row,) = listed(home)
    assert figures["cost"] == pytest.approx(row.known_cost, abs=1e-6)
    assert figures["summary_cost"] == pytest.approx(state.summary_cost, abs=1e-6)
    await session.close()
    environment.store.close()


def test_what_has_no_price_is_unknown_everywhere(served_here: Here) -> None:
    served_here("run", "-p", "hi")
    (row,) = served_here("sessions", "--json").objects
    (figures,) = served_here("context", row["id"], "--json").objects
    assert row["cost"] is None and figures["cost"] is None
    assert "unknown" in served_here("sessions").out and "cost unknown" in served_here("context", row["id"]).out


@pytest.mark.parametrize(
    ("tokens", "words"),
    [(96_000, "past 95 %: nearly full"), (100_100, "full"), (108_000, "8 % over: the oldest are left out")],
)
def test_more_than_full_is_not_nearly_full(tokens: int, words: str) -> None:
    assert GaugeReading(usage(tokens)).outlook == words
