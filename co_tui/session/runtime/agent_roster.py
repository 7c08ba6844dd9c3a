"""The agents a session can delegate to, and their models."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from co_tui.agent.delegates import Delegates, delegate_of
from co_tui.agent.models.model_families import model_named, unknown_family
from co_tui.agent.models.open_model import ModelHandle
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.context.measure.count import Window
from co_tui.events import SessionError
from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.paths import Paths
from co_tui.session.recorder import Recorder
from co_tui.session.turns.classify_failure import classify
from co_tui.settings import AgentFile, AgentFiles, Settings, agents_in_force

OpenModel = Callable[[str], Awaitable[ModelHandle]]
WindowOf = Callable[[ModelHandle], Awaitable[Window]]


class AgentRoster:
    """Agents from files, read at the start of each turn with the user's current trust; each model is opened once."""

    def __init__(self, paths: Paths, cwd: Path, settings: Settings, open_model: OpenModel, window: WindowOf) -> None:
        self._paths = paths
        self._cwd = cwd
        self._settings = settings
        self._open_model = open_model
        self._window = window
        self._files = AgentFiles()
        self._opened: dict[str, ModelHandle] = {}
        self._opening = asyncio.Lock()
        self._unknown_models: set[str] = set()
        """Agents whose model is not known here, each reported once."""

    def read(self, settings: Settings) -> Delegates:
        """The agents, and what these settings say about delegations."""
        self._settings = settings
        self.refresh()
        agents = [delegate_of(agent) for agent in self._files.agents]
        return Delegates(agents, settings.delegation_context, settings.delegation_results == "on")

    def find(self, name: str) -> AgentFile | None:
        """The agent of that name, as its file is now; None for none."""
        if name:
            self.refresh()
        return self.named(name)

    def refresh(self) -> None:
        """Read the files again."""
        self._files = agents_in_force(self._paths, self._cwd, self._settings)

    @property
    def names(self) -> list[str]:
        """Of the agents that the conversation can be handed to, as last read."""
        return [agent.name for agent in self._files.agents if agent.name != MAIN_AGENT]

    def named(self, name: str) -> AgentFile | None:
        """The agent of that name, as last read."""
        return next((agent for agent in self._files.agents if agent.name == name), None)

    def context_of(self, name: str) -> str:
        """What an agent sees according to its file; empty to use the policy's default."""
        agent = self.named(name)
        return agent.context if agent is not None else ""

    async def wanted(self, name: str, main: str, recorder: Recorder, agent: str = "") -> str:
        """The model that an agent's file names; a family such as `haiku` is one of the provider of `main`. Empty for
        the session's model, also if there is no such family, which is logged once."""
        file = self.named(name)
        written = file.model if file is not None else ""
        wanted = model_named(written, main)
        if written and not wanted and name not in self._unknown_models:
            self._unknown_models.add(name)
            what, instead = unknown_family(written, main), f"{name} uses {main} instead"
            await recorder.record(SessionError(what=what, kind="unusable", outcome=instead, agent=agent))
        return wanted

    async def own_model(
        self, name: str, present: str, recorder: Recorder, open_model: OpenModel | None = None, agent: str = ""
    ) -> tuple[ModelHandle, Window] | None:
        """The model that an agent's file names, with its window, unless it is the `present` one; None also if it cannot
        be used, which is logged. `open_model` if the caller closes it; `agent` is the delegation that needs it."""
        wanted = await self.wanted(name, recorder.state.main_model or present, recorder, agent)
        if wanted in ("", present):
            return None
        return await self.opened(wanted, recorder, f"{name} uses {present} instead", open_model, agent)

    async def opened(
        self, wanted: str, recorder: Recorder, otherwise: str, open_model: OpenModel | None = None, agent: str = ""
    ) -> tuple[ModelHandle, Window] | None:
        """A model with its window; None if it cannot be used, which is logged with what happens `otherwise`."""
        opened: ModelHandle | None = None
        try:
            opened = await (open_model or self.model)(wanted)
            return opened, await self._window(opened)
        except BaseException as error:
            if opened is not None and open_model is not None:
                await opened.close()
            if not isinstance(error, Exception):
                raise
            is_ours = isinstance(error, ModelUnusable)
            trouble = str(error) if is_ours else classify(error, RequestTarget(wanted))[0].sentence
        await recorder.record(SessionError(what=trouble, kind="unusable", outcome=otherwise, agent=agent))
        return None

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
