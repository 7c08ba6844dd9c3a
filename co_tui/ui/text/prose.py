"""Markdown as lines that can grow while it is still being written."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from co_tui.ui.text.markdown_pieces import MARKER, NO_LEAD, MarkdownPiece
from co_tui.ui.text.markdown_splitter import LONGEST_CODE_LINE_CHARS, MarkdownSplitter
from co_tui.ui.text.text_rendering import TextRenderer, code_width

BETWEEN_COLUMNS: Final = 2
HEAD_ROWS: Final = 2
"""The header and the line below it, in the source and as drawn."""
_TABLE_HEAD: Final = re.compile(r"\|[^\n]*\n[ ]{0,3}\|?[ \t:|-]*-[ \t:|-]*\n")

CODE_MARGIN = 2
"""Cells left and right of a code block's text."""


class Prose:
    """Markdown as lines at one width; appending does not render the rest again.

    Lines are kept as segments: a strip holds a dozen caches, which slow garbage collection down.
    """

    def __init__(self, renderer: TextRenderer, width: int) -> None:
        self._renderer = renderer
        self._width = width
        # Cut long lines of code where they are wrapped.
        inner = max(1, code_width(width) - CODE_MARGIN)
        self._splitter = MarkdownSplitter(
            max(1, LONGEST_CODE_LINE_CHARS // inner) * inner, reads_structure=renderer.rich
        )
        self._table = GrowingTable(renderer, width)
        self._columns: list[int] = []
        """How wide the columns of the last final table are."""
        self._drawn_columns: list[int] = []
        self._open_line: list[Segment] = []
        """The last line of a long paragraph that continues; drawn with what follows it."""
        self._final: list[list[Segment]] = []
        self._tail: list[list[Segment]] = []

    def feed(self, text: str) -> None:
        before, first = self._tail, len(self._final)
        for piece in self._splitter.feed(text):
            self._add(self._final, self._final_lines(piece), piece)
            self._columns = self._drawn_columns
            self._open_line = self._final.pop() if piece.flows_on and self._final else []
            self._table.forget()
        tail = self._splitter.tail
        self._tail = [self._open_line] if self._open_line else []
        if tail is not None:
            self._tail = []
            self._add(self._tail, self._tail_lines(tail), tail)
        self._keep_same(first, before)

    def _keep_same(self, first: int, before: list[list[Segment]]) -> None:
        """Keep the same list for the same line, so that it is not drawn again."""
        for at, drawn in enumerate(before[: len(self) - first], first):
            lines, index = (self._final, at) if at < len(self._final) else (self._tail, at - len(self._final))
            if lines[index] == drawn:
                lines[index] = drawn

    def _final_lines(self, piece: MarkdownPiece) -> list[Strip]:
        """The lines of a piece that is complete; a table was drawn while it grew."""
        if _may_be_table(piece) and (grown := self._table.complete_rows(piece.lead.text + piece.text)) is not None:
            self._drawn_columns = grown.columns
            return grown.lines
        return self._lines(piece)

    def _tail_lines(self, piece: MarkdownPiece) -> list[Strip]:
        """The lines of what is still being written."""
        lead = piece.lead
        if _may_be_table(piece):
            columns = self._columns if lead.is_table else ()
            if (lines := self._table.lines(lead.text + piece.text, columns)) is not None:
                return lines
        return self._lines(piece)

    def _lines(self, piece: MarkdownPiece) -> list[Strip]:
        indent = min(piece.indent + 1 if piece.indent else 0, self._width // 2)  # as lists are drawn
        width = self._width - indent
        if piece.language is not None:
            lines = self._renderer.code(piece.text, piece.language, width)
        else:
            lines = self._prose_lines(piece, width)
        return [Strip([Segment(" " * indent), *line]) for line in lines] if indent else lines

    def _prose_lines(self, piece: MarkdownPiece, width: int) -> list[Strip]:
        """The piece's lines, read after its lead, without what the lead draws."""
        lead = piece.lead
        if not lead.flows:
            self._drawn_columns = list(self._columns) if lead.is_table else []
            lines = self._renderer.prose(lead.text + piece.text, width, lead.starts, self._drawn_columns)
            lines = _without_marked(lines, lead.rows)
            return [_from_marker(lines[0], is_item=bool(lead.starts)), *lines[1:]] if lead.hangs and lines else lines
        before = Strip(self._open_line)
        before = before.crop(0, cell_len(before.text.rstrip()))
        lines = self._renderer.prose(f"{MARKER * before.cell_length}{lead.space}{piece.text}", width)
        if not lines:
            return [before]
        return [Strip([*before, *lines[0].crop(before.cell_length)]), *lines[1:]]

    def _add(self, lines: list[list[Segment]], more: list[Strip], piece: MarkdownPiece) -> None:
        if not piece.joined and (self._final or lines) and more:
            lines.append([])
        lines.extend(map(list, more))

    def __len__(self) -> int:
        return len(self._final) + len(self._tail)

    def __getitem__(self, index: int) -> list[Segment]:
        count = len(self._final)
        return self._final[index] if index < count else self._tail[index - count]


def _may_be_table(piece: MarkdownPiece) -> bool:
    """Whether it may be a table and nothing else."""
    lead = piece.lead
    return piece.language is None and not piece.indent and (lead is NO_LEAD or (lead.is_table and not lead.rows))


def _without_marked(lines: list[Strip], count: int) -> list[Strip]:
    """Without the first lines, up to the given number of lines with a marker."""
    for at, line in enumerate(lines):
        if not count:
            return lines[at:]
        count -= MARKER in line.text
    return [] if count <= 0 else lines


def _from_marker(line: Strip, *, is_item: bool) -> Strip:
    """The line with its text moved to where the marker is; blanks replace the bullet of an item."""
    before, marker, after = line.text.partition(MARKER)
    if not marker:
        return line
    start = cell_len(before)
    left = [Segment(" " * start)] if is_item else line.crop(0, start)
    return Strip([*left, *line.crop(start + 1 + after.startswith(" "))])


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
        rows = _table_rows(new)
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
        head = _TABLE_HEAD.match(source) if self._renderer.rich else None
        rows = _table_rows(source[head.end() :]) if head is not None else None
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


def _table_rows(source: str) -> list[str] | None:
    """The rows of the source that are drawn; None if a line may be something else than a row.

    An empty row is not drawn at the end: one that is only begun does not count, and others are left to the renderer.
    """
    *rows, last = source.split("\n")
    rows += [last] if last.strip("| ") else []
    is_table = all(row.startswith("|") and row.strip("| ") for row in rows) and last[:1] in ("", "|")
    return rows if is_table else None
