"""Grapheme clusters: characters as people see them, of any number of code points."""

from itertools import groupby
from operator import itemgetter

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

MAX_CHARS = 64
"""Characters examined on one side of the cursor; no grapheme is longer."""


def start_before(line: str, column: int) -> int:
    """The column where the grapheme before a column begins."""
    begin = max(0, column - MAX_CHARS)
    near = line[begin:column]
    return column - 1 if near.isascii() or column < 2 else begin + split_graphemes(near)[0][-1][0]


def end_after(line: str, column: int) -> int:
    """The column where the grapheme at a column ends."""
    near = line[column : column + MAX_CHARS]
    return column + 1 if near.isascii() else column + split_graphemes(near)[0][0][1]


def with_whole_characters(strip: Strip, width: int) -> Strip:
    """The line with no grapheme split between two styles, which would change its width."""
    text = strip.text
    if text.isascii() or len(list(strip)) < 2:
        return strip
    styles = [segment.style for segment in strip for _ in segment.text]
    drawn = [(styles[start], text[start:end]) for start, end, _ in split_graphemes(text)[0]]
    runs = groupby(drawn, key=itemgetter(0))
    segments = [Segment("".join(each for _, each in run), style) for style, run in runs]
    return Strip(segments).adjust_cell_length(width, styles[-1] if styles else Style())
