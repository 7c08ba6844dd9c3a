"""The folder on another host in which a session's tools and commands work, and its sandbox."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from anyio.abc import Process
from pydantic_ai.workspaces import (
    CommandResult,
    ReadOnlyWorkspace,
    SupportsCommands,
    Workspace,
    WorkspaceBackend,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceOutputLimitError,
    WorkspaceRef,
    WorkspaceTimeoutError,
)
from pydantic_ai.workspaces.protocol import validate_timeout
from pydantic_ai_harness.bubblewrap_sandbox import BubblewrapWorkspace

from co_tui.agent.permissions.sandbox import unusable_sandbox_text
from co_tui.inert import one_line
from co_tui.session.tools.folder.folder_guard import FolderGuard
from co_tui.session.tools.folder.session_folder import COMMAND_ENVIRONMENT, SandboxedFolder, SessionFolder
from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.session.workplace.host.host_commands import HostCommands
from co_tui.session.workplace.host.host_files import HostFiles
from co_tui.session.workplace.host.host_judge import AGAIN
from co_tui.session.workplace.host.host_process import HostProcess, followed, started
from co_tui.session.workplace.host.link import SessionLink
from co_tui.session.workplace.host.remote_host import NAME_CHARS, RemoteHost
from co_tui.settings.rules import SANDBOX_OFF, SANDBOX_WITH_NETWORK

MOST_OUTPUT_BYTES: Final = 10 << 20
"""Of a command that is not a tool's, whose output is kept in files."""


class RemoteSandbox(NamedTuple):
    """The sandbox on the host."""

    failure: str
    """Why it cannot be started; empty when it can."""
    hides: bool
    """Whether it can hide other processes."""
    home: tuple[str, ...]
    """The arguments that hide the home folder there; before the mount of the folder."""
    arguments: tuple[str, ...]


class RemoteSandboxes:
    """Asked once for each kind that works."""

    def __init__(self, link: SessionLink, host: str) -> None:
        self._link, self._host = link, host
        self._known: dict[str, RemoteSandbox] = {}

    async def find(self, kind: str) -> RemoteSandbox:
        """Raises `HostUnreachable`."""
        if kind not in self._known:
            said = await asyncio.to_thread(self._link.ask, "sandbox", kind)
            found = RemoteSandbox(
                one_line(str(said["failure"]), NAME_CHARS),
                bool(said["hides"]),
                tuple(map(str, said["home"])),
                tuple(map(str, said["arguments"])),
            )
            if found.failure:
                return found  # the user may install it
            self._known[kind] = found
        return self._known[kind]

    async def problem(self, kind: str) -> str:
        """A sentence on why the sandbox cannot be started there; empty when it can, or is off."""
        if kind == SANDBOX_OFF:
            return ""
        try:
            failure = (await self.find(kind)).failure
        except HostUnreachable as lost:
            return str(lost)
        there = f"on {self._host}: {failure}"
        return unusable_sandbox_text(kind, there) if failure else ""


class HostFolder(SessionFolder):
    """The session's folder on another host."""

    def __init__(
        self, folder: Path, backend: "HostBackend", sandboxes: RemoteSandboxes, kind: str, **given: Any
    ) -> None:
        """`folder` is only its stand-in here."""
        super().__init__(folder, **given)
        self._backend, self._sandboxes, self._kind = backend, sandboxes, kind

    def _own(self) -> Workspace:
        if self.read_only:
            return ReadOnlyWorkspace(Workspace(self._backend))
        return HostSandboxed(self._backend, self._sandboxes, self._kind, self._is_sandboxed)


class HostBackend(WorkspaceBackend, SupportsCommands, HostFiles):
    """The folder by questions to the program there. A break is a failure of the call, not of the turn."""

    def __init__(self, host: RemoteHost, link: SessionLink, commands: HostCommands) -> None:
        self.host, self._link, self.commands = host, link, commands
        self._environment = {**COMMAND_ENVIRONMENT, **commands.environment}

    @property
    def ref(self) -> WorkspaceRef:
        return WorkspaceRef(provider="ssh", id=self.host.address.text)

    async def working_dir(self) -> str:
        return self.host.folder

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 (the name is the workspace's)
    ) -> CommandResult:
        validate_timeout(timeout)
        words, lost_text = _words(command, shell), "{lost}"
        environment = {**self._environment, **(self.host.for_reading(env) or {})}
        try:
            async with started(self._link, words, environment) as process:
                lost_text = "The connection to {host} was lost while this ran, so it may have had effects."
                return await self._followed(process, timeout)
        except HostUnreachable as lost:
            sentence = lost_text.format(lost=lost, host=self.host.address.host)
            raise WorkspaceError(f"{sentence} {AGAIN}") from lost
        except (FileNotFoundError, NotADirectoryError) as error:
            gone = f"{self.host.folder} does not exist on {self.host.address.host} any more."
            raise WorkspaceError(gone) from error

    async def _followed(self, process: HostProcess, longest_s: float | None) -> CommandResult:
        stdout, stderr, printed = bytearray(), bytearray(), _Buffer()
        try:
            async with self.commands.collecting(cast(Process, process), stdout, stderr) as tapped:
                takes = (partial(printed.into, each) for each in (stdout, stderr))
                code = await asyncio.wait_for(followed(process, cast(Any, tapped), *takes), longest_s)
        except TimeoutError as late:
            ended = f"command timed out after {longest_s:g}s and was killed"
            raise WorkspaceTimeoutError(ended, stdout=_text(stdout), stderr=_text(stderr)) from late
        return CommandResult(exit_code=code, stdout=_text(stdout), stderr=_text(stderr))


def _words(command: WorkspaceCommand, shell: bool) -> Sequence[str]:
    """The program and its arguments. Raises TypeError and ValueError as the library's rules say."""
    if isinstance(command, str):
        if not shell:
            raise TypeError("a string command requires shell=True; pass an argv sequence otherwise")
        return ("/bin/sh", "-c", command)
    if shell:
        raise TypeError("an argv sequence cannot be combined with shell=True; pass a single command string")
    if not command:
        raise ValueError("command must not be empty")
    return command


class _Buffer:
    """Takes what a command prints. Raises `WorkspaceOutputLimitError` for too much of it."""

    def __init__(self) -> None:
        self.left_bytes = MOST_OUTPUT_BYTES

    def into(self, stream: bytearray, piece: bytes) -> None:
        stream += piece
        self.left_bytes -= len(piece)
        if self.left_bytes < 0:
            limit = "the command printed over 10 MiB; redirect its output to a file and read part of it"
            raise WorkspaceOutputLimitError(limit, limit=MOST_OUTPUT_BYTES)


def _text(data: bytearray) -> str:
    return data.decode(errors="replace")


class HostSandboxed(SandboxedFolder):
    """The same sandbox there: bubblewrap on that host, with that host's protected names and keys."""

    def __init__(
        self, backend: HostBackend, sandboxes: RemoteSandboxes, kind: str, is_used: Callable[[], bool]
    ) -> None:
        BubblewrapWorkspace.__init__(self, Workspace(backend), network=kind == SANDBOX_WITH_NETWORK)
        self._host, self._commands, self._sandboxes = backend.host, backend.commands, sandboxes
        self._kind, self._is_used = kind, is_used
        self._guard = backend.commands.remote_guard(backend.host.folder)

    @property
    def _added(self) -> tuple[Path, ...]:
        return ()

    def _guards(self) -> list[FolderGuard]:
        return [self._guard]

    async def _sandbox(self) -> list[str]:
        with _as_tool_failure():
            return await super()._sandbox()

    async def _further_arguments(self) -> tuple[str, ...]:
        return (await self._sandboxes.find(self._kind)).arguments

    async def _home_arguments(self) -> tuple[str, ...]:
        return (await self._sandboxes.find(self._kind)).home

    async def _login_files(self, working_dir: str) -> tuple[str, ...]:
        """The next connection would run a new one before it is moved away."""
        return await BubblewrapWorkspace._login_path_mounts(self, working_dir)

    async def _failure(self) -> str:
        return (await self._sandboxes.find(self._kind)).failure

    async def _can_hide(self) -> bool:
        return (await self._sandboxes.find(self._kind)).hides

    def _for_reading(self, env: Mapping[str, str] | None) -> Mapping[str, str] | None:
        return self._host.for_reading(env)

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 (the name is the workspace's)
    ) -> CommandResult:
        with _as_tool_failure():
            return await super().run(command, shell=shell, env=env, timeout=timeout)

    async def read_bytes(self, path: str) -> bytes:
        if not self._is_used():
            return await self.wrapped.read_bytes(path)
        return await BubblewrapWorkspace.read_bytes(self, path)  # as commands see it


@contextmanager
def _as_tool_failure() -> Iterator[None]:
    try:
        yield
    except HostUnreachable as lost:
        raise WorkspaceError(f"{lost} {AGAIN}") from lost
