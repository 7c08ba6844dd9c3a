"""Marks in drawn rows of code, by which they are copied without margins and wraps."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

_EDGE: Final = "code_edge"
_TAB: Final = "code_tab"
TAB_SPACES: Final = 4


def edge_mark(*, continues: bool) -> Style:
    """Marks what is drawn around the code; the last one says whether the line continues in the next row."""
    return Style.from_meta({_EDGE: continues})


def with_blanks(line: Sequence[Segment]) -> list[Segment]:
    """A line of code with blanks for its tabs, marked so that they are copied as tabs."""
    shown: list[Segment] = []
    column = 0
    for text, style, _ in line:
        for number, piece in enumerate(text.split("\t")):
            if number:
                blanks = TAB_SPACES - column % TAB_SPACES
                column += blanks
                # The last blank is the tab: a row may end between them.
                for mark in (*[""] * (blanks - 1), "\t"):
                    shown.append(Segment(" ", (style or Style.null()) + Style.from_meta({_TAB: mark})))
            if piece:
                column += cell_len(piece)
                shown.append(Segment(piece, style))
    return shown


def as_written(row: Sequence[Segment], start: int, end: int) -> str:
    """A part of a row of code, by its characters on the screen."""
    metas = ((segment.text, segment.style.meta if segment.style else {}) for segment in row)
    return "".join([meta.get(_TAB, char) for text, meta in metas for char in text][start:end])


class CodeSpan(NamedTuple):
    """Where the code is in a row."""

    start: int
    end: int
    continues: bool
    """Whether its line continues in the next row."""


def code_in(row: Sequence[Segment]) -> CodeSpan | None:
    """The code in a row; None for other text."""
    starts = accumulate((len(segment.text) for segment in row), initial=0)
    metas = (segment.style.meta if segment.style else {} for segment in row)
    edges = [(at, bool(meta[_EDGE])) for at, meta in zip(starts, metas, strict=False) if _EDGE in meta]
    return CodeSpan(edges[0][0] + 1, edges[1][0], edges[-1][1]) if edges else None
