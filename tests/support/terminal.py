"""The app in a real terminal: a tmux session of our own."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.support.command import CliCommand
from tests.support.loaded import LoadedProcess
from tests.support.waiting import PATIENCE_S

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def wait_for_end(process: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < until, "the app did not end"
        time.sleep(0.02)


class Terminal:
    """A tmux session of our own, on a server of our own."""

    def __init__(self, command: CliCommand, columns: int = 100, rows: int = 30) -> None:
        self._socket = f"co-tui-{uuid.uuid4().hex[:8]}"
        self._command = command
        # Whoever runs the tests may have sessions of other programs, which the first start offers.
        self._environ = {**command.environ, "HOME": str(command.home.parent)}
        self._ended = command.home.parent / "ended"
        self._forked: LoadedProcess | None = None
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "sh")
        self._tmux("set-option", "-g", "remain-on-exit", "on")
        # Without a client looking at it, tmux may fall back to its default size.
        self._tmux("set-option", "-g", "window-size", "manual")
        self._tmux("resize-window", *size)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**self._environ, "TERM": "xterm-256color"},
            cwd=self._command.cwd,
        )
        return done.stdout

    def start(self, *arguments: str) -> None:
        """From nothing, as a person does it."""
        self.type(f"clear; {sys.executable} -m co_tui {' '.join(arguments)}")
        self.press("Enter")

    def start_loaded(self, *arguments: str) -> None:
        """With its libraries loaded already. Its shell waits until it has ended, and sends it no signals."""
        self._end_forked()
        self._ended.unlink(missing_ok=True)
        os.mkfifo(self._ended)
        self.type(f"clear; cat {shlex.quote(str(self._ended))}")
        self.press("Enter")
        tty, address = self._tmux("display-message", "-p", "#{pane_tty}\t#{socket_path},#{pid},0").strip().split("\t")
        term = self._tmux("show-options", "-gv", "default-terminal").strip()
        environ = {**self._environ, "TERM": term, "TMUX": address}
        with open(self._ended, "wb") as until_it_ends, open(tty, "r+b", buffering=0) as screen:
            streams = (screen, screen, screen, until_it_ends)
            self._forked = self._command.fork(streams, *arguments, environ=environ)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait(self, *wanted: str, gone: str = "", seconds: float = PATIENCE_S) -> str:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            seen = self.screen
            if all(text in seen for text in wanted) and (not gone or gone not in seen):
                return seen
            time.sleep(0.1)
        raise AssertionError(f"{wanted} (without {gone!r}) not on the screen:\n{self.screen}")

    @property
    def app(self) -> int:
        """The process that runs in it."""
        if self._forked is not None and self._forked.poll() is None:
            return self._forked.pid
        shell = self._tmux("list-panes", "-F", "#{pane_pid}").strip()
        return int(subprocess.check_output(["ps", "-o", "pid=", "--ppid", shell], text=True).split()[0])

    def leave(self) -> None:
        """Quit the app, and wait until it has ended: what is typed before that is lost with it."""
        app = self.app
        self.press("C-q")
        wait_for_end(app)

    def kill(self) -> None:
        """`kill -9`, after which the terminal is left as it was: a new shell takes it over."""
        app = self.app
        os.kill(app, signal.SIGKILL)
        wait_for_end(app)
        self._tmux("respawn-pane", "-k", "sh")

    def close(self) -> None:
        self._end_forked()
        self._tmux("kill-server")

    def _end_forked(self) -> None:
        if self._forked is not None:
            self._forked.kill()
            self._forked.wait()
