"""The same door for every provider's own way of streaming: whole, or cut off."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import PartEndEvent
from pydantic_ai.models import Model
from pydantic_ai.models.function import FunctionModel

from co_tui.agent.errors import BadReply, ReplyCutOff
from co_tui.agent.failures import Asked, read_failure
from co_tui.agent.guarded import GuardedModel
from co_tui.agent.wire import new_client
from tests.support.provider import Provider, Reply

pytestmark = pytest.mark.filterwarnings("ignore")


def anthropic(url: str, client: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    sdk = AsyncAnthropic(base_url=url, api_key="none", http_client=client, max_retries=0)
    return AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(anthropic_client=sdk))


def responses(url: str, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=url, api_key="none", http_client=client)
    return OpenAIResponsesModel("gpt-6", provider=provider)


def google(url: str, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel("gemini-flash-latest", provider=GoogleProvider(api_key="none", base_url=url, http_client=client))


def events(*told: dict[str, Any]) -> bytes:
    """As Anthropic and OpenAI's newer interface stream: each event under its name."""
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in told)


A_START = {
    "type": "message_start",
    "message": {
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1},
    },
}  # fmt: skip
A_TEXT = (
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello there."}},
)
A_END = (
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 3},
    },
    {"type": "message_stop"},
)
A_ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

R_BASE = {
    "id": "r1", "object": "response", "created_at": 1_700_000_000, "model": "gpt-6", "output": [], "tools": [],
    "parallel_tool_calls": True, "tool_choice": "auto",
}  # fmt: skip
R_PLACE = {"item_id": "i1", "output_index": 0, "content_index": 0}
R_ITEM = {"id": "i1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
R_START = {"type": "response.created", "sequence_number": 0, "response": {**R_BASE, "status": "in_progress"}}
R_TEXT = (
    {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": R_ITEM},
    {"type": "response.content_part.added", "sequence_number": 2, **R_PLACE,
     "part": {"type": "output_text", "text": "", "annotations": []}},
    {"type": "response.output_text.delta", "sequence_number": 3, **R_PLACE, "delta": "Hello there.", "logprobs": []},
)  # fmt: skip
R_END = {"type": "response.completed", "sequence_number": 9, "response": {**R_BASE, "status": "completed"}}
R_ERROR = {"type": "error", "sequence_number": 9, "code": "server_error", "message": "it crashed", "param": None}


def candidate(finish: str | None) -> bytes:
    part: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": "Hello there."}]}, "index": 0}
    if finish:
        part["finishReason"] = finish
    return f"data: {json.dumps({'candidates': [part], 'modelVersion': 'gemini-flash-latest'})}\n\n".encode()


WHOLE = {
    "anthropic": (anthropic, events(A_START, *A_TEXT, *A_END)),
    "responses": (responses, events(R_START, *R_TEXT, R_END)),
    "google": (google, candidate("STOP")),
}
BROKEN = {
    "anthropic, no end": (anthropic, events(A_START, *A_TEXT)),
    "anthropic, an error": (anthropic, events(A_START, *A_TEXT, A_ERROR)),
    "anthropic, odd": (anthropic, events(A_START, {**A_TEXT[0], "content_block": 5})),
    "responses, no end": (responses, events(R_START, *R_TEXT)),
    "responses, an error": (responses, events(R_START, *R_TEXT, R_ERROR)),
    "google, no end": (google, candidate(None)),
    "google, an error": (google, candidate(None) + b'data: {"error": {"code": 500, "message": "it crashed"}}\n\n'),
    "google, odd": (google, b'data: {"candidates": 5}\n\n'),
}


async def asked(provider: Provider, build: Any, raw: bytes) -> str:
    provider.default = Reply(raw=(raw,))
    async with new_client() as client:
        return await said_by(build(provider.url.removesuffix("/v1"), client))


async def said_by(model: Model) -> str:
    agent = Agent(GuardedModel(model), retries=0)
    async with agent.run_stream_events("hi") as told:
        return "".join([event.part.content async for event in told if isinstance(event, PartEndEvent)])


@pytest.mark.parametrize("name", WHOLE)
async def test_a_whole_reply_is_one_with_every_provider(name: str, provider: Provider) -> None:
    assert await asked(provider, *WHOLE[name]) == "Hello there."


@pytest.mark.parametrize("name", BROKEN)
async def test_a_reply_cut_off_or_odd_is_a_failure_with_every_provider(name: str, provider: Provider) -> None:
    with pytest.raises(Exception) as raised:
        await asked(provider, *BROKEN[name])
    failure = read_failure(raised.value, Asked(name))
    assert failure.kind not in ("unexpected", "rejected") and name in failure.sentence, (raised.value, failure)
    if "no end" in name:
        assert isinstance(raised.value, ReplyCutOff) and failure.retryable
    if "odd" in name:
        assert isinstance(raised.value, BadReply)


async def test_a_model_that_comes_from_no_server_needs_no_end() -> None:
    async def script(messages: Any, info: Any) -> AsyncIterator[str]:
        yield "Hello."

    assert await said_by(FunctionModel(stream_function=script)) == "Hello."
