"""Search in blocks: counting matches, stepping through them, highlighting them in a line."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from co_tui.ui.text.find_in_text import lowercase
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_rendering import BlockLayout
from co_tui.ui.transcript.layout import KEPT_LAYOUTS, LinePosition, TranscriptLayout


class Match(NamedTuple):
    """One match: the nth (from 0) of its block."""

    block: Block
    nth: int


class MatchPart(NamedTuple):
    """The part of a match in one line of its block; a wrapped match has several."""

    nth: int
    line: int
    start: int
    end: int


def with_single_spaces(text: str) -> str:
    """Lowercase, and as it may be wrapped: each gap is one space."""
    return re.sub(r"\s+", " ", lowercase(text))


class Search:
    """The search text, its matches by block, and the current match."""

    def __init__(self) -> None:
        self.needle = ""
        """Lowercase; empty while there is no search."""
        self.match: Match | None = None
        self._counts: dict[Block, int] = {}
        self._parts: dict[BlockLayout, list[MatchPart]] = {}
        """The matches that can be seen, of blocks in view."""

    def set_needle(self, text: str) -> None:
        needle = with_single_spaces(text)
        if needle != self.needle:
            # A longer text can only match where the shorter one did.
            is_longer = bool(self.needle) and self.needle in needle
            without = {block: 0 for block, count in self._counts.items() if not count} if is_longer else {}
            self.needle, self.match, self._counts = needle, None, without
            self._parts.clear()

    def count(self, blocks: Iterable[Block]) -> None:
        """Search more blocks."""
        for block in blocks:
            self._in(block)

    def forget(self, block: Block) -> None:
        """Its text changed."""
        self._counts.pop(block, None)
        self._parts.clear()

    def _in(self, block: Block) -> int:
        if not self.needle:
            return 0
        if block not in self._counts:
            self._counts[block] = with_single_spaces(block.plain).count(self.needle)
        return self._counts[block]

    @property
    def total(self) -> int:
        """Matches in all blocks searched so far."""
        return sum(self._counts.values())

    def match_number(self, layout: TranscriptLayout) -> int:
        """The current match's number among all, from 1; 0 without one."""
        if self.match is None:
            return 0
        before = 0
        for block in layout.blocks:
            if block is self.match.block:
                return before + self.match.nth + 1
            before += self._counts.get(block, 0)
        return 0

    def step(self, layout: TranscriptLayout, start: LinePosition, step: int) -> LinePosition | None:
        """Go to the next match above (`step` −1) or below, wrapping around; the first one from `start` on.

        Unfolds the block that contains it.
        """
        found = self._next(layout, start, step)
        if found is None:
            self.match = None
            return None
        index, nth = found
        block = layout.blocks[index]
        if block.folded:
            block.folded = False
            layout.refresh(block)
        self.match = Match(block, nth)
        return self.position(layout)

    def position(self, layout: TranscriptLayout) -> LinePosition | None:
        """The current match's position in the current layout; None without one."""
        index = layout.index_of(self.match.block) if self.match is not None else None
        if self.match is None or index is None:
            return None
        return LinePosition(index, self._line_of(layout.lay_out(index), self.match.nth))

    def parts_in(self, layout: TranscriptLayout, position: LinePosition) -> Iterator[tuple[MatchPart, bool]]:
        """The matches in a line, and whether each is the current one."""
        block, laid = layout.blocks[position.block], layout.lay_out(position.block)
        nth = self.match.nth if self.match is not None and self.match.block is block else -1
        parts = self._parts_of(laid)
        yield from ((part, part.nth == nth) for part in parts if part.line == position.line)
        if nth > (parts[-1].nth if parts else -1) and position.line == laid.left_out_line:
            yield MatchPart(nth, position.line, *laid.words_in(position.line)[:2]), True

    def _next(self, layout: TranscriptLayout, start: LinePosition, step: int) -> tuple[int, int] | None:
        index = layout.index_of(self.match.block) if self.match is not None else None
        if index is not None and self.match is not None:
            nth = self.match.nth + step
            if 0 <= nth < self._in(layout.blocks[index]):
                return index, nth
            first = index + step
        else:
            first = start.block
        count = len(layout.blocks)
        for distance in range(count if self.needle else 0):
            at = (first + step * distance) % count
            if found := self._in(layout.blocks[at]):
                return at, found - 1 if step < 0 else 0
        return None

    def _parts_of(self, laid: BlockLayout) -> list[MatchPart]:
        if laid not in self._parts:
            if len(self._parts) > KEPT_LAYOUTS:
                self._parts.clear()
            self._parts[laid] = list(_visible_parts(laid, self.needle)) if self.needle else []
        return self._parts[laid]

    def _line_of(self, laid: BlockLayout, nth: int) -> int:
        """The line where the nth match begins; for one that is not shown the line that says so, else the last match."""
        parts = self._parts_of(laid)
        seen = next((part.line for part in parts if part.nth == nth), laid.left_out_line)
        if seen is None:
            seen = parts[-1].line if parts else min(laid.title_line, max(0, laid.height - 1))
        return seen


def _visible_parts(laid: BlockLayout, needle: str) -> Iterator[MatchPart]:
    """The parts of all matches in the lines of a block, read as one text."""
    lines = range(laid.title_line, laid.height)
    words = [laid.words_in(line) for line in lines]
    whole, starts = "", []
    for line, (start, end, continues) in zip(lines, words, strict=True):
        starts.append(len(whole))
        whole += lowercase(laid.text_of(line))[start:end] + ("" if continues else " ")
    for nth, found in enumerate(re.finditer(" +".join(map(re.escape, needle.split(" "))), whole)):
        row = bisect_right(starts, found.start()) - 1
        while row < len(starts) and starts[row] < found.end():
            start, end, _ = words[row]
            first, last = (start + max(0, at - starts[row]) for at in found.span())
            if first < min(last, end):
                yield MatchPart(nth, lines[row], first, min(last, end))
            row += 1


def marked(strip: Strip, parts: Iterable[tuple[MatchPart, bool]], style: Style, current: Style) -> Strip:
    """The strip with all matches highlighted; the current one differently."""
    text, pieces, done = strip.text, [], 0
    for part, is_current in parts:
        start, end = cell_len(text[: part.start]), cell_len(text[: part.end])
        own = current if is_current else style
        pieces += [strip.crop(done, start), Strip(Segment.apply_style(strip.crop(start, end), post_style=own))]
        done = end
    return Strip.join([*pieces, strip.crop(done)]) if pieces else strip
