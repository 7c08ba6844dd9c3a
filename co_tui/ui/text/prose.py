"""Markdown as lines that can grow while it is still being written."""

from rich.segment import Segment
from textual.strip import Strip

from co_tui.ui.text.markdown_splitter import (
    LONGEST_CODE_LINE_CHARS,
    LONGEST_PARAGRAPH_CHARS,
    MarkdownPiece,
    MarkdownSplitter,
)
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
        self._splitter = MarkdownSplitter(max(1, LONGEST_CODE_LINE_CHARS // inner) * inner)
        self._final: list[list[Segment]] = []
        self._tail: list[list[Segment]] = []

    def feed(self, text: str) -> None:
        for piece in self._splitter.feed(text):
            self._add(self._final, self._lines(piece), piece)
        tail = self._splitter.tail
        self._tail = []
        if tail is None:
            return
        lines = self._lines(tail)
        if tail.language is None and len(tail.text) > LONGEST_PARAGRAPH_CHARS and len(lines) > 3:
            self._freeze_all_but_last(lines)
            tail = self._splitter.tail
            lines = self._lines(tail) if tail else []
        if tail is not None:
            self._add(self._tail, lines, tail)

    def _freeze_all_but_last(self, lines: list[Strip]) -> None:
        """Make the full lines of a very long paragraph final; only its last line can still change."""
        last = lines[-1].text.strip()
        at = self._splitter.rest.rfind(last) if last else -1
        if at <= 0:
            at = self._splitter.rest.rfind(" ", 0, LONGEST_PARAGRAPH_CHARS) + 1 or LONGEST_PARAGRAPH_CHARS
        piece = self._splitter.split_tail(at)
        self._add(self._final, self._lines(piece), piece)

    def _lines(self, piece: MarkdownPiece) -> list[Strip]:
        indent = min(piece.indent + 1 if piece.indent else 0, self._width // 2)  # as lists are drawn
        width = self._width - indent
        code = piece.language is not None
        lines = (
            self._renderer.code(piece.text, piece.language or "", width)
            if code
            else self._renderer.prose(piece.text, width)
        )
        return [Strip([Segment(" " * indent), *line]) for line in lines] if indent else lines

    def _add(self, lines: list[list[Segment]], more: list[Strip], piece: MarkdownPiece) -> None:
        if not piece.joined and (self._final or lines) and more:
            lines.append([])
        lines.extend(map(list, more))

    def __len__(self) -> int:
        return len(self._final) + len(self._tail)

    def __getitem__(self, index: int) -> list[Segment]:
        count = len(self._final)
        return self._final[index] if index < count else self._tail[index - count]
