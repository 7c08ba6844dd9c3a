"""Repositions the cursor after characters whose width differs between terminals."""

import re
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len

_UNCERTAIN: Final = (
    "\u00ad"  # soft hyphen
    "\u0900-\u109f\u1780-\u17ff\u1a20-\u1aaf"  # scripts of India and South-East Asia, whose marks may take a cell
    "\u200b-\u200f\u2060-\u2064"  # joiners, and others that should take none
    "\u20e3\ufe00-\ufe0f"  # keycaps, and what makes a sign an emoji
    "\U0001f000-\U0001faff\U000e0000-\U000e0fff"  # emoji, flags, skin tones, tags
)
_HOLDS_ANY: Final = re.compile(f"[{_UNCERTAIN}]")
# Compiled when they are first needed: most screens hold no such character.
_RUN: Final = f"[^\\s\x00-\x1f]?[{_UNCERTAIN}][{_UNCERTAIN}\u0300-\u036f]*"
_PIECE: Final = (
    r"\x1b\[(?:\d+;(?P<column>\d+)H|[0-9;:?<=>]*(?P<command>[@-~]))"
    r"|\x1b\](?:[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|(?P<text>[^\x00-\x1f]+)"
    r"|(?P<other>[\x00-\x1f])"
)
_STAYS: Final = frozenset("mhlqt")
"""Final bytes of sequences that do not move the cursor: colours, modes, shapes, titles."""


def with_fixed_columns(data: str) -> str:
    """The same output, in which a character of unexpected width shifts nothing behind it."""
    return "".join(_sure(data)) if _HOLDS_ANY.search(data) else data


def _sure(data: str) -> Iterator[str]:
    column: int | None = None
    for piece in re.finditer(_PIECE, data):
        if piece["column"]:
            column = int(piece["column"])
        elif piece["text"] and column is not None:
            yield _placed(piece["text"], column)
            column += cell_len(piece["text"])
            continue
        elif piece["other"] or (piece["command"] and piece["command"] not in _STAYS):
            column = None  # not screen output, so the column is unknown
        yield piece[0]


def _placed(text: str, column: int) -> str:
    """Write each uncertain run over blanks of its expected width, then set the cursor behind it."""
    parts, done = [], 0
    for run in re.finditer(_RUN, text):
        column += cell_len(text[done : run.start()])
        width = cell_len(run[0])
        parts += [text[done : run.start()], " " * width, f"\x1b[{column}G", run[0], f"\x1b[{column + width}G"]
        column, done = column + width, run.end()
    return "".join((*parts, text[done:]))
