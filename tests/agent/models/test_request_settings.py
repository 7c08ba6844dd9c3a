"""Request settings: thinking effort, and prompt caching where a provider has to be asked."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent

from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.agent.models.request_settings import ignores_effort, with_cache_key
from co_tui.events import UsageInfo
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support import provider_formats as formats
from tests.support.environments import facts
from tests.support.provider import Provider, Reply
from tests.support.provider_sessions import handle_for, session_with

pytestmark = pytest.mark.filterwarnings("ignore")

START = json.loads(json.dumps(formats.A_START))
START["message"]["usage"] |= {"cache_read_input_tokens": 900, "cache_creation_input_tokens": 20}
CLAUDE = Reply(raw=(formats.events(START, *formats.A_TEXT, *formats.A_END),))
GPT = Reply(raw=(formats.events(formats.R_START, *formats.R_TEXT, formats.R_END),))
GEMINI = Reply(raw=(formats.candidate("STOP"),))


async def test_anthropic_is_asked_to_cache_tools_instructions_and_the_conversation(
    home: Path, provider: Provider
) -> None:
    provider.default = CLAUDE
    async with session_with(home, provider, "anthropic") as session:
        assert await session.submit("hi") is Outcome.DONE
        assert await session.submit("again") is Outcome.DONE
        usage = facts(list(session.state.timeline), UsageInfo) or [session.state.usage]
    asked = provider.requests[-1]
    marked = {"type": "ephemeral"}
    assert asked["tools"][-1]["cache_control"].items() >= marked.items()
    assert asked["system"][-1]["cache_control"].items() >= marked.items()
    assert asked["cache_control"].items() >= marked.items(), "and it grows with the conversation"
    assert usage[-1].cached_tokens == 900


WORK = Reply(raw=(formats.responses_work("look", "call_1"),))


async def test_the_responses_api_stores_nothing_and_knows_the_session(home: Path, provider: Provider) -> None:
    provider.default, provider.summary, provider.script = GPT, GPT, [WORK]
    async with session_with(home, provider, "responses") as session:
        assert await session.submit("look") is Outcome.DONE
        assert await session.submit("again " * 900) is Outcome.DONE
        await session.compact()
        name, environment = session.id, session._environment
        await session.close()
        resumed = await Session.resume(environment, name)
        assert await resumed.submit("and now?") is Outcome.DONE
        await resumed.close()
    assert len(provider.requests) == 4 and provider.summary_requests
    for asked in (*provider.requests, *provider.summary_requests):
        assert asked["store"] is False and asked["prompt_cache_key"] == name
    for asked in provider.requests[1:3]:
        assert "reasoning.encrypted_content" in asked["include"]
        (thought,) = [item for item in asked["input"] if item.get("type") == "reasoning"]
        assert thought["encrypted_content"] == "ZW5j", "reasoning survives without being stored by the provider"


async def test_only_the_responses_api_gets_the_key_of_the_session(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="Hello.")
    async with session_with(home, provider, "chat") as session:
        assert await session.submit("hi") is Outcome.DONE
    assert not {"store", "prompt_cache_key"} & provider.requests[-1].keys()


async def test_what_is_set_for_a_request_wins(home: Path, provider: Provider) -> None:
    provider.default = GPT
    settings = {"openai_store": True, "openai_prompt_cache_key": "own"}
    model = handle_for("responses", provider)
    async with Agent(await model.model()).run_stream("hi", model_settings=with_cache_key(settings, "s1")) as reply:
        await reply.get_output()
    await model.close()
    assert (provider.requests[-1]["store"], provider.requests[-1]["prompt_cache_key"]) == (True, "own")


def asked_of_gpt(sent: dict[str, Any]) -> str:
    """A change of mind is in the conversation, so that what is cached stays."""
    changes = [item for item in sent["input"] if item.get("type") == "configuration_update"]
    return (changes or [sent])[-1]["reasoning"]["effort"]


async def test_a_server_that_only_speaks_like_openai_is_not_asked_to_cache(home: Path, provider: Provider) -> None:
    config = ModelConfig(environ={}, fetched_models=home, base_url=provider.url)
    model = await open_model("openai-chat:gpt-6-sol", config)
    try:
        async with Agent(await model.model(), instructions="Be brief.").run_stream(
            "hi", model_settings=model.settings
        ) as reply:
            await reply.get_output()
    finally:
        await model.close()
    assert "cache" not in json.dumps(provider.requests)


EFFORT: dict[str, tuple[Reply, Any]] = {
    "anthropic": (CLAUDE, lambda sent: sent["output_config"]["effort"]),
    "responses": (GPT, asked_of_gpt),
    "google": (GEMINI, lambda sent: sent["generationConfig"]["thinkingConfig"]["thinking_level"].lower()),
}


@pytest.mark.parametrize("name", EFFORT)
async def test_models_that_can_are_asked_to_think_as_much_as_set(home: Path, provider: Provider, name: str) -> None:
    provider.default, effort = EFFORT[name]
    async with session_with(home, provider, name, reasoning_effort="low") as session:
        assert await session.submit("hi") is Outcome.DONE
        assert effort(provider.requests[-1]) == "low"
        await session.switcher.apply_settings(session.settings.but(reasoning_effort="high"))
        assert await session.submit("harder") is Outcome.DONE
        assert effort(provider.requests[-1]) == "high", "from the next request on"


async def test_nothing_is_said_of_thinking_unless_it_is_set_or_to_a_model_that_cannot(
    home: Path, provider: Provider
) -> None:
    async with session_with(home, provider, "responses") as session:
        provider.default = GPT
        assert await session.submit("hi") is Outcome.DONE
        assert "effort" not in provider.requests[-1].get("reasoning", {})
    assert not ignores_effort("anthropic:claude-sonnet-5") and not ignores_effort("openai:gpt-6-sol")
    assert ignores_effort("embedded") and ignores_effort("gguf:a.gguf") and ignores_effort("openai:gpt-4o")
    assert ignores_effort("openai-chat:scripted") and ignores_effort("openai-chat:x@http://127.0.0.1:1/v1")
