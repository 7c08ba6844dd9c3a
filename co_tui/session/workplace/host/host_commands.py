"""The commands that a session runs on another host: shows their output, stops them, lets none outlive the session."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from anyio.abc import Process
from pydantic_ai.workspaces import WorkspaceError

from co_tui.agent.permissions.protected_files import NOTHING, Protected
from co_tui.events.storable import storable_text
from co_tui.session.tools.command_watch import LONGEST_WAITED_CHARS, BackgroundCommand, CommandNews
from co_tui.session.tools.folder.folder_guard import CreatedProtected, FolderGuard, SetAside
from co_tui.session.tools.movable_command import MovableCommand
from co_tui.session.tools.running_commands import WATCH_S, RunningCommands, _Started
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.session.workplace.host.host_judge import AGAIN
from co_tui.session.workplace.host.link import SessionLink

LOOK_S: Final = 2.0


class HostGuard(FolderGuard):
    """As the guard of a folder here: the same code runs there."""

    def __init__(self, folder: str, link: SessionLink) -> None:
        self._remote_folder = Path(folder)
        self._link = link

    @property
    def folder(self) -> Path:
        return self._remote_folder

    async def begin(self, *, others_run: bool) -> tuple[Protected, CreatedProtected | None]:
        found = await asyncio.to_thread(self._link.ask, "guard_begin", others_run)
        read_only, pinned = (frozenset(map(str, found[name])) for name in ("read_only", "pinned"))
        return NOTHING._replace(read_only=read_only, pinned=pinned), self._created(found["created"])

    async def end(self) -> CreatedProtected | None:
        return self._created(await asyncio.to_thread(self._link.ask, "guard_end"))

    async def check(self) -> CreatedProtected | None:
        return self._created(await asyncio.to_thread(self._link.ask, "guard_check"))

    def is_protected(self, path: str) -> bool:
        return bool(self._link.ask("is_protected", path))

    def accept(self, path: str, digest: str | None = None) -> None:
        self._link.ask("accept", path, digest)

    def _created(self, found: Any) -> CreatedProtected | None:
        files = [
            SetAside(str(name), kept and Path(kept), restored=bool(restored)) for name, kept, restored in found or ()
        ]
        return CreatedProtected(self._remote_folder, tuple(files)) if files else None


class HostCommands(RunningCommands):
    """Looks at background commands through the connection; while that is lost, they are as they were."""

    def __init__(self, *given: Any, link: SessionLink) -> None:
        super().__init__(*given)
        self._link = link
        self._states: dict[str, BackgroundCommand] = {}

    def remote_guard(self, folder: str) -> HostGuard:
        guard = self._folder_guards.setdefault(Path(folder), HostGuard(folder, self._link))
        assert isinstance(guard, HostGuard)
        return guard

    @contextmanager
    def _noting(self, process: Process) -> Iterator[None]:
        """The program there ends what it runs."""
        yield

    async def output_folder(self) -> str:
        return str(await asyncio.to_thread(self._link.ask, "commands.prepare"))

    def begin(self, command_id: str, command: str, wait_for: str = "") -> None:
        self._started[command_id] = started = _Started(command, time.monotonic(), None)
        self._begun += 1
        self._states[command_id] = BackgroundCommand(command_id, command, 0.0, True, None, "")
        watching = self._look_until_end(command_id, started, wait_for[:LONGEST_WAITED_CHARS], CURRENT_AGENT.get())
        self._watches[command_id] = asyncio.create_task(watching, name=f"background command {command_id}")

    async def _look_until_end(self, command_id: str, started: _Started, waited: str, agent: str) -> None:
        with suppress(OSError):
            await asyncio.to_thread(self._link.ask, "commands.begin", command_id)
        while True:
            with suppress(OSError, LookupError, TypeError, ValueError):  # asked again when the connection is back
                said = await asyncio.to_thread(self._link.ask, "commands.now", command_id, waited)
                state = self._states[command_id] = self._seen_state(command_id, started, said)
                if waited and said["printed"]:
                    await self._tell(CommandNews(state, waited, agent=agent))
                    waited = ""
                if not state.running:
                    await self._tell(CommandNews(state, agent=agent))
                    return
            await asyncio.sleep(LOOK_S)

    def _seen_state(self, command_id: str, started: _Started, said: Any) -> BackgroundCommand:
        state = _state(command_id, started, said)
        return state._replace(output=self.without_keys(state.output.encode()).decode())

    def state(self, command_id: str) -> BackgroundCommand:
        return self._states[command_id]._replace(seconds=time.monotonic() - self._started[command_id].began)

    @property
    def movable(self) -> Sequence[MovableCommand]:
        """None: those that run there end with their call."""
        return ()

    async def end(self, command_id: str, *, by_user: bool = True) -> None:
        if command_id in self._started:
            self._ended_by_user |= {command_id} if by_user else set()
            with suppress(OSError):
                await asyncio.to_thread(self._link.ask, "commands.end", command_id)

    async def _log_after(self, command_id: str, log: str, at: int) -> tuple[bytes, int]:
        try:
            data, after = await asyncio.to_thread(self._link.ask, "commands.read", command_id, log, at)
            return data, after
        except HostUnreachable as lost:
            raise WorkspaceError(f"{lost} {AGAIN}") from lost

    async def _watch(self) -> None:
        while await asyncio.to_thread(self._has_processes):
            await asyncio.sleep(WATCH_S)
            with suppress(OSError):
                await self._check()

    def _has_processes(self) -> bool:
        try:
            return bool(self._link.ask("commands.have_processes"))
        except OSError:
            return False

    async def close(self) -> None:
        for watching in self._watches.values():
            watching.cancel()
        with suppress(OSError):
            await asyncio.to_thread(self._link.ask, "commands.end_all", again=bool(self._started))
        self._started.clear()
        with suppress(OSError):
            await super().close()


def _state(command_id: str, started: _Started, said: Any) -> BackgroundCommand:
    code, output = said["code"], storable_text(str(said["output"]))[-4_000:]
    seconds = time.monotonic() - started.began
    return BackgroundCommand(
        command_id, started.command, seconds, bool(said["running"]), code if isinstance(code, int) else None, output
    )
