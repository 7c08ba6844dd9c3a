"""Markdown as lines that can grow while it is still being written."""

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from co_tui.ui.text.growing_table import GrowingTable
from co_tui.ui.text.markdown_pieces import MARKER, NO_LEAD, MarkdownPiece
from co_tui.ui.text.markdown_splitter import LONGEST_CODE_LINE_CHARS, MarkdownSplitter
from co_tui.ui.text.text_rendering import TextRenderer

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
        inner = max(1, width - CODE_MARGIN)
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
