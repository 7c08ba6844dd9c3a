"""The heavy half of the program, loaded beside the screen: providers, the writer, sessions.

Everything imported inside the functions here takes a second or more; the first paint must not wait for it.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.session.approvals.questions import Questions
from co_tui.settings import Loaded
from co_tui.ui.background import start_awaited
from co_tui.ui.heavy_imports import IMPORT_LOCK, freeze_loaded
from co_tui.ui.launch import Launch

if TYPE_CHECKING:
    from co_tui.agent.mcp.servers import ServerReport
    from co_tui.agent.models.open_model import ModelHandle
    from co_tui.session.environment import Environment
    from co_tui.session.recorder import Listener
    from co_tui.session.session import Session


class Backend:
    """Opens sessions, once it is loaded."""

    def __init__(self, launch: Launch, questions: Questions) -> None:
        self.launch = launch
        self._questions = questions
        self.trouble = ""
        """What is not as the settings want it, though sessions work."""
        self._environment: Environment | None = None
        self._warm: tuple[str, asyncio.Task[ModelHandle]] | None = None
        self._open_model: Callable[[str], Awaitable[ModelHandle]] | None = None
        self.ready = False
        self.fetching: asyncio.Task[None] | None = None
        """Brings the embedded model; whoever wants to open that waits for it."""

    def load(self, model: str) -> None:
        """Import and open what a session needs. Runs in a thread. Raises `StoreError`."""
        # Collecting garbage while thousands of classes are made finds none and takes a tenth of the time.
        gc.disable()
        try:
            with IMPORT_LOCK:
                from co_tui.agent.models.open_model import config_for, open_model, preload
                from co_tui.session.compaction.telemetry import configure
                from co_tui.session.environment import Environment

                preload(model)
            launch = self.launch
            launch.store.writing()
            # By the settings of the moment: they change when the user trusts the folder.
            self._open_model = lambda name: open_model(
                name or self.launch.choice.model, config_for(self.launch.settings, launch.environ, launch.paths.models)
            )
            self._environment = Environment(
                paths=launch.paths,
                settings=launch.settings,
                store=launch.store,
                open_model=self._take_warm,
                cwd=launch.cwd,
                names_sessions=True,
                private=launch.private,
                questions=self._questions,
                environ=launch.environ,
                works_in_folder=True,
            )
            self.trouble = configure(launch.settings.telemetry)
        finally:
            freeze_loaded()
            gc.enable()
        # What was trusted, and where the user went meanwhile.
        self._environment.settings, self._environment.cwd = self.launch.settings, self.launch.cwd
        self.ready = True

    async def choose(self, model: str) -> None:
        """Take another model for the next new session; it is opened at once, to see that it can be."""
        model_handle = await self._take_warm(model)
        self._warm = (model, start_awaited(_already(model_handle)))
        self.prefer(model)

    def prefer(self, model: str) -> Launch:
        """Let that model answer in sessions started from now on."""
        self.launch = self.launch.with_model(model)
        return self.launch

    def govern(self, loaded: Loaded) -> Launch:
        """Take other settings for the sessions opened from now on."""
        self.launch = self.launch.but(loaded=loaded)
        if self._environment is not None:
            self._environment.settings = loaded.settings
        return self.launch

    async def renew(self, loaded: Loaded) -> Launch:
        """The same for settings under which somebody else may answer: what was opened before is closed."""
        await self._cool_down()
        self.govern(loaded)
        self.start_servers(self.launch.choice.model)
        return self.launch

    async def move(self, folder: Path) -> Launch:
        """Work in another folder from now on, under the settings that hold there."""
        self.launch = self.launch.in_folder(folder)
        if self._environment is not None:
            self._environment.cwd = folder
        return await self.renew(self.launch.loaded)

    def warm_up(self, model: str) -> None:
        """Reach for the model before the first prompt does, so that nobody waits for it twice."""
        if self._warm is None:
            self._warm = (model, start_awaited(self._open_and_touch(model)))

    def start_servers(self, model: str) -> None:
        """Those the settings name, beside the screen; the embedded model has no use for any."""
        settings = self.launch.settings
        if self._environment is not None and "mcp" in settings.tools and model != EMBEDDED:
            self._environment.mcp_servers.use(settings.mcp_servers, self.launch.cwd, self.launch.environ)

    def server_reports(self) -> "list[ServerReport]":
        return self._environment.mcp_servers.reports if self._environment is not None else []

    def restart_servers(self, model: str) -> None:
        """Those that failed."""
        if self._environment is not None:
            self._environment.mcp_servers.forget_failed()
            self.start_servers(model)

    async def start(self, listener: "Listener") -> "Session":
        from co_tui.session.session import Session

        assert self._environment is not None
        return await Session.start(self._environment, self.launch.choice.model, listener)

    async def resume(self, session_id: str, model: str, listener: "Listener") -> "Session":
        from co_tui.session.session import Session

        assert self._environment is not None
        return await Session.resume(self._environment, session_id, model, listener)

    async def fork(self, session_id: str, upto: int | None = None) -> str:
        """A copy of a stored session, as it is or as it was at a seq; returns its id."""
        from co_tui.session.forking import fork_stored

        assert self._environment is not None
        return await fork_stored(self._environment, session_id, upto)

    async def delete(self, session_id: str) -> None:
        store = self.launch.store
        with store.claim(session_id):
            await asyncio.to_thread(store.delete, session_id)

    async def rename(self, session_id: str, title: str) -> None:
        """Rename a session that is not open here. Raises `SessionBusy` when it is elsewhere."""
        from co_tui.events import SessionRename

        store = self.launch.store
        with store.claim(session_id):
            await asyncio.wrap_future(store.writing().append(session_id, [SessionRename(title=title)]))

    async def close(self) -> None:
        if self.fetching is not None:
            self.fetching.cancel()
            await asyncio.wait([self.fetching])
        await self._cool_down()
        if self._environment is not None:
            await self._environment.mcp_servers.close()
        await asyncio.to_thread(self.launch.store.close)

    async def _cool_down(self) -> None:
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
        """The same for a model that could not be reached before."""
        await self._cool_down()
        self.warm_up(model)

    async def _take_warm(self, name: str) -> "ModelHandle":
        if self.fetching is not None and name == EMBEDDED:
            await asyncio.wait([self.fetching])
            await self._cool_down()  # it was tried before there was anything to open
        warm, self._warm = self._warm, None
        if warm is not None:
            wanted, task = warm
            if wanted == name:
                return await task
            other = await asyncio.gather(task, return_exceptions=True)
            if not isinstance(other[0], BaseException):
                await other[0].close()
        assert self._open_model is not None
        return await self._open_model(name)


async def _already(model_handle: "ModelHandle") -> "ModelHandle":
    return model_handle
