"""Commands that run on the other host until they end; what they print is fetched piece by piece."""

import base64
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

PIECE_BYTES: Final = 1 << 20
"""Of one stream in one answer; no more is read ahead."""
WAIT_S: Final = 20.0
"""The longest wait for something to be printed, before an answer without it."""
DRAINING_S: Final = 2.0
"""How long to read on after a command has ended: what it left running may keep its output open."""
_RUN: Final = ("/bin/sh", "-c", 'exec "$@"', "sh")
"""A program that is missing is then an exit code."""


class RemoteProcesses:
    """The running commands of one session, each with a name. They end with the connection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, _Running] = {}

    def start(self, name: str, words: Sequence[str], env: Mapping[str, str], joined: bool) -> None:
        """Start a program in the folder; `joined` puts standard error into standard output."""
        process = subprocess.Popen(
            (*_RUN, *words), cwd=self._folder, env={**os.environ, **env}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if joined else subprocess.PIPE,
        )  # fmt: skip
        self._running[name] = _Running(process)

    def read(self, name: str) -> dict[str, Any]:
        """What it printed since; with its exit code, that was all."""
        stdout, stderr, code = self._running[name].read()
        if code is not None:
            self._running.pop(name).drop()
        return {"stdout": base64.b64encode(stdout).decode(), "stderr": base64.b64encode(stderr).decode(), "code": code}

    def kill(self, name: str) -> None:
        """Kill it and its process group, unless it has ended."""
        if (running := self._running.pop(name, None)) is not None:
            running.drop()

    def kill_all(self) -> None:
        for name in list(self._running):
            self.kill(name)


class _Running:
    """One command. Threads read its streams and wait for its end, each no further than its reader follows."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._changed = threading.Condition()
        self._printed = (bytearray(), bytearray())
        pipes = [each for each in (process.stdout, process.stderr) if each is not None]
        self._open = len(pipes)
        self._is_over = self._is_dropped = False
        for pipe, printed in zip(pipes, self._printed, strict=False):
            threading.Thread(target=self._collect, args=(pipe, printed), daemon=True).start()
        threading.Thread(target=self._wait, daemon=True).start()

    def _collect(self, pipe: IO[bytes], printed: bytearray) -> None:
        with pipe:
            while not self._is_dropped and (piece := os.read(pipe.fileno(), 1 << 16)):
                with self._changed:
                    printed += piece
                    self._changed.notify_all()
                    self._changed.wait_for(partial(self._has_room, printed))
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def _has_room(self, printed: bytearray) -> bool:
        return len(printed) < PIECE_BYTES or self._is_dropped

    def _all_have_room(self) -> bool:
        return all(map(self._has_room, self._printed))

    def _is_closed(self) -> bool:
        return not self._open

    def _wait(self) -> None:
        self._process.wait()
        with self._changed:
            if not self._changed.wait_for(self._is_closed, DRAINING_S) and not self._all_have_room():
                # What it printed last is still in the pipe, until the reader has followed.
                self._changed.wait_for(self._all_have_room)
                self._changed.wait_for(self._is_closed, DRAINING_S)
            self._is_over = True
            self._changed.notify_all()

    def read(self) -> tuple[bytes, bytes, int | None]:
        """Waits until there is something; the exit code only after all that was printed."""
        with self._changed:
            self._changed.wait_for(lambda: any(self._printed) or self._is_over or self._is_dropped, WAIT_S)
            stdout, stderr = map(bytes, self._printed)
            for each in self._printed:
                each.clear()
            self._changed.notify_all()
            code = self._process.returncode if self._is_over else None
        return stdout, stderr, 128 - code if code is not None and code < 0 else code

    def drop(self) -> None:
        """Read no more of it; kill it if it runs."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with self._changed:
            self._is_dropped = True
            self._changed.notify_all()
