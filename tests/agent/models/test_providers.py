"""The same door for every provider's own way of streaming: whole, or cut off."""

import gzip
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import PartEndEvent
from pydantic_ai.models import Model
from pydantic_ai.models.function import FunctionModel

from co_tui.agent.models.open_model import ModelConfig, _provider, open_model
from co_tui.agent.wire import http
from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.http import new_client
from co_tui.agent.wire.model_errors import BadReply, KeyMissing, ReplyCutOff, ReplyTooLong
from co_tui.agent.wire.request_failures import RequestTarget, read_failure
from tests.support.provider import Provider, Reply
from tests.support.provider_formats import (
    A_END,
    A_ERROR,
    A_START,
    A_TEXT,
    R_END,
    R_ERROR,
    R_START,
    R_TEXT,
    anthropic,
    candidate,
    events,
    google,
    responses,
)

pytestmark = pytest.mark.filterwarnings("ignore")


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
    async with agent.run_stream_events("hi") as stream:
        return "".join([event.part.content async for event in stream if isinstance(event, PartEndEvent)])


@pytest.mark.parametrize("name", WHOLE)
async def test_a_whole_reply_is_one_with_every_provider(name: str, provider: Provider) -> None:
    assert await asked(provider, *WHOLE[name]) == "Hello there."


@pytest.mark.parametrize("name", BROKEN)
async def test_a_reply_cut_off_or_odd_is_a_failure_with_every_provider(name: str, provider: Provider) -> None:
    with pytest.raises(Exception) as raised:
        await asked(provider, *BROKEN[name])
    failure = read_failure(raised.value, RequestTarget(name))
    assert failure.kind not in ("unexpected", "rejected") and name in failure.sentence, (raised.value, failure)
    if "no end" in name:
        assert isinstance(raised.value, ReplyCutOff) and failure.retryable
    if "odd" in name:
        assert isinstance(raised.value, BadReply)


async def test_a_model_that_comes_from_no_server_needs_no_end() -> None:
    async def script(messages: Any, info: Any) -> AsyncIterator[str]:
        yield "Hello."

    assert await said_by(FunctionModel(stream_function=script)) == "Hello."


@pytest.mark.parametrize("name", ["openai-chat:any", "openai-responses:any"])
async def test_what_was_said_is_not_looked_through_before_it_goes_to_openai(
    name: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would block the app for a third of a second per thousand messages."""
    from openai.resources.chat.completions import completions
    from openai.resources.responses import responses

    looked_through = []
    for resource in (completions, responses):
        monkeypatch.setattr(resource, "async_maybe_transform", _recorded(looked_through))
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    provider.default = Reply(text="Hello.") if "chat" in name else Reply(raw=(events(R_START, *R_TEXT, R_END),))
    model = await open_model(name, ModelConfig(environ={"OPENAI_API_KEY": "sk-none"}, fetched_models=Path()))
    async with Agent(await model.model(), retries=0, model_settings=model.settings).run_stream_events("hi") as stream:
        assert [event async for event in stream]
    await model.close()
    sent = provider.requests[-1]
    assert json.dumps(sent.get("messages") or sent.get("input")).count("hi") == 1
    assert looked_through and all(not (body.get("messages") or body.get("input")) for body in looked_through)


def _recorded(bodies: list[Any]) -> Any:
    from openai._utils import async_maybe_transform

    async def transform(body: Any, kind: Any) -> Any:
        bodies.append(body)
        return await async_maybe_transform(body, kind)

    return transform


async def test_a_model_of_the_responses_api_takes_the_key_of_openai(tmp_path: Path) -> None:
    model = "openai-responses:gpt-5"
    with pytest.raises(KeyMissing, match="co-tui login openai"):
        await open_model(model, ModelConfig(environ={}, fetched_models=tmp_path))
    opened = await open_model(model, ModelConfig(environ={"OPENAI_API_KEY": "sk-none"}, fetched_models=tmp_path))
    asking = opened.connected.model.wrapped.client
    assert (asking.api_key, opened.asked.key_source) == ("sk-none", "OPENAI_API_KEY")
    await opened.close()


async def test_groq_gets_the_kind_of_client_that_its_library_takes(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its replies have the same limit as others."""
    import httpx

    library = ModuleType("groq")
    library.AsyncGroq = lambda **given: SimpleNamespace(given=given)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "groq", library)
    monkeypatch.delitem(sys.modules, "pydantic_ai.providers.groq", raising=False)
    clients: list[httpx.AsyncClient] = []
    made = _provider("groq", "gsk-none", clients)
    monkeypatch.delitem(sys.modules, "pydantic_ai.providers.groq")
    [client] = clients
    assert made.client.given["http_client"] is client and isinstance(client, httpx.AsyncClient)
    monkeypatch.setattr(http, "MOST_REPLY_BYTES", 1_000)
    url, body = f"{provider.url}/chat/completions", {"model": "m", "messages": [], "stream": True}
    async with client:
        provider.default = Reply(raw=(b"short",))
        assert (await client.post(url, json=body)).text == "short"
        provider.default = Reply(raw=(gzip.compress(b"long" * 1_000),), headers={"Content-Encoding": "gzip"})
        with pytest.raises(ReplyTooLong):
            await client.post(url, json=body)
