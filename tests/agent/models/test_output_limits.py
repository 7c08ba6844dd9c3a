"""How long a reply may be: as long as the model can write, and as its window allows; a reply cut there is reported."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.events import SessionError
from co_tui.session.session import Session
from co_tui.session.turns.reply_limits import CALL_CUT
from co_tui.session.turns.turn import Outcome
from tests.support import provider_formats as formats
from tests.support.environments import environment_for, facts
from tests.support.provider import Provider, Reply
from tests.support.replies import DONE, call, chunk, sse

pytestmark = pytest.mark.filterwarnings("ignore")

CLAUDE = Reply(raw=(formats.events(formats.A_START, *formats.A_TEXT, *formats.A_END),))
LIMITS = {
    "claude-opus-4-1": 32_000,
    "claude-opus-4-0": 32_000,
    "claude-sonnet-4-0": 64_000,
    "claude-sonnet-4-20250514": 64_000,
    "claude-3-7-sonnet-latest": 64_000,
    "claude-3-5-haiku-latest": 8_192,
    "claude-3-haiku-20240307": 4_096,
    "claude-sonnet-4-5": 64_000,
    "claude-sonnet-5": 128_000,
}


@asynccontextmanager
async def session_with(
    home: Path, provider: Provider, model: str, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> AsyncIterator[Session]:
    calls: list[str] = []

    def write(text: str = "") -> str:
        calls.append(text)
        return "written"

    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url.removesuffix("/v1"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")
    environ = {"ANTHROPIC_API_KEY": "sk-none", "OPENAI_API_KEY": "sk-none"}
    config = ModelConfig(environ=environ, fetched_models=home, base_url=provider.url)
    environment = environment_for(home, tools=[write], **settings)
    environment.open_model = lambda name: open_model(name, config)
    session = await Session.start(environment, model)
    try:
        yield session
        assert not calls, "a call that is not whole does not run"
    finally:
        await session.close()
        environment.store.close()


@pytest.mark.parametrize(("name", "limit"), LIMITS.items())
async def test_a_reply_may_be_as_long_as_the_model_can_write(
    home: Path, provider: Provider, name: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = CLAUDE
    async with session_with(home, provider, f"anthropic:{name}", monkeypatch) as session:
        assert await session.submit("hi") is Outcome.DONE
    assert provider.requests[-1]["max_tokens"] == limit


async def test_input_and_reply_fit_the_window_together(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = CLAUDE
    settings = {"context_window": 60_000, "policy": "off"}
    async with session_with(home, provider, "anthropic:claude-opus-4-1", monkeypatch, **settings) as session:
        assert await session.submit("word " * 40_000) is Outcome.DONE
        usage = session.state.usage
    asked = provider.requests[-1]["max_tokens"]
    assert usage is not None and 1_024 <= asked < 20_000 and asked + 40_000 < 60_000


async def test_thinking_leaves_room_for_the_answer(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = CLAUDE
    for effort, at_least in (("low", 32_000), ("high", 32_000)):
        settings = {"reasoning_effort": effort}
        async with session_with(home, provider, "anthropic:claude-opus-4-1", monkeypatch, **settings) as session:
            assert await session.submit("hi") is Outcome.DONE
        sent = provider.requests[-1]
        assert sent["max_tokens"] >= at_least and sent["max_tokens"] > sent["thinking"]["budget_tokens"]


@pytest.mark.parametrize("arguments", ['{"text": "half of it', "", "{"])
async def test_a_call_cut_at_the_limit_is_not_run_and_is_reported_to_model_and_user(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    cut = sse(call("write", arguments), chunk({}, "length"), chunk({}, choices=[], usage=USAGE), DONE)
    provider.script = [Reply(raw=(cut,)), Reply(text="in parts, then")]
    async with session_with(home, provider, "openai-chat:scripted", monkeypatch) as session:
        assert await session.submit("write it") is Outcome.DONE
        (error,) = facts(list(session.state.timeline), SessionError)
    results = [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "tool"]
    assert len(results) == 1 and CALL_CUT in results[0]
    assert error.kind == "length" and error.what == (
        "scripted reached its output limit after 77 tokens; the reply is cut off. Its call of write was not run."
    )


async def test_a_text_cut_at_the_limit_is_reported_and_can_be_continued(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script = [Reply(raw=(sse(chunk({"content": "Half of"}), chunk({}, "length"), DONE),))]
    async with session_with(home, provider, "openai-chat:scripted", monkeypatch) as session:
        assert await session.submit("tell") is Outcome.DONE
        (error,) = facts(list(session.state.timeline), SessionError)
        events = [event.seq for event in session.state.timeline if isinstance(event.fact, SessionError)]
        assert "reached its output limit" in error.what and events[0] > session.state.transcript[-1].seq


async def test_a_limit_reached_before_any_word_blames_no_one(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    thought = chunk({"reasoning_content": "hm " * 20, "content": None})
    provider.default = Reply(raw=(sse(thought, chunk({}, "length"), DONE),))
    async with session_with(home, provider, "openai-chat:scripted", monkeypatch) as session:
        assert await session.submit("think") is Outcome.FAILED
        (error,) = facts(list(session.state.timeline), SessionError)
    assert error.kind == "length" and "before answering" in error.what and len(provider.requests) == 1


USAGE = json.loads('{"prompt_tokens": 10, "completion_tokens": 77, "total_tokens": 87}')
