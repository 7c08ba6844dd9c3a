"""The folder on another host in which a session's tools and commands work."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio.abc
from pydantic_ai.workspaces import (
    CommandResult,
    LocalWorkspaceBackend,
    ReadOnlyWorkspace,
    Workspace,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceUnavailableError,
)
from pydantic_ai_harness.bubblewrap_sandbox import BubblewrapWorkspace
from pydantic_ai_harness.ssh_workspace import SSHWorkspaceBackend
from pydantic_ai_harness.ssh_workspace._backend import _READY

from co_tui.agent.permissions.sandbox import Sandbox
from co_tui.session.host.address import HostUnreachable
from co_tui.session.host.connection import Connection
from co_tui.session.host.host_commands import HostCommands
from co_tui.session.host.host_files import HostFiles
from co_tui.session.host.host_guard import HostGuard
from co_tui.session.host.host_judge import AGAIN
from co_tui.session.host.remote_host import SessionHost
from co_tui.session.tools.folder.session_folder import COMMAND_ENVIRONMENT, SandboxedFolder, SessionFolder
from co_tui.session.tools.running_commands import RunningCommands
from co_tui.settings.rules import SANDBOX_WITH_NETWORK

_LOST = "during the command"
_SENT = 'printf %s "$@" | '
"""How the harness hands its script to ssh."""


class HostFolder(SessionFolder):
    """The session's folder on another host; `sandbox.folder` is only its stand-in here."""

    def __init__(self, host: SessionHost, sandbox: Sandbox, commands: RunningCommands, **given: Any) -> None:
        super().__init__(sandbox, commands, **given)
        assert isinstance(commands, HostCommands)
        self._host, self._there = host, commands

    def _own(self) -> Workspace:
        here = Workspace(HostBackend(self._host, self._there))
        if self.read_only:
            return ReadOnlyWorkspace(here)
        return HostSandboxed(here, self._host, self._sandbox.kind, self._there, self._is_sandboxed)


class HostBackend(SSHWorkspaceBackend, HostFiles):
    """The harness's folder over ssh, with the shared connection. A break is a failure of the call, not of the turn."""

    def __init__(self, session_host: SessionHost, commands: HostCommands) -> None:
        host, self._link = session_host.host, session_host.link
        connection = host.connection
        environment = {**COMMAND_ENVIRONMENT, **commands.environment}
        super().__init__(
            connection.address.host, working_dir=host.folder, env=environment, ssh_args=connection.arguments
        )
        self._ssh[0] = connection.program
        self._resolved_working_dir = host.folder
        self._runner = _Followed("/", commands, connection)
        self._host = host

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 (the name is the workspace's)
    ) -> CommandResult:
        try:
            return await super().run(command, shell=shell, env=self._host.for_reading(env), timeout=timeout)
        except WorkspaceUnavailableError as error:
            raise WorkspaceError(self._sentence(str(error))) from error

    def _sentence(self, said: str) -> str:
        host, reason = self._host.connection.address.host, said.partition("is unavailable: ")[2]
        if _LOST in said:
            return f"The connection to {host} was lost while this ran, so it may have had effects. {AGAIN}"
        if not reason or "cd:" in reason:
            return f"{self._host.folder} does not exist on {host} any more."
        return f"{self._host.connection.failure(reason)} {AGAIN}"


class _Followed(LocalWorkspaceBackend):
    """Runs ssh, and announces what a command there prints while it runs."""

    def __init__(self, folder: str | Path, commands: HostCommands, connection: Connection) -> None:
        super().__init__(folder, env=connection.environ)
        self._commands = commands
        self._connection = connection

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 (the name is the workspace's)
    ) -> CommandResult:
        """What is sent, such as a file's content, goes through a file: other users can see the arguments of ssh."""
        if isinstance(command, str) or not (command[2:] and command[2].startswith(_SENT)):
            return await super().run(command, shell=shell, env=env, timeout=timeout)
        line, _, *pieces = command[2:]
        with self._connection.sent_file("".join(pieces)) as file:
            command = ["/bin/sh", "-c", f'{line.removeprefix(_SENT)} < "$1"', "sh", str(file)]
            return await super().run(command, timeout=timeout)

    async def _wait_and_collect_output(
        self,
        process: anyio.abc.Process,
        stdout_buffer: bytearray,
        stderr_buffer: bytearray,
        absolute_deadline: float | None,
    ) -> int:
        async with self._commands.collecting(process, stdout_buffer, stderr_buffer, after=_READY.encode()) as tapped:
            return await super()._wait_and_collect_output(tapped, stdout_buffer, stderr_buffer, absolute_deadline)


class HostSandboxed(SandboxedFolder):
    """The same sandbox there: bubblewrap on that host, with that host's protected names and keys."""

    def __init__(
        self, here: Workspace, host: SessionHost, kind: str, commands: HostCommands, is_used: Callable[[], bool]
    ) -> None:
        BubblewrapWorkspace.__init__(self, here, network=kind == SANDBOX_WITH_NETWORK)
        self._kind = kind
        self._is_used = is_used
        self._path = os.defpath
        self._commands = commands
        self._host = host
        self._guard = commands.guard_there(host.host.folder)
        assert isinstance(self._guard, HostGuard)

    async def _sandbox(self) -> list[str]:
        with _as_tool_failure():
            self._bwrap_args = (await self._host.sandbox(self._kind)).arguments
            return await super()._sandbox()

    async def _login_files(self, working_dir: str) -> tuple[str, ...]:
        """The next connection would run a new one before it is moved away."""
        return await BubblewrapWorkspace._login_path_mounts(self, working_dir)

    async def _can_hide(self) -> bool:
        return (await self._host.sandbox(self._kind)).hides

    def _for_reading(self, env: Mapping[str, str] | None) -> Mapping[str, str] | None:
        return self._host.host.for_reading(env)

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
