"""Diffs as lines: line numbers, and added and removed text on a background over the full width."""

import re
from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from co_tui.events.file_diff import DiffRow, Span
from co_tui.late_pattern import late_pattern
from co_tui.ui.text.text_rendering import TextRenderer

TAB = "    "
BETWEEN_HUNKS = "⋮"
GUTTER = " │ "
_HUNK = late_pattern(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
LOOKED_AT_CHARS = 20_000


def without_tabs(text: str, marks: Iterable[Span] = ()) -> tuple[str, list[Span]]:
    """Text with tabs as spaces, and where its marks are then."""
    wider = len(TAB) - 1
    moved = [tuple(at + wider * text.count("\t", 0, at) for at in mark) for mark in marks]
    return text.replace("\t", TAB), [(first, last) for first, last in moved]


def number_of(row: DiffRow, width: int) -> str:
    """What is left of a row's text."""
    if row.sign == "gap":
        return f"{BETWEEN_HUNKS:>{width}}"
    return f"{row.number or '':>{width}}{GUTTER}"


def diff_strips(rows: Sequence[DiffRow], number_width: int, renderer: TextRenderer, width: int) -> list[Strip]:
    """The rows of a diff; long lines wrap, indented past their number."""
    return [strip for row in rows for strip in _row(row, number_width, renderer, width)]


def _row(row: DiffRow, number_width: int, renderer: TextRenderer, width: int) -> list[Strip]:
    number = number_of(row, number_width)
    if row.sign == "file":
        return renderer.plain(row.text, width, Style(bold=True))
    if row.sign in ("gap", "note"):
        return renderer.plain(number + row.text, width, renderer.muted)
    room = max(1, width - len(number))
    lines = _code(row, renderer, room)
    indent = " " * number_width + GUTTER
    return [Strip([Segment(indent if n else number, renderer.muted), *line]) for n, line in enumerate(lines)]


def _code(row: DiffRow, renderer: TextRenderer, width: int) -> list[Strip]:
    words, marks = without_tabs(row.text, row.marks)
    if row.sign == " ":
        return renderer.lines(Text(f" {words}", overflow="fold"), width)
    ground, symbol, marked = (
        (renderer.came, renderer.me, renderer.came_word)
        if row.sign == "+"
        else (renderer.went, renderer.gone, renderer.went_word)
    )
    text = Text.assemble((row.sign, symbol), words, style=ground, overflow="fold")
    for first, last in marks:
        text.stylize(marked, first + 1, last + 1)
    return [strip.extend_cell_length(width, ground) for strip in renderer.lines(text, width)]


def holds_diff(text: str) -> bool:
    """Whether a text contains a unified diff."""
    return _HUNK.search(text, 0, LOOKED_AT_CHARS) is not None


def coloured_diff(lines: list[str], renderer: TextRenderer, width: int) -> list[Strip]:
    """The lines of a diff as written, with added and removed ones on a coloured background."""
    return [strip for line in lines for strip in _coloured(line, renderer, width)]


def _coloured(line: str, renderer: TextRenderer, width: int) -> list[Strip]:
    if line.startswith(("+++ ", "--- ", "diff ", "index ")):
        return renderer.plain(line, width, Style(bold=True))
    if line[:1] not in ("+", "-"):
        return renderer.plain(line, width, renderer.muted if line.startswith("@") else None)
    background, symbol = (renderer.came, renderer.me) if line[0] == "+" else (renderer.went, renderer.gone)
    text = Text.assemble((line[0], symbol), line[1:].expandtabs(4), style=background, overflow="fold")
    return [strip.extend_cell_length(width, background) for strip in renderer.lines(text, width)]
