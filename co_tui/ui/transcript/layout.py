"""Maps rows to lines of blocks at one width. Independent of the screen."""

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_rendering import MAX_ROWS, BlockLayout, estimated_height

KEPT_LAYOUTS = 100
"""Several screens above and below; each takes 10 to 30 kB."""


class LinePosition(NamedTuple):
    """A line of a block."""

    block: int
    line: int


TOP = LinePosition(0, 0)


class TranscriptLayout:
    """Heights are estimated until a block is laid out; returned lines always are laid out at the current width.

    Laying a block out can change its height, which invalidates rows counted from the beginning;
    a `LinePosition` returned by `window`, `walk` or `bottom_up` stays valid.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.renderer: TextRenderer | None = None
        self.version = 0
        """Increases with every change of what would be drawn."""
        self._width = 0
        self._image_rows = MAX_ROWS
        self._heights: list[int] = []
        self._ends: array[int] | None = None
        self._laid: OrderedDict[Block, BlockLayout] = OrderedDict()

    # Laying out

    @property
    def laid_count(self) -> int:
        return len(self._laid)

    def set_renderer(self, renderer: TextRenderer) -> None:
        self.renderer = renderer
        self._forget_all()

    def set_width(self, width: int, top: LinePosition = TOP) -> LinePosition:
        """Discard all layouts when the width changed; returns the line that now has the text of the top line."""
        if width == self._width:
            return top
        before = self._laid.get(self.blocks[top.block]) if top.block < len(self.blocks) else None
        self._width = width
        self._forget_all()
        self._heights = [estimated_height(block, width) for block in self.blocks]
        if not top.line or self.renderer is None or before is None:
            return top
        return LinePosition(top.block, self.lay_out(top.block).same_line(before, top.line))

    def set_height(self, height: int) -> None:
        """Limit images to the height of the viewport."""
        rows = max(1, min(MAX_ROWS, height - 1))
        if rows != self._image_rows:
            self._image_rows = rows
            self.refresh_all([block for block in self._laid if block.images])

    def show(self, blocks: Iterable[Block]) -> None:
        self.blocks = list(blocks)
        self._heights = [estimated_height(block, self._width) for block in self.blocks]
        self._forget_all()

    def insert(self, at: int, blocks: Sequence[Block]) -> None:
        self.blocks[at:at] = blocks
        self._heights[at:at] = [estimated_height(block, self._width) for block in blocks]
        self._changed()

    def remove(self, index: int) -> None:
        self._laid.pop(self.blocks[index], None)
        del self.blocks[index], self._heights[index]
        self._changed()

    def remove_first(self, count: int) -> None:
        for block in self.blocks[:count]:
            self._laid.pop(block, None)
        del self.blocks[:count], self._heights[:count]
        self._changed()

    def refresh(self, block: Block) -> None:
        """The block's data changed: lay it out again when it is next needed."""
        self._laid.pop(block, None)
        index = self.index_of(block)
        if index is not None:
            self._heights[index] = estimated_height(block, self._width)
        self._changed()

    def refresh_all(self, blocks: Iterable[Block]) -> None:
        """Refresh many blocks at once."""
        for block in blocks:
            self._laid.pop(block, None)
        self._heights = [
            laid.height if (laid := self._laid.get(block)) else estimated_height(block, self._width)
            for block in self.blocks
        ]
        self._changed()

    def show_removals(self, blocks: Iterable[Block]) -> None:
        """Draw blocks as in or out of the context; no height changes."""
        for block in blocks:
            if (laid := self._laid.get(block)) is not None:
                laid.show_removal(block.is_faded)
        self.version += 1

    def grow(self, block: Block, text: str) -> None:
        """Append text to a reply without laying out the rest again."""
        laid = self._laid.get(block)
        index = self.index_of(block)
        if laid is None or index is None or not laid.can_grow:
            self.refresh(block)
            return
        laid.grow(text)
        self._heights[index] = laid.height
        self._changed()

    def _forget_all(self) -> None:
        self._laid.clear()
        self._changed()

    def _changed(self) -> None:
        self._ends = None
        self.version += 1

    # Positions

    def index_of(self, block: Block) -> int | None:
        """The block's index; searched from the end, where changes happen."""
        for index in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[index] is block:
                return index
        return None

    @property
    def row_count(self) -> int:
        ends = self._line_ends()
        return ends[-1] if ends else 0

    def row_of(self, position: LinePosition) -> int:
        """The row of a position, counted from the beginning."""
        return (self._line_ends()[position.block - 1] if position.block > 0 else 0) + position.line

    def position_at(self, row: int) -> LinePosition | None:
        """The position at a row; the block's last line if its real height is lower than estimated."""
        if not self.blocks or not 0 <= row < self.row_count:
            return None
        index = bisect_right(self._line_ends(), row)
        line = row - self.row_of(LinePosition(index, 0))
        return LinePosition(index, min(line, max(0, self.lay_out(index).height - 1)))

    def clamp(self, position: LinePosition) -> LinePosition:
        """The nearest existing position."""
        if not self.blocks:
            return TOP
        index = min(max(0, position.block), len(self.blocks) - 1)
        return LinePosition(index, min(max(0, position.line), max(0, self.lay_out(index).height - 1)))

    def walk(self, position: LinePosition, delta: int) -> LinePosition:
        """The position `delta` lines further down or up, by real heights; stops at both ends."""
        if not self.blocks:
            return TOP
        index, line = self.clamp(position)
        line += delta
        while index > 0 and line < 0:
            index -= 1
            line += self.lay_out(index).height
        while index < len(self.blocks) - 1 and line >= (height := self.lay_out(index).height):
            line -= height
            index += 1
        return self.clamp(LinePosition(index, line))

    def bottom_up(self, height: int) -> LinePosition:
        """The position from which `height` lines reach the end."""
        index, covered = len(self.blocks), 0
        while index > 0 and covered < height:
            index -= 1
            covered += self.lay_out(index).height
        return LinePosition(index, max(0, covered - height)) if self.blocks else TOP

    def window(self, top: LinePosition, height: int) -> list[LinePosition]:
        """Up to `height` lines from a position on."""
        positions: list[LinePosition] = []
        if not self.blocks:
            return positions
        index, line = self.clamp(top)
        while index < len(self.blocks) and len(positions) < height:
            last = self.lay_out(index).height
            positions += [LinePosition(index, each) for each in range(line, min(last, line + height - len(positions)))]
            index, line = index + 1, 0
        return positions

    def lay_out(self, index: int) -> BlockLayout:
        """The block's layout at the current width."""
        block = self.blocks[index]
        laid = self._laid.get(block)
        if laid is None:
            assert self.renderer is not None
            laid = self._laid[block] = BlockLayout(block, self.renderer, self._width, self._image_rows)
            if len(self._laid) > KEPT_LAYOUTS:
                self._laid.popitem(last=False)
        else:
            self._laid.move_to_end(block)
        if self._heights[index] != laid.height:
            self._heights[index] = laid.height
            self._ends = None
        return laid

    def _line_ends(self) -> "array[int]":
        if self._ends is None:
            self._ends = array("q", accumulate(self._heights))
        return self._ends
