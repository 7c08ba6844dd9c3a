"""The app in a real terminal: a tmux session of our own."""

import shutil
import subprocess
import sys
import time
import uuid

import pytest

from tests.support.command import Command

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Terminal:
    """A tmux session of our own, on a server of our own."""

    def __init__(self, command: Command, columns: int = 100, rows: int = 30) -> None:
        self._socket = f"co-tui-{uuid.uuid4().hex[:8]}"
        self._command = command
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
            env={**self._command.environ, "TERM": "xterm-256color"},
            cwd=self._command.cwd,
        )
        return done.stdout

    def start(self, *arguments: str) -> None:
        self.type(f"clear; {sys.executable} -m co_tui {' '.join(arguments)}")
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait(self, *wanted: str, gone: str = "", seconds: float = 150) -> str:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            seen = self.screen
            if all(text in seen for text in wanted) and (not gone or gone not in seen):
                return seen
            time.sleep(0.05)
        raise AssertionError(f"{wanted} (without {gone!r}) not on the screen:\n{self.screen}")

    def close(self) -> None:
        self._tmux("kill-server")
