"""Lines of a long text cut into rows of a width, at spaces where that costs little. Knows no screen."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

from co_tui.ui.text.cell_cutting import rows_of_cells

LONGEST_LINE_CHARS = 4_000
"""Longer lines are cut wherever a row is full; and where letters may be wide, all of a line has to be measured."""
MEASURED_LINE_CHARS = 200_000
"""Of longer ones no letter is measured: as many go into a row as fit if all of them are wide."""
_ALL_NARROW = re.compile("[ -\u02ff\u0370-\u0482\u048a-\u0530\u2010-\u2027\u2190-\u21ff\u2500-\u259f]*")
"""Letters of which each takes one cell: Latin, Greek, Cyrillic, and the signs that go with them."""
_JOINER = "\N{ZERO WIDTH JOINER}"


def line_pieces(text: str) -> Iterator[tuple[int, str]]:
    """The lines, and where they begin; those that take long to measure in pieces."""
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if len(line) <= LONGEST_LINE_CHARS or len(line) > MEASURED_LINE_CHARS or line.isascii():
            yield start, line
            start = end + 1
            continue
        while end - start > LONGEST_LINE_CHARS:
            cut = _cut_before(text, start + LONGEST_LINE_CHARS)
            yield start, text[start:cut]
            start = cut
        yield start, text[start:end]
        start = end + 1


def _cut_before(text: str, place: int) -> int:
    """The nearest place at which no character is parted from what belongs to it."""
    for cut in range(place, place - 50, -1):
        if unicodedata.category(text[cut])[0] != "M" and _JOINER not in text[cut - 1 : cut + 1]:
            return cut
    return place


def rows_in(line: str, width: int) -> int:
    """How many rows a line takes."""
    if chars := _chars_in_row(line, width):
        return max(1, -(-len(line) // chars))
    return len(_cut(line, width))


def estimated_rows_in(line: str, width: int) -> int:
    """About as many, without a look at the letters of a line that may have wide ones: it counts as all wide."""
    return rows_in(line, width) if line.isascii() else max(1, -(-len(line) // max(1, width // 2)))


def place_of_row(line: str, row: int, width: int) -> tuple[int, str]:
    """One row of a line, and where it begins in it."""
    if chars := _chars_in_row(line, width):
        return row * chars, line[row * chars : (row + 1) * chars]
    rows = _cut_again(line, width)
    return sum(map(len, rows[:row])), rows[row] if row < len(rows) else ""


def row_of_place(line: str, column: int, width: int) -> int:
    """The row of a line that has a character."""
    if chars := _chars_in_row(line, width):
        return column // chars
    ends = list(accumulate(map(len, _cut_again(line, width))))
    return min(bisect_right(ends, column), len(ends) - 1)


def _chars_in_row(line: str, width: int) -> int | None:
    """How many characters of a line stand in each of its rows; None where that has to be looked at."""
    if line.isascii():
        return width if len(line) <= width or len(line) > LONGEST_LINE_CHARS else None
    return max(1, width // 2) if 2 * len(line) <= width or len(line) > LONGEST_LINE_CHARS else None


def _cut(line: str, width: int) -> list[str]:
    rows = _cut_at_spaces if _ALL_NARROW.fullmatch(line) else rows_of_cells
    return list(rows(line, width)) or [""]


_cut_again = lru_cache(maxsize=64)(_cut)
"""For the lines in view, which are asked for with every row."""


def _cut_at_spaces(line: str, width: int) -> Iterator[str]:
    """Each row with the space it ends with; a word that is longer than a row is cut."""
    start = 0
    while len(line) - start > width:
        space = line.rfind(" ", start, start + width + 1)
        end = space + 1 if space > start else start + width
        yield line[start:end]
        start = end
    yield line[start:]
