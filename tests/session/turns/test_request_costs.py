"""A request costs what was added since the last one, however long the session is."""

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.measure.count import Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import policy_of
from co_tui.lab.engine import ReplayEngine
from tests.context.request.test_pipeline import LOADED
from tests.support.call_counts import CallCounts, counted_calls
from tests.support.long_run import also_in_a_long_run

PINNED = [1, 6]


def step(n: int) -> list[ModelMessage]:
    return [
        ModelResponse(parts=[TextPart(f"I read {n}."), ToolCallPart("read", {"path": f"{n}.py"}, f"c{n}")]),
        ModelRequest(parts=[ToolReturnPart("read", f"def function_{n}(): ...", f"c{n}")]),
    ]


def session(messages: int, *, one_turn: bool) -> list[ModelMessage]:
    """Steps of one turn, or turns of one step each, the last one not answered."""
    history: list[ModelMessage] = []
    while len(history) < messages:
        if not history or not one_turn:
            history.append(ModelRequest(parts=[UserPromptPart(f"Question {len(history)}?")]))
        history += step(len(history))
        if not one_turn:
            history.append(ModelResponse(parts=[TextPart("Done.")]))
    return history if one_turn else history[:-1]


async def cost_of_a_step(policy: str, history: list[ModelMessage], pinned: list[int]) -> CallCounts:
    window = Window(tokens=100_000_000, known=True)
    engine = ReplayEngine(policy_of(LOADED[policy]), window, meter=Meter(1.0, margin=1.0))
    for message in history:
        await engine.add(message, 1)
    if pinned:
        await engine.pin([history[index] for index in pinned])
    for n in (10_001, 10_002):
        await engine.request()
        for message in step(n):
            await engine.receive(message)
    with counted_calls() as counts:
        await engine._requests.next()
    return counts


@pytest.mark.parametrize(
    ("policy", "one_turn", "pinned"),
    also_in_a_long_run(
        [("balanced", True, PINNED), ("off", False, []), ("copilot", False, PINNED), ("claude-code", True, [])],
        [("balanced", False, []), ("off", True, PINNED), ("copilot", True, []), ("claude-code", False, PINNED)],
    ),
)
async def test_a_request_of_a_long_session_costs_no_more_calls(policy: str, one_turn: bool, pinned: list[int]) -> None:
    short = await cost_of_a_step(policy, session(60, one_turn=one_turn), pinned)
    long = await cost_of_a_step(policy, session(600, one_turn=one_turn), pinned)
    assert long.steps <= short.steps
