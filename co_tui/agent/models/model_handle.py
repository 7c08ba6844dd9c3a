"""What turns need of a model, and what opening one needs."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.lean_imports import without_unused_parts
from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.http import new_client
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.paths import Paths
from co_tui.settings import Settings


class ModelHandle(Protocol):
    """An opened model, with what a turn needs to know about it."""

    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> ModelSettings: ...
    @property
    def takes_tools(self) -> bool:
        """Whether it can call tools; final once `model` or `window_tokens` was awaited."""
        ...

    @property
    def one_at_a_time(self) -> bool:
        """Whether it serves one request at a time, so that a second one waits."""
        ...

    @property
    def asked(self) -> RequestTarget:
        """What to name in the sentence about a failure."""
        ...

    async def model(self) -> Model:
        """The model to send the next request to; may start a process first."""
        ...

    async def window_tokens(self) -> int | None:
        """The model's window, if known."""
        ...

    async def count_tokens(self, text: str) -> int | None:
        """The model's own token count of a text; None when its server does not count. Never raises."""
        ...

    async def close(self) -> None: ...


class ModelConfig(NamedTuple):
    """What opening a model needs from settings and environment."""

    environ: Mapping[str, str]
    fetched_models: Path
    base_url: str = ""
    context_window: int = 0
    request_timeout_s: float = 300.0
    keys: KeptKeys | None = None
    """Keys kept by `co-tui login`."""


def config_for(settings: Settings, environ: Mapping[str, str], paths: Paths) -> ModelConfig:
    """The model configuration in the settings."""
    return ModelConfig(
        environ=environ,
        fetched_models=paths.models,
        keys=KeptKeys(paths),
        base_url=settings.base_url,
        context_window=settings.context_window,
        request_timeout_s=settings.request_timeout_s,
    )


def request_settings(config: ModelConfig, *, caches: bool = True) -> ModelSettings:
    """The settings of every request; `caches` asks providers to cache prompts where they need to be asked."""
    # We retry ourselves, with an event for each attempt, so the provider's library must not.
    return ModelSettings(max_retries=0, timeout=config.request_timeout_s, cache=caches)


class Connected(NamedTuple):
    """A model and the HTTP client it uses."""

    model: Model
    client: httpx2.AsyncClient

    async def close(self) -> None:
        await self.client.aclose()


def connect_compatible(name: str, base_url: str, key: str, *, takes_images: bool = True) -> Connected:
    """Connect to a model on an OpenAI-compatible server."""
    with without_unused_parts():
        from co_tui.agent.wire.compatible import compatible_model

    client = new_client(base_url)
    model = compatible_model(name, base_url, key, client, takes_images=takes_images)
    return Connected(GuardedModel(model), client)
