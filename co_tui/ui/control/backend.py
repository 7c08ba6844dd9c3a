"""The slow half of the program, loaded in a thread: providers, the store's writer, sessions.

Imports inside these functions take a second or more; the first paint must not wait for them.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events import SessionRename
from co_tui.session.approvals.questions import Questions
from co_tui.session.launch import Launch
from co_tui.settings import ABOVE_RESUMED, Loaded
from co_tui.ui.background import start_awaited
from co_tui.ui.heavy_imports import IMPORT_LOCK, freeze_loaded

if TYPE_CHECKING:
    from co_tui.agent.mcp.server_prompts import ServerPrompt
    from co_tui.agent.mcp.servers import ServerReport
    from co_tui.agent.models.open_model import ModelHandle
    from co_tui.exchange.intake.import_files import ImportTally
    from co_tui.session.environment import Environment
    from co_tui.session.recorder import Listener
    from co_tui.session.session import Session


class Backend:
    """Opens sessions, once it is loaded."""

    def __init__(self, launch: Launch, questions: Questions) -> None:
        self.launch = launch
        self._questions = questions
        self.trouble = ""
        """A problem with the settings that does not keep sessions from working."""
        self._environment: Environment | None = None
        self._warm: tuple[str, asyncio.Task[ModelHandle]] | None = None
        self._open_model: Callable[[str], Awaitable[ModelHandle]] | None = None
        self.ready = False
        self.fetching: asyncio.Task[None] | None = None
        """Downloads the embedded model; opening that model waits for it."""
        self.importing: asyncio.Task[ImportTally] | None = None
        """Imports the sessions of other programs."""

    def load(self, model: str) -> None:
        """Import and open what a session needs. Runs in a thread. Raises `StoreError`."""
        # Garbage collection while thousands of classes are created finds nothing and takes a tenth of the time.
        gc.disable()
        try:
            _import_engine(model)
            from co_tui.agent.models.open_model import config_for, open_model
            from co_tui.session.compaction.telemetry import configure
            from co_tui.session.environment import Environment

            launch = self.launch
            launch.store.writing()
            # Reads the present settings: they change when the user trusts the folder.
            self._open_model = lambda name: open_model(
                name, config_for(self.launch.settings, launch.environ, launch.paths)
            )
            self._environment = Environment(
                paths=launch.paths,
                settings=launch.settings,
                store=launch.store,
                open_model=self._take_warm,
                workplace=launch.workplace,
                names_sessions=True,
                private=launch.private,
                questions=self._questions,
                environ=launch.environ,
                works_in_folder=True,
                keeps_mode=launch.loaded.origins["mode"].source not in ABOVE_RESUMED,
            )
            self.trouble = configure(launch.settings.telemetry)
        finally:
            freeze_loaded()
            gc.enable()
        # Settings and folder may have changed since.
        self._environment.settings, self._environment.workplace = self.launch.settings, self.launch.workplace
        self.ready = True

    async def choose(self, model: str) -> None:
        """Use another model for the next new session; opens it at once to check that it works."""
        model_handle = await self._take_warm(model)
        self._warm = (model, start_awaited(_ready(model_handle)))
        self.prefer(model)

    def prefer(self, model: str) -> Launch:
        """Use this model for sessions started from now on."""
        self.launch = self.launch.with_model(model)
        return self.launch

    def use_settings(self, loaded: Loaded) -> Launch:
        """Use other settings for sessions opened from now on."""
        self.launch = self.launch.but(loaded=loaded)
        if self._environment is not None:
            self._environment.settings = loaded.settings
        return self.launch

    async def renew(self, loaded: Loaded) -> Launch:
        """The same for settings that may change the model: closes the model opened in advance."""
        await self._close_warm()
        self.use_settings(loaded)
        self.start_servers(self.launch.choice.model)
        return self.launch

    async def move(self, folder: Path) -> Launch:
        """Work in another folder from now on, with that folder's settings."""
        self.launch = self.launch.in_folder(folder)
        if self._environment is not None:
            self._environment.workplace = self.launch.workplace
        return await self.renew(self.launch.loaded)

    def warm_up(self, model: str) -> None:
        """Open the model in advance, so that the first prompt does not wait for it."""
        if self._warm is None:
            self._warm = (model, start_awaited(self._open_and_touch(model)))

    def start_servers(self, model: str) -> None:
        """Start the configured MCP servers in the background; the embedded model uses none."""
        settings = self.launch.settings
        if self._environment is not None and "mcp" in settings.tools and model != EMBEDDED:
            self._environment.mcp_servers.use(settings.mcp_servers, self.launch.cwd, self.launch.environ)

    def server_reports(self) -> "list[ServerReport]":
        return self._environment.mcp_servers.reports if self._environment is not None else []

    def server_prompts(self) -> "list[ServerPrompt]":
        return self._environment.mcp_servers.prompts if self._environment is not None else []

    async def list_resources(self) -> Mapping[str, str]:
        """The resources of running MCP servers, as a prompt names them, with their titles."""
        if self._environment is None:
            return {}
        return {each.name: each.title for each in await self._environment.mcp_servers.resources()}

    def restart_servers(self, model: str) -> None:
        """Restart the MCP servers that failed."""
        if self._environment is not None:
            self._environment.mcp_servers.forget_failed()
            self.start_servers(model)

    async def start(self, listener: "Listener") -> "Session":
        assert self._environment is not None
        return await _session_type().start(self._environment, self.launch.choice.model, listener)

    async def resume(self, session_id: str, model: str, listener: "Listener", *, take_over: bool = False) -> "Session":
        assert self._environment is not None
        return await _session_type().resume(self._environment, session_id, model, listener, take_over=take_over)

    async def fork(self, session_id: str, upto: int | None = None) -> str:
        """Copy a stored session, all of it or up to a seq; returns the copy's id."""
        from co_tui.session.forking import fork_stored

        assert self._environment is not None
        return await fork_stored(self._environment, session_id, upto)

    async def delete(self, session_id: str) -> None:
        from co_tui.session.claiming import claimed

        store = self.launch.store
        async with claimed(store, session_id):
            await asyncio.to_thread(store.delete, session_id)

    async def rename(self, session_id: str, title: str) -> None:
        """Rename a session that is not open here. Raises `SessionBusy` if it is open elsewhere."""
        from co_tui.session.claiming import claimed

        store = self.launch.store
        async with claimed(store, session_id):
            await asyncio.wrap_future(store.writing().append(session_id, [SessionRename(title=title)]))

    def supports_effort(self, model: str) -> bool:
        """Whether the model supports a reasoning effort; False until the engine is loaded."""
        if not self.ready:
            return False
        from co_tui.agent.models.request_settings import ignores_effort

        return not ignores_effort(model)

    async def close(self) -> None:
        running = [task for task in (self.fetching, self.importing) if task is not None]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await self._close_warm()
        if self._environment is not None:
            await self._environment.mcp_servers.close()
        await asyncio.to_thread(self.launch.store.close)

    async def _close_warm(self) -> None:
        warm, self._warm = self._warm, None
        if warm is not None:
            _, task = warm
            task.cancel()
            opened = (await asyncio.gather(task, return_exceptions=True))[0]
            if not isinstance(opened, BaseException):
                await opened.close()

    async def _open_and_touch(self, name: str) -> "ModelHandle":
        assert self._open_model is not None
        model_handle = await self._open_model(name)
        try:
            await model_handle.window_tokens()
        except BaseException:
            await model_handle.close()
            raise
        return model_handle

    async def warm_again(self, model: str) -> None:
        """Open a model in advance that could not be opened before."""
        await self._close_warm()
        self.warm_up(model)

    async def _take_warm(self, name: str) -> "ModelHandle":
        name = name or self.launch.choice.model
        if self.fetching is not None and name == EMBEDDED:
            await asyncio.wait([self.fetching])
            await self._close_warm()  # an earlier attempt found nothing to open
        warm, self._warm = self._warm, None
        if warm is not None:
            warm_name, task = warm
            if warm_name == name:
                return await task
            other = await asyncio.gather(task, return_exceptions=True)
            if not isinstance(other[0], BaseException):
                await other[0].close()
        assert self._open_model is not None
        return await self._open_model(name)


def _import_engine(model: str) -> None:
    from co_tui.agent.lean_imports import without_unused_parts

    with IMPORT_LOCK:
        with without_unused_parts():
            from co_tui.agent.models.price_list import keep_prices_of

            keep_prices_of(model)  # first, so that what is loaded next fills the memory it frees
            from co_tui.agent.models.open_model import preload

            for module in ("co_tui.session.environment", "co_tui.session.compaction.telemetry"):
                import_module(module)

        preload(model)


def _session_type() -> "type[Session]":
    from co_tui.agent.lean_imports import without_unused_parts

    with without_unused_parts():
        from co_tui.session.session import Session

    return Session


async def _ready(model_handle: "ModelHandle") -> "ModelHandle":
    return model_handle
