"""Sessions on scripted models, without any network."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCalls, FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import FunctionToolset

from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.events import Event, Fact
from co_tui.paths import locate
from co_tui.session.environment import Environment
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import Settings
from co_tui.store.sqlite.store import SqliteStore

Script = Callable[[list[ModelMessage], AgentInfo], AsyncIterator[str | DeltaToolCalls]]


@dataclass
class ScriptedModel:
    """An model_handle whose words are a test's own."""

    script: Script
    name: str = "scripted"
    window: int | None = 10_000
    settings: ModelSettings = field(default_factory=ModelSettings)
    takes_tools: bool = True
    one_at_a_time: bool = False
    closed: bool = False

    @property
    def asked(self) -> RequestTarget:
        return RequestTarget(self.name)

    async def model(self) -> Model:
        return FunctionModel(stream_function=self.script, model_name=self.name)

    async def window_tokens(self) -> int | None:
        return self.window

    async def count_tokens(self, text: str) -> int | None:
        return None

    async def close(self) -> None:
        self.closed = True


def environment_for(
    home: Path, *scripts: ScriptedModel, tools: list[Callable[..., Any]] | None = None, **settings: Any
) -> Environment:
    """A environment in `home` whose models are the given ones."""
    by_name = {model_handle.name: model_handle for model_handle in scripts}

    async def open_model(name: str) -> ScriptedModel:
        if name not in by_name:
            raise ModelUnusable(f"Unknown model {name!r}.")
        return by_name[name]

    paths = locate({"CO_TUI_HOME": str(home)})
    return Environment(
        paths=paths,
        settings=Settings(**settings),
        store=SqliteStore(paths),
        open_model=open_model,
        workplace=LocalWorkplace(home),
        toolsets=[FunctionToolset(tools)] if tools else (),
        first_backoff_s=0.01,
    )


def says(*pieces: str, pause_s: float = 0.0) -> Script:
    """A model that always answers the same."""

    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        for piece in pieces:
            if pause_s:
                await asyncio.sleep(pause_s)
            yield piece

    return script


def facts(events: list[Event], kind: type[Fact]) -> list[Any]:
    return [event.fact for event in events if isinstance(event.fact, kind)]
