"""Blocks as lines at one width: which line of which block stands where. Knows no screen."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from co_tui.ui.text.text_rendering import Look
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_rendering import Laid, estimated_height
from co_tui.ui.transcript.image_lines import MOST_ROWS

KEPT_LAYOUTS = 400


class LinePlace(NamedTuple):
    """A line of a block."""

    block: int
    line: int


TOP = LinePlace(0, 0)


class TranscriptLayout:
    """Heights are estimated until a block is laid out; what is handed out as lines always is, at the present width.

    Whoever lays a block out may find that it is higher or lower than was thought: rows counted from the
    beginning hold until then, a `LinePlace` that came from `window`, `walk` or `bottom_up` is real.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.look: Look | None = None
        self.version = 0
        """Another number after every change of what would be drawn."""
        self._width = 0
        self._image_rows = MOST_ROWS
        self._heights: list[int] = []
        self._ends: list[int] | None = []
        self._laid: OrderedDict[Block, Laid] = OrderedDict()

    # What is laid out

    @property
    def laid_count(self) -> int:
        return len(self._laid)

    def set_look(self, look: Look) -> None:
        self.look = look
        self._forget_all()

    def set_width(self, width: int, top: LinePlace = TOP) -> LinePlace:
        """Lay everything out anew when the width is another; returns where the place at the top went.

        A place within a block stays at the same share of it, since the same words are then near it.
        """
        if width == self._width:
            return top
        before = self._heights[top.block] if top.block < len(self._heights) else 0
        self._width = width
        self._forget_all()
        self._heights = [estimated_height(block, width) for block in self.blocks]
        if not top.line or self.look is None or top.block >= len(self.blocks):
            return top
        return self.clamp(LinePlace(top.block, round(top.line * self.lay_out(top.block).height / max(1, before))))

    def set_height(self, height: int) -> None:
        """An image is never higher than what is seen at once."""
        rows = max(1, min(MOST_ROWS, height - 1))
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

    def refresh(self, block: Block) -> None:
        """The block's data changed: it is laid out again when it is next looked at."""
        self._laid.pop(block, None)
        index = self.index_of(block)
        if index is not None:
            self._heights[index] = estimated_height(block, self._width)
        self._changed()

    def refresh_all(self, blocks: Iterable[Block]) -> None:
        """The same for many."""
        for block in blocks:
            self._laid.pop(block, None)
        self._heights = [
            laid.height if (laid := self._laid.get(block)) else estimated_height(block, self._width)
            for block in self.blocks
        ]
        self._changed()

    def grow(self, block: Block, text: str) -> None:
        """Text was added at the end of a reply: what is laid out of it is kept."""
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

    # Where things are

    def index_of(self, block: Block) -> int | None:
        """Where the block is; looked for from the end, where changes happen."""
        for index in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[index] is block:
                return index
        return None

    @property
    def row_count(self) -> int:
        ends = self._line_ends()
        return ends[-1] if ends else 0

    def row_of(self, place: LinePlace) -> int:
        """The place counted in lines from the beginning."""
        return (self._line_ends()[place.block - 1] if place.block > 0 else 0) + place.line

    def place_of(self, row: int) -> LinePlace | None:
        """The line at a row; its block is laid out, and where that shows it to be lower, its last line serves."""
        if not self.blocks or not 0 <= row < self.row_count:
            return None
        index = bisect_right(self._line_ends(), row)
        line = row - self.row_of(LinePlace(index, 0))
        return LinePlace(index, min(line, max(0, self.lay_out(index).height - 1)))

    def clamp(self, place: LinePlace) -> LinePlace:
        """The nearest line that exists."""
        if not self.blocks:
            return TOP
        index = min(max(0, place.block), len(self.blocks) - 1)
        return LinePlace(index, min(max(0, place.line), max(0, self.lay_out(index).height - 1)))

    def walk(self, place: LinePlace, delta: int) -> LinePlace:
        """So many lines further down, or up, through real heights; stops at both ends."""
        if not self.blocks:
            return TOP
        index, line = self.clamp(place)
        line += delta
        while index > 0 and line < 0:
            index -= 1
            line += self.lay_out(index).height
        while index < len(self.blocks) - 1 and line >= (height := self.lay_out(index).height):
            line -= height
            index += 1
        return self.clamp(LinePlace(index, line))

    def bottom_up(self, height: int) -> LinePlace:
        """The line from which `height` lines reach to the end."""
        index, covered = len(self.blocks), 0
        while index > 0 and covered < height:
            index -= 1
            covered += self.lay_out(index).height
        return LinePlace(index, max(0, covered - height)) if self.blocks else TOP

    def window(self, top: LinePlace, height: int) -> list[LinePlace]:
        """The lines in view below a place, fewer than `height` at the end."""
        places: list[LinePlace] = []
        if not self.blocks:
            return places
        index, line = self.clamp(top)
        while index < len(self.blocks) and len(places) < height:
            last = self.lay_out(index).height
            places += [LinePlace(index, each) for each in range(line, min(last, line + height - len(places)))]
            index, line = index + 1, 0
        return places

    def lay_out(self, index: int) -> Laid:
        """The block at the present width."""
        block = self.blocks[index]
        laid = self._laid.get(block)
        if laid is None:
            assert self.look is not None
            laid = self._laid[block] = Laid(block, self.look, self._width, self._image_rows)
            if len(self._laid) > KEPT_LAYOUTS:
                self._laid.popitem(last=False)
        else:
            self._laid.move_to_end(block)
        if self._heights[index] != laid.height:
            self._heights[index] = laid.height
            self._ends = None
        return laid

    def _line_ends(self) -> list[int]:
        if self._ends is None:
            self._ends = list(accumulate(self._heights))
        return self._ends
