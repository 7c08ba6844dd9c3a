"""What a turn needs to know about a model, and what opening one needs to know."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from co_tui.agent.wire.request_failures import Asked
from co_tui.settings import Settings


class ModelHandle(Protocol):
    """A model ready to be asked, with what a turn needs to know about it."""

    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> ModelSettings: ...
    @property
    def takes_tools(self) -> bool:
        """Whether it can call tools; known for sure once `model` or `window_tokens` has been awaited."""
        ...

    @property
    def one_seat(self) -> bool:
        """Whether it serves one request at a time: a second one waits for the first."""
        ...

    @property
    def asked(self) -> Asked:
        """Whom a failure is about."""
        ...

    async def model(self) -> Model:
        """The model to send the next request to; may start a process first."""
        ...

    async def window_tokens(self) -> int | None:
        """The model's window as far as anybody tells."""
        ...

    async def count_tokens(self, text: str) -> int | None:
        """The model's own count of a text; None when nobody offers to count. Never raises."""
        ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class ModelConfig:
    """What resolving needs from settings and environment."""

    environ: Mapping[str, str]
    fetched_models: Path
    base_url: str = ""
    context_window: int = 0
    request_timeout_s: float = 300.0


def config_for(settings: Settings, environ: Mapping[str, str], fetched_models: Path) -> ModelConfig:
    """What the settings say about reaching models."""
    return ModelConfig(
        environ=environ,
        fetched_models=fetched_models,
        base_url=settings.base_url,
        context_window=settings.context_window,
        request_timeout_s=settings.request_timeout_s,
    )


def request_settings(config: ModelConfig, *, caches: bool = True) -> ModelSettings:
    """What every request is sent with. `caches`: providers that cache prompts only when they are asked to are asked."""
    # Retries are ours: each is an event the user can see, so the provider's library makes none.
    return ModelSettings(max_retries=0, timeout=config.request_timeout_s, cache=caches)
