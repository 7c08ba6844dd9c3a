"""A line cut where so many cells are full, whatever its letters; many letters at a time. Knows no screen.

The library measures letter by letter, which for a text of megabytes would be felt.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

_JOINER: Final = "\N{ZERO WIDTH JOINER}"
_WIDENING: Final = "\N{VARIATION SELECTOR-16}"
"""Makes what stands before it an emoji, which may take a cell more."""
_QUICK_UNTIL: Final = 0xFFFF
"""Expressions are slow to tell letters behind this one apart. Most are wide: all of them count as if they were."""


def rows_of_cells(line: str, width: int) -> Iterator[str]:
    """Rows that are never too wide; where emoji are joined they may be less full than they could be."""
    start = 0
    while start < len(line):
        end = _end_of_row(line, start, width)
        yield line[start:end]
        start = end


def _end_of_row(line: str, start: int, width: int) -> int:
    kinds, end, room = _kinds(), start, width
    while step := min(room // 2, len(line) - end):  # so many have room, however wide they are
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
    """Marks above and below letters, and what is joined to an emoji, take no cells."""
    belonging = _kinds().belonging.match(line, end)
    return belonging.end() if belonging is not None else end


class _Kinds(NamedTuple):
    """Letters by the cells they take; those of neither kind take one."""

    not_wide: re.Pattern[str]
    not_zero: re.Pattern[str]
    belonging: re.Pattern[str]

    def most_cells(self, text: str) -> int:
        """What is joined to an emoji counts, though it will take no cell."""
        return len(text) + len(self.not_wide.sub("", text)) - len(self.not_zero.sub("", text))


@cache
def _kinds() -> _Kinds:
    from rich._unicode_data import load

    widths = [(chr(first), chr(last), cells) for first, last, cells in load("auto").widths if last <= _QUICK_UNTIL]
    wide = "".join(f"{first}-{last}" for first, last, cells in widths if cells == 2)
    zero = "".join(f"{first}-{last}" for first, last, cells in widths if cells == 0 and first > "\x7f")
    zero = zero.replace(f"-{_WIDENING}", f"-{chr(ord(_WIDENING) - 1)}")
    return _Kinds(
        re.compile(f"[^{wide}{chr(_QUICK_UNTIL + 1)}-{chr(sys.maxunicode)}]+"),
        re.compile(f"[^{zero}]+"),
        re.compile(f"(?:{_JOINER}.|[{zero}])*", re.DOTALL),
    )
