"""A table that is still being written: only its new rows are drawn."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from textual.strip import Strip

from co_tui.ui.text.text_rendering import TextRenderer

BETWEEN_COLUMNS: Final = 2
HEAD_ROWS: Final = 2
"""The header and the line below it, in the source and as drawn."""
_HEAD: Final = re.compile(r"\|[^\n]*\n[ ]{0,3}\|?[ \t:|-]*-[ \t:|-]*\n")


class GrownTable(NamedTuple):
    """A table that was drawn while it grew."""

    lines: list[Strip]
    columns: list[int]


class GrowingTable:
    """Keeps the lines of complete rows. They are drawn again only when a new row needs wider columns.

    A row is one line while all columns fit the width, and only then are rows drawn one by one.
    """

    def __init__(self, renderer: TextRenderer, width: int) -> None:
        self._renderer, self._width = renderer, width
        self._head = self._kept = ""
        """The source of the header, and of all rows that are kept, with the header."""
        self._columns: list[int] = []
        self._measured_chars = 0
        """How much of the source the columns were measured on; the rows after it fit them."""
        self._lines: list[Strip] = []

    def forget(self) -> None:
        """Another block begins."""
        self._kept = ""

    def complete_rows(self, source: str) -> "GrownTable | None":
        """The lines of a source whose beginning was drawn before, or that with more rows; None if it was not."""
        if not self._kept or not source.endswith("\n") or len(source) < self._measured_chars:
            return None
        if self._kept.startswith(source):
            return GrownTable(self._lines[: source.count("\n")], list(self._columns))
        lines = self._with_new_rows(source) if source.startswith(self._kept) else None
        return GrownTable(lines, list(self._columns)) if lines is not None else None

    def lines(self, source: str, columns: Sequence[int]) -> list[Strip] | None:
        """The lines of a source that is a table and nothing else, else None; `columns` are their least widths."""
        found = self._with_new_rows(source) if self._kept and source.startswith(self._kept) else None
        return found if found is not None else self._anew(source, columns)

    def _with_new_rows(self, source: str) -> list[Strip] | None:
        new = source[len(self._kept) :]
        rows = _rows(new)
        if rows is None:
            return None
        columns = list(self._columns)
        drawn = self._renderer.prose(self._head + new, self._width, (), columns) if rows else []
        if columns != self._columns or (rows and len(drawn) != HEAD_ROWS + len(rows)):
            return None
        lines = [*self._lines, *drawn[HEAD_ROWS:]]
        self._keep(source, lines)
        return lines

    def _anew(self, source: str, columns: Sequence[int]) -> list[Strip] | None:
        self._kept = ""
        head = _HEAD.match(source) if self._renderer.rich else None
        rows = _rows(source[head.end() :]) if head is not None else None
        if head is None or not rows:
            return None
        measured = list(columns)
        lines = self._renderer.prose(source, self._width, (), measured)
        fits = sum(measured) + BETWEEN_COLUMNS * len(measured) <= self._width
        if measured and fits and len(lines) == HEAD_ROWS + len(rows):
            self._head, self._columns, self._measured_chars = head[0], measured, len(source)
            self._keep(source, lines)
        return lines

    def _keep(self, source: str, lines: Sequence[Strip]) -> None:
        """Keep all rows but the last if it may go on."""
        self._kept = source[: source.rfind("\n") + 1]
        self._lines = list(lines[: self._kept.count("\n")])


def _rows(source: str) -> list[str] | None:
    """The rows of the source that are drawn; None if a line may be something else than a row.

    An empty row is not drawn at the end: one that is only begun does not count, and others are left to the renderer.
    """
    *rows, last = source.split("\n")
    rows += [last] if last.strip("| ") else []
    is_table = all(row.startswith("|") and row.strip("| ") for row in rows) and last[:1] in ("", "|")
    return rows if is_table else None
