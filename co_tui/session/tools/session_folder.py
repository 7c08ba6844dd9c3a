"""The folder in which a session's tools work, and where its commands run."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

import anyio.abc
from pydantic_ai.capabilities import LocalWorkspace
from pydantic_ai.tools import RunContext
from pydantic_ai.workspaces import (
    CommandResult,
    FileEntry,
    LocalWorkspaceBackend,
    ReadOnlyWorkspace,
    Workspace,
    WorkspaceBackend,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceRef,
    WorkspaceUnavailableError,
)
from pydantic_ai_harness.bubblewrap_sandbox import BubblewrapWorkspace

from co_tui.agent.permissions.protected_files import Protected, mounts
from co_tui.agent.sandbox import HIDE_PROCESSES, Sandbox, can_hide_processes, told_unusable
from co_tui.session.to_the_end import to_the_end
from co_tui.session.tools.folder_guard import CreatedProtected
from co_tui.session.tools.running_commands import ENDS_WITH_CALL, RunningCommands

COMMAND_ENVIRONMENT: Final = {
    "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
}  # fmt: skip
"""Nobody is there to page through anything, or to type a password; and git, asked to read, writes nothing."""


_PROTECTED: ContextVar[Protected | None] = ContextVar("what the command that starts must not change", default=None)
_ALLOWED: ContextVar[bool] = ContextVar("whether the user allowed this change of a protected name", default=False)


class SessionFolder(LocalWorkspace[Any]):
    """The folder of this session, whatever folder an earlier reply of the conversation was given in."""

    def __init__(self, sandbox: Sandbox, commands: RunningCommands, *, read_only: bool = False) -> None:
        super().__init__(sandbox.folder, read_only=read_only, env=COMMAND_ENVIRONMENT)
        self._sandbox = sandbox
        self._commands = commands

    def get_workspace(self, ctx: RunContext[Any], *, ref: WorkspaceRef | None) -> WorkspaceBackend | None:
        here = Workspace(_Followed(self.working_dir, self._commands))
        if self.read_only:
            return ReadOnlyWorkspace(here)
        return _Sandboxed(here, self._sandbox, self._commands) if self._sandbox else here


class _Followed(LocalWorkspaceBackend):
    """Each command is followed while it runs."""

    def __init__(self, folder: str | Path, commands: RunningCommands) -> None:
        super().__init__(folder, env={**COMMAND_ENVIRONMENT, **commands.environment})
        self._commands = commands

    async def _wait_and_collect_output(
        self,
        process: anyio.abc.Process,
        stdout_buffer: bytearray,
        stderr_buffer: bytearray,
        absolute_deadline: float | None,
    ) -> int:
        with self._commands.following(process.pid, stdout_buffer, stderr_buffer):
            return await super()._wait_and_collect_output(process, stdout_buffer, stderr_buffer, absolute_deadline)


class _Sandboxed(BubblewrapWorkspace):
    """Commands run, and files are changed, in the sandbox or not at all. What lies in the folder is read past it, which
    is quicker; what a command may have put a link to is not."""

    def __init__(self, here: Workspace, sandbox: Sandbox, commands: RunningCommands) -> None:
        super().__init__(here, network=sandbox.has_network, bwrap_args=sandbox.arguments(commands.folder))
        self._kind = sandbox.kind
        self._commands = commands
        self._guard = commands.folder_guard(sandbox.folder, sandbox.set_aside)

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 (the name is the workspace's)
    ) -> CommandResult:
        try:
            async with self._protected():
                return await super().run(command, shell=shell, env=env, timeout=timeout)
        except WorkspaceUnavailableError as error:
            if not await self.wrapped.exists("."):
                raise  # the folder itself is gone
            # Not the end of the turn: the model, and who reads along, are told.
            raise WorkspaceError(told_unusable(self._kind, str(error))) from error

    @asynccontextmanager
    async def _protected(self) -> AsyncIterator[None]:
        """While this holds, a command cannot change what is there under protected names, nor leave more of it."""
        if _ALLOWED.get():
            yield
            return
        found, created = await self._guard.begin(others_run=self._commands.some_run_on)
        token = _PROTECTED.set(found)
        try:
            yield
        finally:
            _PROTECTED.reset(token)
            if not ENDS_WITH_CALL.get():
                self._commands.watch()
            await to_the_end(self._look_after(created))

    async def _look_after(self, created: CreatedProtected | None) -> None:
        await self._commands.found(created)
        await self._commands.found(await self._guard.end())

    async def _sandbox(self) -> list[str]:
        program, *arguments = await super()._sandbox()
        hidden = [HIDE_PROCESSES] if ENDS_WITH_CALL.get() and await can_hide_processes() else []
        return [program, *hidden, *arguments]

    async def _login_path_mounts(self, working_dir: str) -> tuple[str, ...]:
        others = await super()._login_path_mounts(working_dir)
        found = _PROTECTED.get()
        return mounts(found, self._guard.folder, others) if found is not None else others

    async def write_bytes(self, path: str, data: bytes) -> None:
        with self._allowing(path):
            await super().write_bytes(path, data)

    async def make_dir(self, path: str) -> None:
        with self._allowing(path):
            await super().make_dir(path)

    async def remove(self, path: str) -> None:
        with self._allowing(path):
            await super().remove(path)

    @contextmanager
    def _allowing(self, path: str) -> Iterator[None]:
        """A file tool asks before it changes a protected name: what it was allowed is done. Any other change is made
        with those protected, in case a command has put a link to one of them there."""
        if not self._guard.is_protected(path):
            yield
            return
        self._guard.accept(path)
        token = _ALLOWED.set(True)
        try:
            yield
        finally:
            _ALLOWED.reset(token)

    async def read_bytes(self, path: str) -> bytes:
        folder = await self.working_dir()
        content = await asyncio.to_thread(_read_inside, await self.resolve(path), folder)
        return content if content is not None else await super().read_bytes(path)

    async def stat(self, path: str) -> FileEntry:
        return await self.wrapped.stat(path)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        return await self.wrapped.list_dir(path)

    async def exists(self, path: str) -> bool:
        return await self.wrapped.exists(path)

    async def realpath(self, path: str) -> str:
        return await self.wrapped.realpath(path)


def _read_inside(path: str, folder: str) -> bytes | None:
    """The content of a file that lies in the folder; None for one elsewhere, whatever the path says meanwhile."""
    with suppress(OSError), open(path, "rb", opener=_without_waiting) as file:
        real = Path(f"/proc/self/fd/{file.fileno()}").readlink()  # of what was opened, not of what stands there now
        if real.is_relative_to(folder) and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read()
    return None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe has no writer
