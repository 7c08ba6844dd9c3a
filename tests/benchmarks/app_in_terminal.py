"""The whole app in a pseudo terminal that is read, with the memory and processor time it takes."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.benchmarks.terminal import COLOUR_ANSWER, COLOUR_QUERY
from tests.support.waiting import PATIENCE_S

ROWS, COLUMNS = 40, 120
FRAMES_QUERY, FRAMES_ANSWER = b"\x1b[?2026$p", b"\x1b[?2026;1$y"
READY = b"Write a message"
QUIET_S = 0.5
QUIET_TICKS = 3
"""What an idle app takes in that time, in ticks of the system's clock."""
_KEYS = (
    "OPENAI",
    "ANTHROPIC",
    "GOOGLE",
    "GEMINI",
    "CO_TUI",
    "OLLAMA",
    "GROQ",
    "MISTRAL",
    "OPENROUTER",
    "LINES",
    "COLUMNS",
)


class AppInTerminal:
    """`co-tui` with a server as its model."""

    def __init__(self, url: str, folder: Path) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(_KEYS)}
        environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "CO_TUI_MODEL": "openai-chat:scripted"}
        environ |= {"CO_TUI_HOME": str(folder / "home"), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        here = Path.cwd()
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.execvpe(sys.executable, [sys.executable, "-m", "co_tui"], {**environ, "PYTHONPATH": str(here)})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def __enter__(self) -> Self:
        self._read_until(READY)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)

    @property
    def process(self) -> int:
        return self._process

    @property
    def resident_mb(self) -> float:
        status = Path(f"/proc/{self._process}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def processor_s(self) -> float:
        return self._ticks() / os.sysconf("SC_CLK_TCK")

    def ask(self, prompt: str, last_word: str) -> None:
        """Send a prompt, and read until the last word of the reply is on the screen."""
        os.write(self._terminal, prompt.encode() + b"\r")
        self._read_until(last_word.encode())

    def read_until_idle(self) -> None:
        while True:
            before, until = self._ticks(), time.monotonic() + QUIET_S
            while (left := until - time.monotonic()) > 0:
                self._read(left)
            if self._ticks() - before <= QUIET_TICKS:
                return

    def _ticks(self) -> int:
        """User and system time of all its threads."""
        fields = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def _read(self, seconds: float) -> bytes:
        if not select.select([self._terminal], [], [], seconds)[0]:
            return b""
        piece = os.read(self._terminal, 65536)
        for query, answer in ((COLOUR_QUERY, COLOUR_ANSWER), (FRAMES_QUERY, FRAMES_ANSWER)):
            if query in piece:
                os.write(self._terminal, answer)
        return piece

    def _read_until(self, text: bytes) -> None:
        latest, seen = time.monotonic() + PATIENCE_S, b""
        while text not in seen:
            if time.monotonic() > latest:
                raise TimeoutError(f"{text!r} did not appear")
            seen = seen[-len(text) :] + self._read(0.05)
