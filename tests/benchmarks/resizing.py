"""A window that is resized wildly while text streams: how many frames are bad.

A frame is bad if it is not what the terminal's size needs: a line that is too short or too long, a chat whose words
are not in order or without the latest, a prompt out of sight. Frames on their way when the window changes do not count.
"""

import random
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.benchmarks.figures import median, percentile, print_table
from tests.benchmarks.streaming import busy_loops, streaming_server
from tests.benchmarks.streaming.replies import NUMBERS, Wanted, numbers_in
from tests.support.command import CliCommand
from tests.support.recorder import Frame, RecordedApp

RESIZES: Final = 60
PER_S: Final = 200
LOADS: Final = (0, 4)
"""Busy loops on the machine."""
ENGINE_LOADS_S: Final = 4.0
COLUMNS, ROWS = (50, 180), (18, 60)
SMALLEST: Final = (43, 16)
PAUSES_S: Final = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2)
SETTLED_S: Final = 2.0


class WildWindow(RecordedApp):
    """Resized while a reply streams, and what is wrong with its frames."""

    def begin(self) -> None:
        """From now on what is written is only read; `shown` puts it on the screen, which takes longer."""
        self.wrong, self.good, self.settled_ms = Counter[str](), 0, list[float]()
        self._written: list[tuple[float, str | tuple[int, int]]] = []
        self._at_s = self._resized_at_s = 0.0
        self._latest, self._is_settled = 0, True

    def _show(self, text: str) -> None:
        if hasattr(self, "_written"):
            self._written.append((time.monotonic(), text))
        else:
            super()._show(text)

    def resize(self, columns: int, rows: int) -> None:
        self._set_size(columns, rows)
        self._read_written()
        self._written.append((time.monotonic(), (columns, rows)))

    def shown(self) -> None:
        """Put all that was written on the screen."""
        for at_s, what in self._written:
            self._at_s = at_s
            if isinstance(what, str):
                super()._show(what)
            else:
                self._cells.resize(*what)
                self._resized_at_s, self._is_settled = self._at_s, False
                self.is_under_way = bool(self._text)

    def frame_ended(self, frame: Frame) -> None:
        if not hasattr(self, "_written") or self.is_under_way:
            return
        if why := wrong_with(frame.rows, self._cells.size, self._latest):
            self.wrong[why] += 1
            return
        self.good += 1
        self._latest = max([self._latest, *numbers_in("\n".join(frame.rows))])
        if not self._is_settled:
            self._is_settled = True
            self.settled_ms.append((self._at_s - self._resized_at_s) * 1000)


def wrong_with(rows: tuple[str, ...], size: tuple[int, int], latest: int) -> str:
    """What is wrong with a frame of a stream; empty if nothing is."""
    columns, height = size
    if columns < SMALLEST[0] or height < SMALLEST[1]:
        shown = " ".join("\n".join(rows).split())
        return "" if columns < 24 or f"{columns}×{height}" in shown else "no word on its size"
    text = "\n".join(rows)
    if not text.strip():
        return "empty"
    if not any("essage, / commands" in row for row in rows[-4:]) or not any(row.startswith("╰") for row in rows[-2:]):
        return "no prompt"
    end = next((n for n, row in enumerate(rows) if n and row.startswith("╰")), 0)
    chat = rows[1 : end + 1]
    if not rows[1].startswith("╭─ Chat") or any(row[:1] not in "│╭╰" for row in chat):
        return "no chat"
    if any(len(row) != columns or row[-1] not in "│╮╯▁▂▃▄▅▆▇█ " for row in chat):
        return "width"
    numbers = numbers_in("\n".join(row.split("│")[1] for row in chat[1:-1]))
    if any(after != before + 1 for before, after in pairwise(numbers)):
        return "scattered"
    return "" if latest == 0 or (numbers and numbers[-1] >= latest) else "not the end"


def main(resizes: int = RESIZES, loads: tuple[int, ...] = LOADS, seed: int = 1) -> None:
    rows = []
    for load in loads:
        window = _resized(resizes, load, random.Random(seed))
        bad = sum(window.wrong.values())
        why = ", ".join(f"{count} {name}" for name, count in window.wrong.most_common())
        name = f"{resizes} sizes, {load} busy loops" if load else f"{resizes} sizes"
        figure = f"{bad} of {bad + window.good} ({why})" if why else f"{bad} of {window.good}"
        settled = f"p50 {median(window.settled_ms):.0f} ms, p95 {percentile(window.settled_ms, 0.95):.0f} ms"
        rows += [(name, figure), ("  until the first good frame", settled)]
    print_table([("", f"bad frames, a reply of {PER_S} chunks/s"), *rows])


def _resized(resizes: int, load: int, rng: random.Random) -> WildWindow:
    with ExitStack() as ends:
        url = ends.enter_context(streaming_server())
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        command = CliCommand(folder / "home", folder)
        command.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "CO_TUI_MODEL": "openai-chat:scripted"}
        command.environ["PYTHONPATH"] = str(Path.cwd())
        window = WildWindow(command, 120, 40)
        ends.callback(window.close)
        window.until("Write a message")
        window.record(ENGINE_LOADS_S)
        window.press(Wanted(NUMBERS, 100 * PER_S, PER_S).prompt + "\r")
        window.until("w00040")
        window.begin()
        ends.enter_context(busy_loops(load))
        size = before = window.size
        for _ in range(resizes):
            other = rng.randint(*COLUMNS), rng.randint(*ROWS)
            before, size = size, rng.choice((other, other, before))
            window.resize(*size)
            window.record(rng.choice(PAUSES_S))
        window.record(SETTLED_S)
        window.shown()
        assert not wrong_with(window.frames[-1].rows, size, 0), "\n".join(window.frames[-1].rows)
    return window
