"""Sessions with each provider's own interface, spoken by the local provider."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic_ai.models import Model

from co_tui.agent.models.model_handle import Connected, ModelConfig, ModelHandle, request_settings
from co_tui.agent.models.open_model import ProviderModel
from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.http import new_client
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.session.session import Session
from tests.support import provider_formats as formats
from tests.support.bedrock import bedrock
from tests.support.environments import environment_for
from tests.support.provider import Provider

BUILD: dict[str, Callable[..., Model]] = {
    "chat": formats.chat,
    "responses": formats.responses,
    "anthropic": formats.anthropic,
    "google": formats.google,
}
ALL = {**BUILD, "bedrock": bedrock}
"""With those that have no HTTP client of ours."""


def handle_for(name: str, provider: Provider, **options: str) -> ModelHandle:
    client = new_client()
    model = ALL[name](provider.url.removesuffix("/v1"), client, **options)
    config = ModelConfig(environ={}, fetched_models=Path())
    connected = Connected(GuardedModel(model), client)
    return ProviderModel(name, request_settings(config), RequestTarget(name), connected, known_window_tokens=100_000)


@asynccontextmanager
async def session_with(
    home: Path, provider: Provider, first: str, tools: Sequence[Callable[..., Any]] = (), **settings: Any
) -> AsyncIterator[Session]:
    """It has the tool `look`, and the given ones."""

    def look() -> str:
        return "seen"

    async def opened(name: str) -> ModelHandle:
        return handle_for(name, provider)

    environment = environment_for(home, tools=[look, *tools], **settings)
    environment.open_model = opened
    session = await Session.start(environment, first)
    try:
        yield session
    finally:
        await session.close()
        environment.store.close()
