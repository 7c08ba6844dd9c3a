"""Search in blocks: counting matches, stepping through them, highlighting them in a line."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from co_tui.ui.text.find_in_text import lowercase
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.layout import LinePosition, TranscriptLayout


class Match(NamedTuple):
    """One match: the nth (from 0) of its block."""

    block: Block
    nth: int


class Search:
    """The search text, its matches by block, and the current match."""

    def __init__(self) -> None:
        self.needle = ""
        """Lowercase; empty while there is no search."""
        self.match: Match | None = None
        self._line = 0
        """The current match's line within its block."""
        self._nth_in_line = 0
        self._counts: dict[Block, int] = {}

    def set_needle(self, text: str) -> None:
        needle = lowercase(text)
        if needle != self.needle:
            # A longer text can only match where the shorter one did.
            is_longer = bool(self.needle) and self.needle in needle
            without = {block: 0 for block, count in self._counts.items() if not count} if is_longer else {}
            self.needle, self.match, self._counts = needle, None, without

    def count(self, blocks: Iterable[Block]) -> None:
        """Search more blocks."""
        for block in blocks:
            self._in(block)

    def forget(self, block: Block) -> None:
        """Its text changed."""
        self._counts.pop(block, None)

    def _in(self, block: Block) -> int:
        if not self.needle:
            return 0
        if block not in self._counts:
            self._counts[block] = lowercase(block.plain).count(self.needle)
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
        self._line, self._nth_in_line = self._line_of(layout, index, self.match.nth)
        return LinePosition(index, self._line)

    def current_in_line(self, block: Block, line: int) -> int | None:
        """Which match of a line (from 0) is the current one; None when none is."""
        is_here = self.match is not None and self.match.block is block and line == self._line
        return self._nth_in_line if is_here else None

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

    def _line_of(self, layout: TranscriptLayout, index: int, nth: int) -> tuple[int, int]:
        """The line of the nth match, and which match of that line it is; a match that is wrapped or hidden by Markdown
        counts as the nearest visible one."""
        laid = layout.lay_out(index)
        lines = [n for n in laid.lines_with(self.needle) for _ in range(lowercase(laid.text_of(n)).count(self.needle))]
        if not lines:
            return min(laid.title_line, max(0, laid.height - 1)), 0
        nth = min(nth, len(lines) - 1)
        return lines[nth], nth - lines.index(lines[nth])


def marked(strip: Strip, needle: str, style: Style, current_match: tuple[int, Style] | None = None) -> Strip:
    """The strip with all matches highlighted; the current one (its number and style) differently."""
    text = strip.text
    small = lowercase(text)
    parts: list[Strip] = []
    done, at = 0, small.find(needle)
    while at >= 0:
        start = cell_len(text[:at])
        end = start + cell_len(text[at : at + len(needle)])
        own = current_match[1] if current_match is not None and current_match[0] == len(parts) // 2 else style
        parts += [strip.crop(done, start), Strip(Segment.apply_style(strip.crop(start, end), post_style=own))]
        done, at = end, small.find(needle, at + len(needle))
    return Strip.join([*parts, strip.crop(done)]) if parts else strip
