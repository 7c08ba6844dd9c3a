"""A day's session: scripted turns through the app in a terminal; its memory and the processor time a turn.

2,000 turns take some minutes. From turn 100 on, both should be flat.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.benchmarks.terminal import COLOUR_ANSWER, COLOUR_QUERY
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

TURNS = 2_000
MARKS = (20, 100, 500, 1_000, 2_000)
MEASURED = 20
"""Turns up to each mark whose processor time is counted."""
WINDOW_TOKENS = 100_000
READY = b"Write a message"
PROMPT = "Question {n}: what does function_{n} in src/module_{n}.py do when its argument is empty?"
REPLY = (
    "## Part {n}\n\nThe function in `src/module_{n}.py` returns early, as **the tests** say. "
    + "It reads the file, then it writes what changed. " * 8
    + "\n\n- one\n- two\n\n```python\ndef f(x):\n    return x + {n}\n```\n\nDone-{n}-."
)


class AppInTerminal:
    """`co-tui` with a scripted provider, in a pseudo terminal that is read."""

    def __init__(self, url: str, folder: Path) -> None:
        environ = {
            **os.environ,
            "OPENAI_BASE_URL": url,
            "OPENAI_API_KEY": "none",
            "CO_TUI_MODEL": "openai-chat:scripted",
            "CO_TUI_HOME": str(folder / "home"),
            "TERM": "xterm-256color",
            "PYTHONPATH": str(Path.cwd()),
        }
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.execvpe(sys.executable, [sys.executable, "-m", "co_tui"], environ)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def __enter__(self) -> Self:
        self._read_until(READY)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)

    def turn(self, number: int) -> None:
        os.write(self._terminal, PROMPT.format(n=number).encode() + b"\r")
        self._read_until(f"Done-{number}-".encode())

    @property
    def processor_s(self) -> float:
        fields = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident_mb(self) -> float:
        status = Path(f"/proc/{self._process}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def _read_until(self, text: bytes) -> None:
        latest, seen = time.monotonic() + PATIENCE_S, b""
        while text not in seen:
            if time.monotonic() > latest:
                raise TimeoutError(f"{text!r} did not appear")
            if select.select([self._terminal], [], [], 0.05)[0]:
                piece = os.read(self._terminal, 65_536)
                seen = seen[-len(text) :] + piece
                if COLOUR_QUERY in piece:
                    os.write(self._terminal, COLOUR_ANSWER)


def main() -> None:
    provider = Provider()
    provider.window = WINDOW_TOKENS
    marks = [mark for mark in MARKS if mark <= TURNS] or [TURNS]
    with provider.serving(), tempfile.TemporaryDirectory() as folder, AppInTerminal(provider.url, Path(folder)) as app:
        began = app.processor_s
        for number in range(1, TURNS + 1):
            provider.script = [Reply(text=REPLY.format(n=number), prompt_tokens=-1)]
            app.turn(number)
            provider.requests.clear()
            if number + MEASURED in marks:
                began = app.processor_s
            if number in marks:
                turn_ms = (app.processor_s - began) * 1000 / min(number, MEASURED)
                figures = f"{app.resident_mb:.0f} MB, {turn_ms:.0f} ms of processor time a turn"
                print(f"  turn {number:<6,}  {figures}", flush=True)
