"""Cuts lines of a long text into rows, many characters at a time. Independent of the screen.

Rich measures character by character, which is too slow for megabytes of text.
"""

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from co_tui.ui.textual_internals import cell_widths

LONGEST_LINE_CHARS = 4_000
"""Longer lines are cut at the width, not at spaces: a line with wide characters has to be measured as a whole."""
MEASURED_LINE_CHARS = 200_000
"""Longer lines are not measured: all their characters count as wide."""
_ALL_NARROW = re.compile("[ -\u02ff\u0370-\u0482\u048a-\u0530\u2010-\u2027\u2190-\u21ff\u2500-\u259f]*")
"""Characters of one cell: Latin, Greek, Cyrillic, and common symbols."""
_JOINER = "\N{ZERO WIDTH JOINER}"


def line_pieces(text: str) -> Iterator[tuple[int, str]]:
    """Offset and text of each line; lines that are slow to measure come in pieces."""
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
    """The nearest offset that does not split a character from its combining marks."""
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
    """An upper bound, without measuring: all characters of a non-ASCII line count as wide."""
    return rows_in(line, width) if line.isascii() else max(1, -(-len(line) // max(1, width // 2)))


def row_text(line: str, row: int, width: int) -> tuple[int, str]:
    """One row of a line and its offset in the line."""
    if chars := _chars_in_row(line, width):
        return row * chars, line[row * chars : (row + 1) * chars]
    rows = _cut_again(line, width)
    return sum(map(len, rows[:row])), rows[row] if row < len(rows) else ""


def row_of_column(line: str, column: int, width: int) -> int:
    """The row of a line that contains a column."""
    if chars := _chars_in_row(line, width):
        return column // chars
    ends = list(accumulate(map(len, _cut_again(line, width))))
    return min(bisect_right(ends, column), len(ends) - 1)


def _chars_in_row(line: str, width: int) -> int | None:
    """Characters per row where it is the same for all rows; None where the line has to be measured."""
    if line.isascii():
        return width if len(line) <= width or len(line) > LONGEST_LINE_CHARS else None
    return max(1, width // 2) if 2 * len(line) <= width or len(line) > LONGEST_LINE_CHARS else None


def _cut(line: str, width: int) -> list[str]:
    rows = _cut_at_spaces if _ALL_NARROW.fullmatch(line) else rows_of_cells
    return list(rows(line, width)) or [""]


_cut_again = lru_cache(maxsize=64)(_cut)
"""Cached for the lines in view, which are requested for every row."""


def _cut_at_spaces(line: str, width: int) -> Iterator[str]:
    """Rows with their trailing space; a word longer than a row is cut."""
    start = 0
    while len(line) - start > width:
        space = line.rfind(" ", start, start + width + 1)
        end = space + 1 if space > start else start + width
        yield line[start:end]
        start = end
    yield line[start:]


_WIDENING: Final = "\N{VARIATION SELECTOR-16}"
"""Turns the character before it into an emoji, which may be one cell wider."""
_QUICK_UNTIL: Final = 0xFFFF
"""Regular expressions are slow beyond this code point. Most characters there are wide: all are counted as wide."""


def rows_of_cells(line: str, width: int) -> Iterator[str]:
    """Rows that are never too wide; with joined emoji they may be shorter than possible."""
    start = 0
    while start < len(line):
        end = _end_of_row(line, start, width)
        yield line[start:end]
        start = end


def _end_of_row(line: str, start: int, width: int) -> int:
    kinds, end, room = _kinds(), start, width
    while step := min(room // 2, len(line) - end):  # these fit even if all are wide
        room -= kinds.most_cells(line[end : end + step])
        end += step
    if room == 1 and end > start:
        end = _with_what_belongs_to_it(line, end)
    if room == 1 and end < len(line) and kinds.most_cells(line[end]) < 2:
        end += 1
    if line[end : end + 1] == _WIDENING:
        end -= 1
    return _with_what_belongs_to_it(line, max(end, start + 1))


def _with_what_belongs_to_it(line: str, end: int) -> int:
    """The end including combining marks and joined emoji, which take no cells."""
    belonging = _kinds().belonging.match(line, end)
    return belonging.end() if belonging is not None else end


class _Kinds(NamedTuple):
    """Characters by cell width: wide, zero-width, or else one cell."""

    not_wide: re.Pattern[str]
    not_zero: re.Pattern[str]
    belonging: re.Pattern[str]

    def most_cells(self, text: str) -> int:
        """An upper bound: joined emoji are counted, though they take no cells."""
        return len(text) + len(self.not_wide.sub("", text)) - len(self.not_zero.sub("", text))


@cache
def _kinds() -> _Kinds:
    widths = [(chr(first), chr(last), cells) for first, last, cells in cell_widths() if last <= _QUICK_UNTIL]
    wide = "".join(f"{first}-{last}" for first, last, cells in widths if cells == 2)
    zero = "".join(f"{first}-{last}" for first, last, cells in widths if cells == 0 and first > "\x7f")
    zero = zero.replace(f"-{_WIDENING}", f"-{chr(ord(_WIDENING) - 1)}")
    return _Kinds(
        re.compile(f"[^{wide}{chr(_QUICK_UNTIL + 1)}-{chr(sys.maxunicode)}]+"),
        re.compile(f"[^{zero}]+"),
        re.compile(f"(?:{_JOINER}.|[{zero}])*", re.DOTALL),
    )
