"""Marks in drawn rows of code, by which they are copied without margins and wraps."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from rich.segment import Segment
from rich.style import Style

_EDGE: Final = "code_edge"


def edge_mark(*, continues: bool) -> Style:
    """Marks what is drawn around the code; the last one says whether the line continues in the next row."""
    return Style.from_meta({_EDGE: continues})


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
