"""A reply of empty pieces ends, by their number and by the time."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from co_tui.agent.wire import guarded_model
from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.model_errors import ReplyTooLong
from tests.support.waiting import PATIENCE_S


async def empty_pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[DeltaToolCalls]:
    """Endless, after a call's name."""
    yield {0: DeltaToolCall(name="look", json_args='{"a": ', tool_call_id="1")}
    while True:
        yield {0: DeltaToolCall(json_args="")}


@pytest.mark.parametrize(
    ("limit", "value", "why"),
    [
        ("MOST_EMPTY", 500, "longer than 500 empty pieces in a row"),
        ("MOST_EMPTY_S", 0.0, "longer than 0 minutes of empty pieces"),
    ],
)
async def test_endless_empty_pieces_end(monkeypatch: pytest.MonkeyPatch, limit: str, value: Any, why: str) -> None:
    monkeypatch.setattr(guarded_model, limit, value)
    agent = Agent(GuardedModel(FunctionModel(stream_function=empty_pieces)), retries=0)
    with pytest.raises(ReplyTooLong, match=why):
        async with agent.run_stream("go", model_settings={"timeout": PATIENCE_S}) as run:
            async for _ in run.stream_responses():
                pass
