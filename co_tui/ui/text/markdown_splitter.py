"""Splits streaming Markdown into pieces that can be rendered one by one."""

import re
from typing import NamedTuple

from co_tui.ui.text.markdown_pieces import NO_LEAD, Lead, LongCut, MarkdownPiece, OpenItem

LONG_BLOCK_CHARS = 3000
"""A longer block is cut: what is still being written is drawn again with every frame."""
LONGEST_CODE_LINE_CHARS = 4000
CODE_LINES_AT_ONCE = 24

_FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([^`\s]*)")
_DEEPEST_FENCE = 3
"""With a larger indent it is indented code, except in a list."""
_ITEM = re.compile(r"^ *(?:[-*+]|\d{1,9}[.)]) ", re.MULTILINE)
_CONTINUES = re.compile(r"^(\s+\S|[-*+] |\d+[.)] |\|)")
"""Lines that continue a list or table across a blank line."""
_MAY_CONTINUE = re.compile(r"^(\s*|[-*+]|\d+[.)]?)$")
"""The beginning of a line that may still become one of those."""


class _Fence(NamedTuple):
    """The fence that opened a code block."""

    marker: str
    language: str
    indent: int


class MarkdownSplitter:
    """Takes text as it streams and returns pieces as soon as they are final.

    A piece ends at a blank line outside of code, after some lines of code or within a very long one, or within
    a very long block, so that the part that must be rendered again stays small. Where it ends depends on the text
    only, not on how it arrives.
    """

    def __init__(self, longest_code_line: int = LONGEST_CODE_LINE_CHARS, *, reads_structure: bool = True) -> None:
        """Without `reads_structure`, long blocks are cut at line ends: importing the parser takes long."""
        self.rest = ""
        self._reads_structure = reads_structure
        self._lead = NO_LEAD
        self._room = LONG_BLOCK_CHARS
        """The length from which on a block is cut."""
        self._items: tuple[OpenItem, ...] = ()
        """The list items that contain the code block."""
        self._longest_code_line = longest_code_line
        self._scanned = 0
        self._fence: _Fence | None = None
        self._joined = False
        self._item = 0
        """Text indent of the list item that a code block interrupts; 0 outside of one."""
        self._mid_line = False
        """Whether the next piece continues a long line of code."""

    def feed(self, text: str) -> list[MarkdownPiece]:
        """Add text; returns the pieces that are now final."""
        self.rest += text
        final = []
        while (piece := self._next()) is not None:
            final.append(piece)
        return final

    @property
    def tail(self) -> MarkdownPiece | None:
        """The unfinished rest, as it would render if nothing more came."""
        if self._fence is not None:
            before, _, last = self.rest.rpartition("\n")
            # A closing fence at the very end is not a line of code.
            return self._code(before if self._closes(last) else self.rest)
        return self._prose(self.rest) if self.rest.strip() else None

    def _code(self, text: str) -> MarkdownPiece:
        assert self._fence is not None
        code = _dedented(text, self._fence.indent, first=not self._mid_line)
        return MarkdownPiece(code, self._fence.language, self._joined, self._item)

    def _prose(self, text: str) -> MarkdownPiece:
        return MarkdownPiece(_dedented(text, self._item), None, self._joined, self._item, self._lead)

    def _continue(self, at: int, *, joined: bool = False, lead: Lead = NO_LEAD) -> None:
        """Go on after a piece of prose."""
        self.rest, self._scanned, self._joined, self._lead = self.rest[at:], 0, joined, lead
        self._room = LONG_BLOCK_CHARS

    def _next_of_long(self) -> MarkdownPiece | None:
        """The beginning of a block that has become too long."""
        cut = self._cut(self.rest[: self._room])
        if cut is None or cut.at <= 0:
            self._room *= 2
            return self._next_prose()
        piece = self._prose(self.rest[: cut.at])._replace(flows_on=cut.lead.flows)
        self._continue(cut.at, joined=cut.joined, lead=cut.lead)
        return piece

    def _cut(self, text: str) -> LongCut | None:
        if self._reads_structure and not self._item:
            from co_tui.ui.text.long_blocks import cut_long

            return cut_long(text, self._lead)
        return LongCut(text.rfind("\n") + 1 or text.rfind(" ") + 1 or len(text), NO_LEAD)

    def _next(self) -> MarkdownPiece | None:
        return self._next_code() if self._fence is not None else self._next_prose()

    def _next_code(self) -> MarkdownPiece | None:
        lines = 0
        start = 0
        while (end := self.rest.find("\n", start, start + self._longest_code_line)) >= 0:
            line = self.rest[start:end]
            if self._closes(line):
                return self._close_code(start, end + 1)
            lines += 1
            start = end + 1
            if lines >= CODE_LINES_AT_ONCE:
                return self._part_of_code(start)
        if len(self.rest) - start >= self._longest_code_line:
            return self._part_of_code(start + self._longest_code_line)
        return None

    def _closes(self, line: str) -> bool:
        """Whether the line ends the code block that is open."""
        assert self._fence is not None
        marker, bare = self._fence.marker, line.strip()
        return bare.startswith(marker) and not bare.strip(marker[0])

    def _part_of_code(self, upto: int) -> MarkdownPiece:
        piece = self._code(self.rest[:upto])
        self._mid_line = not self.rest[:upto].endswith("\n")
        self.rest, self._joined = self.rest[upto:], True
        return piece

    def _close_code(self, start: int, after: int) -> MarkdownPiece:
        piece = self._code(self.rest[:start])
        self.rest, self._fence, self._joined, self._scanned = self.rest[after:], None, False, 0
        return piece

    def _next_prose(self) -> MarkdownPiece | None:
        start = self._scanned
        while (end := self.rest.find("\n", start, self._room)) >= 0:
            line = self.rest[start:end]
            if self._leaves_item(line):
                return self._end_item(start)
            if fence := self._opened(line, start):
                return self._open_code(start, end + 1, fence)
            if not line.strip() and self.rest[:start].strip():
                following = self.rest[end + 1 :]
                if _MAY_CONTINUE.match(following.lstrip("\n")):
                    self._scanned = start
                    return None  # the next characters decide whether the block ends here
                if not _CONTINUES.match(following.lstrip("\n")):
                    piece = self._prose(self.rest[:start])
                    self._continue(end + 1)
                    return piece
            start = end + 1
        self._scanned = start
        if self._leaves_item(self.rest[start:]):
            return self._end_item(start)
        return self._next_of_long() if len(self.rest) >= self._room else None

    def _leaves_item(self, line: str) -> bool:
        """Whether the line's indent ends the list item that a code block interrupts."""
        return bool(line.strip()) and _indent(line) < self._item

    def _end_item(self, at: int) -> MarkdownPiece | None:
        piece = self._prose(self.rest[:at])
        self._continue(at, lead=self._lead_after_item(at))
        self._item = 0
        return piece if piece.text.strip() else self._next_prose()

    def _lead_after_item(self, at: int) -> Lead:
        """The context of the line that leaves the item."""
        if not self._items:
            return NO_LEAD
        from co_tui.ui.text.long_blocks import lead_after

        return lead_after(self._items, _indent(self.rest[at:]))

    def _opened(self, line: str, start: int) -> _Fence | None:
        """The code block that the line opens."""
        fence = _FENCE.match(line)
        if fence is None or (len(fence[1]) > _DEEPEST_FENCE and not self._is_in_item(start)):
            return None
        return _Fence(fence[2], fence[3], len(fence[1]))

    def _is_in_item(self, start: int) -> bool:
        return self._item > 0 or _ITEM.search(self.rest, 0, start) is not None

    def _open_code(self, start: int, after: int, fence: _Fence) -> MarkdownPiece | None:
        """The prose before the code; when there is none, the first piece of code."""
        before, item = self._prose(self.rest[:start]), fence.indent if self._is_in_item(start) else 0
        self._note_items(start, fence.indent if item else 0)
        self._continue(after)
        self._fence, self._mid_line, self._item = fence, False, item
        return before if before.text.strip() else self._next_code()

    def _note_items(self, start: int, indent: int) -> None:
        """Remember the list items around a code block; a second one in the same item is in the same items."""
        if self._item:
            return
        self._items = ()
        if indent and self._reads_structure:
            from co_tui.ui.text.long_blocks import open_items

            found = open_items(self.rest[:start], self._lead)
            self._items = tuple(item for item in found if item.indent <= indent)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _dedented(text: str, indent: int, *, first: bool = True) -> str:
    """Remove up to `indent` spaces before each line; without `first`, from the second line on."""
    if not indent:
        return text
    lines = text.split("\n")
    keeps = 0 if first else 1
    return "\n".join((*lines[:keeps], *(line[min(indent, _indent(line)) :] for line in lines[keeps:])))


def code_blocks(text: str) -> list[str]:
    """The text of each fenced code block."""
    splitter = MarkdownSplitter()
    pieces = splitter.feed(text)
    tail = splitter.tail
    blocks: list[str] = []
    for piece in [*pieces, *([tail] if tail is not None else [])]:
        if piece.language is None:
            continue
        if piece.joined and blocks:
            blocks[-1] += piece.text
        else:
            blocks.append(piece.text)
    return [block.rstrip("\n") for block in blocks]
