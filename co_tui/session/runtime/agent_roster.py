"""The agents a session can delegate to, and their models."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from co_tui.agent.delegates import Delegates, delegate_of
from co_tui.agent.models.open_model import ModelHandle
from co_tui.paths import Paths
from co_tui.settings import AgentFiles, Settings, agents_in_force


class AgentRoster:
    """Agents from files, read at the start of each turn with the user's current trust; each model is opened once."""

    def __init__(self, paths: Paths, cwd: Path, open_model: Callable[[str], Awaitable[ModelHandle]]) -> None:
        self._paths = paths
        self._cwd = cwd
        self._open_model = open_model
        self._files = AgentFiles()
        self._opened: dict[str, ModelHandle] = {}
        self._opening = asyncio.Lock()

    def read(self, settings: Settings) -> Delegates:
        """The agents, and what these settings say about delegations."""
        self._files = agents_in_force(self._paths, self._cwd)
        agents = [delegate_of(agent) for agent in self._files.agents]
        return Delegates(agents, settings.delegation_context, settings.delegation_results == "on")

    def model_of(self, name: str) -> str:
        """The model that an agent's file names; empty to use the session's."""
        return next((agent.own_model for agent in self._files.agents if agent.name == name), "")

    def context_of(self, name: str) -> str:
        """What an agent sees according to its file; empty to use the policy's default."""
        return next((agent.context for agent in self._files.agents if agent.name == name), "")

    async def model(self, name: str) -> ModelHandle:
        """Raises `ModelUnusable`."""
        async with self._opening:
            if name not in self._opened:
                self._opened[name] = await self._open_model(name)
            return self._opened[name]

    async def close(self) -> None:
        for model_handle in self._opened.values():
            await model_handle.close()
        self._opened.clear()
