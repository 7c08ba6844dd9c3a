"""Launching a program in a pseudo terminal and watching for a key to be echoed."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BARE_APP = """
from textual.app import App
from textual.widgets import Footer, TextArea

class Bare(App):
    def compose(self):
        yield TextArea()
        yield Footer()

Bare().run()
"""
SCREEN_TAKEN, KEY = b"\x1b[?1049h", b"Z"
COLOUR_QUERY, COLOUR_ANSWER = b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x07\x1b[?62c"


class Launched(NamedTuple):
    """How long a start took."""

    ms: float
    processor_ms: float
    """In the process itself, which depends less on what else the machine does."""


def launch_to_echo(
    command: Sequence[str], environ: dict[str, str], cwd: Path, *, answers: bool = True, timeout_s: float = 120
) -> Launched:
    """From the start of the process until a key sent at the first sign of a screen is seen on it. A terminal that
    `answers` reports its background when it is asked."""
    start = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe(command[0], list(command), {**os.environ, **environ, "TERM": "xterm-256color"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ECHO  # the key counts once the program shows it, not its terminal
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    seen, sent, taken_ms = b"", False, 0.0
    try:
        while time.perf_counter() - start < timeout_s:
            if select.select([terminal], [], [], 0.005)[0]:
                piece = os.read(terminal, 65536)
                seen += piece
                if answers and COLOUR_QUERY in piece:
                    os.write(terminal, COLOUR_ANSWER)
            at = seen.find(SCREEN_TAKEN)
            if at >= 0 and not sent:
                os.write(terminal, KEY)
                sent = True
            if sent and seen.find(KEY, at) >= 0:
                taken_ms = (time.perf_counter() - start) * 1000
                break
        else:
            raise TimeoutError(f"{command} echoed no key within {timeout_s} s")
    finally:
        os.kill(pid, 9)
        used = os.wait4(pid, 0)[2]
        os.close(terminal)
    return Launched(taken_ms, (used.ru_utime + used.ru_stime) * 1000)


def run_to_end(command: Sequence[str], environ: dict[str, str], cwd: Path) -> Launched:
    """A command that prints something and ends."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, **environ}, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Launched((time.perf_counter() - start) * 1000, (used.ru_utime + used.ru_stime) * 1000)
