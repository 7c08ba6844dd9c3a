"""What really reaches the terminal: hostile names and words as signs, and no sequence but those of the screen."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from pathlib import Path

from tests.support.command import CliCommand
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

HOSTILE = "sly\x1b[6n\x1b]0;EVIL\x07\x1b]52;c;ZXZpbA==\x07\x9b6n\x1bPq\x1b\\\x07\x7f\u202egnp\u2066\u200b\U000e0041"
OURS = re.compile(
    rb"\x1b\[[0-9;:]*[mHJKc]|\x1b\[\?[0-9;]+[hl]|\x1b\[[<>=?][0-9;]*u|\x1b\[\?[0-9;]+\$p|\x1b\[>[0-9;]*[a-z]"
    rb"|\x1b\]11;\?\x1b\\|\x1b\]8;[^\x00-\x1f]*\x1b\\|\x1b\]22;[a-z]*(?:\x1b\\|\x07)|\r|\n"
)
"""Colours, places, modes, questions, links and the pointer: what the library and we ourselves write."""
FORBIDDEN = {*map(chr, (*range(32), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x200B, 0xE0041))}


class PseudoTerminal:
    """The app in a terminal whose bytes are kept as they came."""

    def __init__(self, command: CliCommand) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        command.environ["TERM"] = "xterm-256color"
        self.process = command.fork((theirs,) * 3, terminal=True)
        os.close(theirs)
        self.written = b""

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def read_until(self, *wanted: str) -> None:
        """Until the app has written these since now; without any, until it has ended."""
        begun, latest = len(self.written), time.monotonic() + PATIENCE_S
        while not wanted or not all(each.encode() in self.written[begun:] for each in wanted):
            assert time.monotonic() < latest, (wanted, self.written[begun:][-2000:])
            if not select.select([self._ours], [], [], 1.0)[0]:
                continue
            piece = b""
            with contextlib.suppress(OSError):  # hung up: it has ended
                piece = os.read(self._ours, 65536)
            if not piece:
                return
            self.written += piece

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def test_hostile_names_and_words_reach_the_terminal_as_signs_only(
    served: CliCommand, provider: Provider, tmp_path: Path
) -> None:
    served.cwd = tmp_path / f"folder {HOSTILE}".replace("/", "")
    served.cwd.mkdir()
    (served.cwd / f"notes {HOSTILE}.txt").write_text("x")
    (served.cwd / ".co-tui.toml").write_text('model = "openai-chat:sly\\u001b[6n\\u202e"\n')
    provider.script = [Reply(text=f"# {HOSTILE}\n\n```{HOSTILE}\n{HOSTILE}\n```\nThe end.")]
    provider.model_id = HOSTILE
    served.environ["CO_TUI_NOTIFICATIONS"] = "off"  # no bell, however slowly it starts
    terminal = PseudoTerminal(served)
    try:
        terminal.read_until("has its own settings")  # of the folder, by its name
        terminal.press("\x1b")
        terminal.read_until("co-tui trust")
        terminal.press("@notes")
        terminal.read_until("@notes")
        terminal.press("\x1b\x15")
        terminal.press(f"Explain {HOSTILE.translate(dict.fromkeys(range(32)))}\r")
        terminal.read_until("The end.")
        terminal.press("\x1bOQ")  # sessions, with the title
        terminal.read_until("Preview")
        terminal.press("\x1b")
        terminal.press("\x11")
        terminal.read_until()
    finally:
        terminal.close()
    assert b"--resume" in terminal.written
    left = OURS.sub(b"", terminal.written).decode(errors="replace")
    found = [left[max(0, at - 40) : at + 10] for at, character in enumerate(left) if character in FORBIDDEN]
    assert found == [] and left.count("sly") > 5
