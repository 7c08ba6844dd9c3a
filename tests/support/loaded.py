"""`co-tui` in a process of its own that begins with its libraries loaded.

Loading them takes ten times as long as most of what is looked at. One process has them and forks a new one for each
start, with streams, signals, a folder and an environment of its own. What a process does from its very start and to its
very end is for `CliCommand.start`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tests.support.loaded_server import NUMBER_BYTES

ROOT = Path(__file__).parents[2]
_ENVIRON = dict(os.environ)
"""As it is before any test: the first start may come in one that has set keys of its own."""


class LoadedProcess:
    """As `subprocess.Popen`, for what tests ask of it."""

    def __init__(self, pid: int, reports: socket.socket, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self.pid, self.stdout, self.stderr = pid, stdout, stderr
        self._reports = reports
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._reports.settimeout(timeout)
            try:
                self.returncode = _number(self._reports)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("co-tui", timeout or 0) from None
            self._reports.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended just now, and its report is on the way
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it still says, once it has ended."""
        with ThreadPoolExecutor(2) as pool:
            out, err = [pool.submit(_rest, stream) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()  # else who reads would wait for it for ever
                raise
            return out.result(timeout), err.result(timeout)


class LoadedProcesses:
    """Starts them. Nothing is loaded before the first."""

    given: socket.socket | None = None
    """The server that this process was started with: it needs no other."""

    def __init__(self, *tests: str) -> None:
        """`tests`: where and with which arguments pytest collects them, for processes that run them."""
        self._tests = tests
        self._server = None if tests else self.given
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, streams: Sequence[int | IO[Any] | None], arguments: Sequence[str], **how: Any) -> LoadedProcess:
        """Each stream is a file, its number, or None for a pipe to read from."""
        reports, theirs = socket.socketpair()
        ends = [(None, stream) if stream is not None else _pipe() for stream in streams]
        given = [end if isinstance(end, int) else end.fileno() for _, end in ends]
        request = json.dumps({"arguments": [*arguments], **how}).encode()
        socket.send_fds(self.begin(), [request], [*given, theirs.fileno()])
        theirs.close()
        for (ours, _), number in zip(ends, given, strict=True):
            if ours is not None:
                os.close(number)
        return LoadedProcess(_number(reports), reports, ends[1][0], ends[2][0])

    def begin(self) -> socket.socket:
        """Load everything; returns where to ask for a process."""
        if self._server is None:
            self._server, theirs = _sockets()
            self._begin(theirs)
        return self._server

    def without_tests(self) -> "LoadedProcesses":
        """Begin, and return others, which begin without the tests."""
        others = LoadedProcesses()
        (self._server, theirs), (others._server, other_theirs) = _sockets(), _sockets()
        self._begin(theirs, other_theirs)
        return others

    def _begin(self, *served: socket.socket) -> None:
        numbers = [each.fileno() for each in served]
        given = json.dumps([numbers, self._tests])
        command = [sys.executable, "-m", "tests.support.loaded_server", given]
        self._process = subprocess.Popen(command, pass_fds=numbers, cwd=ROOT, env=_ENVIRON, stdin=subprocess.DEVNULL)
        for each in served:
            each.close()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            if self._process is not None:
                self._process.wait()


def _sockets() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _pipe() -> tuple[IO[str], int]:
    reading, writing = os.pipe()
    return open(reading, encoding="utf-8"), writing


def _number(reports: socket.socket) -> int:
    number = reports.recv(NUMBER_BYTES)
    if len(number) < NUMBER_BYTES:
        raise ChildProcessError("The process that starts others ended without a word.")
    return int.from_bytes(number, "big", signed=True)


def _rest(stream: IO[str] | None) -> str:
    if stream is None or stream.closed:
        return ""
    with stream:
        return stream.read()
