"""Calls of one reply with the same id get ids of their own, in what streams and in the whole reply."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, PartStartEvent, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from co_tui.agent.wire.call_ids import with_own_call_ids
from co_tui.agent.wire.guarded_model import GuardedModel


@pytest.mark.parametrize(
    ("given", "own"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a"], ["a", "a-2"]),
        (["a", "a", "a", "b"], ["a", "a-2", "a-3", "b"]),
        (["a-2", "a", "a"], ["a-2", "a", "a-3"]),
    ],
)
def test_the_first_keeps_its_id(given: list[str], own: list[str]) -> None:
    reply = ModelResponse(parts=[ToolCallPart("look", "{}", each) for each in given])
    changed = with_own_call_ids(reply)
    assert [part.tool_call_id for part in changed.tool_calls] == own
    assert changed is reply or given != own


async def test_what_streams_has_the_ids_of_the_whole_reply_and_each_call_its_result() -> None:
    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if len(messages) > 1:
            yield "done"
        else:
            for n in range(3):
                yield {n: DeltaToolCall("look", f'{{"at": "place {n}"}}', tool_call_id="same")}

    streamed: list[str] = []

    async def handler(_: Any, events: Any) -> None:
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart):
                streamed.append(event.part.tool_call_id)

    def look(at: str) -> str:
        return f"{at} was seen"

    agent = Agent(GuardedModel(FunctionModel(stream_function=script)), tools=[look])
    run = await agent.run("look", event_stream_handler=handler)
    (reply,) = [message for message in run.all_messages() if isinstance(message, ModelResponse) and message.tool_calls]
    assert [call.tool_call_id for call in reply.tool_calls] == streamed == ["same", "same-2", "same-3"]
    results = {part.tool_call_id: part.content for part in run.all_messages()[2].parts}
    assert results == {"same": "place 0 was seen", "same-2": "place 1 was seen", "same-3": "place 2 was seen"}
