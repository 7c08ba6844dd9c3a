"""Every frame that the app writes to a pseudo terminal, and what is missing in some of them."""

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from tests.support.command import CliCommand
from tests.support.waiting import PATIENCE_S

FRAME_ENDS = "\x1b[?2026l"
ASKS_FOR_FRAMES, HAS_FRAMES = "\x1b[?2026$p", b"\x1b[?2026;1$y"
ASKS_COLOUR, DARK = "\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x07\x1b[?62c"
_PIECE = re.compile(
    r"\x1b\[(?P<parameters>[0-9;]*)(?P<final>[HfGABCDJKXd])"
    r"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[P_^][^\x1b]*\x1b\\|\x1b[()].|\x1b."
    r"|[\r\n\b\t\a]|[^\x1b\r\n\b\t\a]+",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{3,}\w*")


class Frame(NamedTuple):
    """A screen as it was seen, and when."""

    at_s: float
    rows: tuple[str, ...]

    def words(self, rows: slice) -> set[str]:
        return set(_WORD.findall("\n".join(self.rows[rows])))


class Cells:
    """The characters on a terminal's screen: positions, text and erasing; all else is passed over."""

    def __init__(self, columns: int, rows: int) -> None:
        self._cells: list[list[str]] = []
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """What there is room for stays."""
        self._columns, self._rows = columns, rows
        kept = [*self._cells[:rows], *([] for _ in range(rows - len(self._cells)))]
        self._cells = [[*row[:columns], *[" "] * (columns - len(row))] for row in kept]
        self._x = self._y = 0

    @property
    def size(self) -> tuple[int, int]:
        return self._columns, self._rows

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple("".join(row).rstrip() for row in self._cells)

    def write(self, text: str) -> None:
        for piece in _PIECE.finditer(text):
            if final := piece["final"]:
                self._control(final, [int(each or 0) for each in piece["parameters"].split(";")])
            elif piece[0] == "\r":
                self._x = 0
            elif piece[0] == "\n":
                self._y = min(self._rows - 1, self._y + 1)
            elif piece[0][0] >= " ":
                self._put(piece[0])

    def _put(self, text: str) -> None:
        for character in text:
            width = cell_len(character)
            if width and self._x + width <= self._columns and self._y < self._rows:
                self._cells[self._y][self._x : self._x + width] = [character, *[""] * (width - 1)]
            self._x += width

    def _control(self, final: str, numbers: list[int]) -> None:
        first, second = max(1, numbers[0]), max(1, [*numbers, 1][1])
        match final:
            case "H" | "f":
                self._y, self._x = min(self._rows, first) - 1, min(self._columns, second) - 1
            case "G":
                self._x = first - 1
            case "d":
                self._y = first - 1
            case "A" | "B":
                self._y = min(self._rows - 1, max(0, self._y + (first if final == "B" else -first)))
            case "C" | "D":
                self._x = max(0, self._x + (first if final == "C" else -first))
            case "J":
                self._cells = [[" "] * self._columns for _ in range(self._rows)]
            case "K" | "X":
                end = self._columns if final == "K" else self._x + first
                self._cells[self._y][self._x : end] = [" "] * (min(end, self._columns) - self._x)


class RecordedApp:
    """`co-tui` in a pseudo terminal that marks where each frame ends."""

    def __init__(self, command: CliCommand, columns: int = 110, rows: int = 40, arguments: Sequence[str] = ()) -> None:
        self._cells, self._text, self._began = Cells(columns, rows), "", time.monotonic()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.frames: list[Frame] = []
        self.is_under_way = False
        """Whether the next frame began before the window changed."""
        environ = {**command.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.chdir(command.cwd)
            os.execvpe(sys.executable, [sys.executable, "-m", "co_tui", *arguments], environ)
        self._set_size(columns, rows)

    @property
    def size(self) -> tuple[int, int]:
        return self._cells.size

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        """The window gets another size; a terminal keeps what it shows until the app draws."""
        self._set_size(columns, rows)
        self._read_written()
        self._cells.resize(columns, rows)
        self.is_under_way = bool(self._text)

    def _read_written(self) -> None:
        """Read what the app wrote so far."""
        unread = struct.unpack("i", fcntl.ioctl(self._terminal, termios.FIONREAD, bytes(4)))[0]
        while unread > 0:
            data = os.read(self._terminal, unread)
            unread -= len(data)
            self._read(data)

    def press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def until(self, *wanted: str, gone: str = "") -> None:
        """Record until the screen shows these texts."""
        self._record(lambda screen: all(text in screen for text in wanted) and (not gone or gone not in screen))

    def record(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._record(lambda _: time.monotonic() > end)

    def _record(self, is_over: Callable[[str], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not is_over(screen := "\n".join(self._cells.rows)):
            assert time.monotonic() < end, screen
            if select.select([self._terminal], [], [], 0.05)[0]:
                self._read(os.read(self._terminal, 65536))

    def _read(self, data: bytes) -> None:
        text = self._decoder.decode(data)
        for asked, answer in ((ASKS_FOR_FRAMES, HAS_FRAMES), (ASKS_COLOUR, DARK)):
            if asked in text:
                os.write(self._terminal, answer)
        self._show(text)

    def _show(self, text: str) -> None:
        self._text += text
        *frames, self._text = self._text.split(FRAME_ENDS)
        for each in frames:
            self._cells.write(each)
            frame = Frame(time.monotonic() - self._began, self._cells.rows)
            self.frames.append(frame)
            self.frame_ended(frame)
            self.is_under_way = False

    def frame_ended(self, frame: Frame) -> None:
        """Called for each frame."""

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)


def flickers(frames: Sequence[Frame], rows: slice) -> dict[str, list[int]]:
    """The words that were on the screen, then missing, then there again, with the frames that lack them."""
    words = [frame.words(rows) for frame in frames]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, shown in enumerate(words):
        for word in shown:
            first.setdefault(word, number)
            last[word] = number
    found = {word: [n for n in range(first[word], last[word]) if word not in words[n]] for word in first}
    return {word: missing for word, missing in found.items() if missing}
