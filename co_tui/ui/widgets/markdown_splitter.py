"""Cutting Markdown into pieces that can be rendered one by one, while it is still being written."""

import re
from typing import NamedTuple

LONGEST_PARAGRAPH_CHARS = 3000
LONGEST_CODE_LINE_CHARS = 4000
CODE_LINES_AT_ONCE = 24

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)")
_CONTINUES = re.compile(r"^(\s+\S|[-*+] |\d+[.)] |\|)")
"""Lines that belong to a list or table begun above the blank line before them."""
_MAY_CONTINUE = re.compile(r"^(\s*|[-*+]|\d+[.)]?)$")
"""The beginning of a line that may still turn out to be one of those, or not."""


class MarkdownPiece(NamedTuple):
    """Markdown that will not change any more, or the end that still may."""

    text: str
    language: str | None = None
    """Lines of a code block; None for other Markdown."""
    joined: bool = False
    """Follows the piece before it without a gap: both are parts of one block."""


class Cutter:
    """Takes text as it comes and gives out pieces as soon as they are final.

    A piece ends at a blank line outside of code, or within code after some lines or within a very long one,
    or within a paragraph that has become very long, so that what must be rendered again stays small whatever
    is being written.
    """

    def __init__(self, longest_code_line: int = LONGEST_CODE_LINE_CHARS) -> None:
        self.rest = ""
        self._longest_code_line = longest_code_line
        self._scanned = 0
        self._fence: tuple[str, str] | None = None
        self._joined = False

    def feed(self, text: str) -> list[MarkdownPiece]:
        """Add text; returns the pieces that are now final."""
        self.rest += text
        final = []
        while (piece := self._next()) is not None:
            final.append(piece)
        return final

    @property
    def tail(self) -> MarkdownPiece | None:
        """What is left, as it would look if nothing more came."""
        if self._fence is not None:
            before, _, last = self.rest.rpartition("\n")
            # The closing fence, when nothing follows it, is no line of code.
            return MarkdownPiece(before if self._closes(last) else self.rest, self._fence[1], self._joined)
        return MarkdownPiece(self.rest, None, self._joined) if self.rest.strip() else None

    def split_tail(self, at: int) -> MarkdownPiece:
        """Make the tail's beginning final; for a paragraph that grew too long."""
        piece = MarkdownPiece(self.rest[:at], None, self._joined)
        self.rest, self._scanned, self._joined = self.rest[at:], 0, True
        return piece

    def _next(self) -> MarkdownPiece | None:
        return self._next_code() if self._fence is not None else self._next_prose()

    def _next_code(self) -> MarkdownPiece | None:
        assert self._fence is not None
        _, language = self._fence
        lines = 0
        start = 0
        while (end := self.rest.find("\n", start, start + self._longest_code_line)) >= 0:
            line = self.rest[start:end]
            if self._closes(line):
                return self._close_code(start, end + 1, language)
            lines += 1
            start = end + 1
            if lines >= CODE_LINES_AT_ONCE:
                return self._part_of_code(start, language)
        if len(self.rest) - start >= self._longest_code_line:
            return self._part_of_code(start + self._longest_code_line, language)
        return None

    def _closes(self, line: str) -> bool:
        """Whether the line ends the code block that is open."""
        assert self._fence is not None
        marker, bare = self._fence[0], line.strip()
        return bare.startswith(marker) and not bare.strip(marker[0])

    def _part_of_code(self, upto: int, language: str) -> MarkdownPiece:
        piece = MarkdownPiece(self.rest[:upto], language, self._joined)
        self.rest, self._joined = self.rest[upto:], True
        return piece

    def _close_code(self, start: int, after: int, language: str) -> MarkdownPiece:
        piece = MarkdownPiece(self.rest[:start], language, self._joined)
        self.rest, self._fence, self._joined, self._scanned = self.rest[after:], None, False, 0
        return piece

    def _next_prose(self) -> MarkdownPiece | None:
        start = self._scanned
        while (end := self.rest.find("\n", start)) >= 0:
            line = self.rest[start:end]
            opened = _FENCE.match(line)
            if opened:
                before = self.rest[:start]
                self.rest, self._scanned = self.rest[end + 1 :], 0
                self._fence = (opened[1], opened[2])
                piece = MarkdownPiece(before, None, self._joined)
                self._joined = False
                if before.strip():
                    return piece
                return self._next_code()
            if not line.strip() and self.rest[:start].strip():
                following = self.rest[end + 1 :]
                if _MAY_CONTINUE.match(following.lstrip("\n")):
                    break  # what comes next decides whether the block ends here
                if not _CONTINUES.match(following.lstrip("\n")):
                    piece = MarkdownPiece(self.rest[:start], None, self._joined)
                    self.rest, self._scanned, self._joined = following, 0, False
                    return piece
            start = end + 1
        self._scanned = start
        return None


def code_blocks(text: str) -> list[str]:
    """The code between fences, each block as one text."""
    cutter = Cutter()
    pieces = cutter.feed(text)
    tail = cutter.tail
    blocks: list[str] = []
    for piece in [*pieces, *([tail] if tail is not None else [])]:
        if piece.language is None:
            continue
        if piece.joined and blocks:
            blocks[-1] += piece.text
        else:
            blocks.append(piece.text)
    return [block.rstrip("\n") for block in blocks]
