"""The user's own command, as a process of this machine."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from co_tui.session.processes.child_process import ChildProcess
from co_tui.session.processes.process_guard import ProcessGuard
from co_tui.session.workplace.session_workplace import UserProcess


class LocalUserProcess(UserProcess):
    """Ends with co-tui, too, even if that is killed."""

    def __init__(self, transport: asyncio.SubprocessTransport, process: ChildProcess, guard: ProcessGuard) -> None:
        self._transport, self._guard = transport, guard
        self.exited, self.closed = process.exited, process.closed
        guard.note(transport.get_pid())

    @property
    def outcome(self) -> str:
        code = self._transport.get_returncode() or 0
        return f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"

    @property
    def exit_code(self) -> int | None:
        code = self._transport.get_returncode()
        return code if code is not None and code >= 0 else None

    def kill(self) -> None:
        if self._transport.get_returncode() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)

    def leave(self) -> None:
        self._guard.forget(self._transport.get_pid())
        self._transport.close()


async def start_locally(
    command: str, folder: Path, environ: Mapping[str, str], guard: ProcessGuard, on_output: Callable[[bytes], None]
) -> LocalUserProcess:
    """Run a command with this environment, which has no keys. Raises OSError and ValueError."""
    loop = asyncio.get_running_loop()
    transport, process = await loop.subprocess_shell(
        lambda: ChildProcess(loop, lambda _, data: on_output(data)),
        command,
        cwd=folder,
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    return LocalUserProcess(transport, process, guard)
