"""The conversation, as one line-rendered widget: only what is near the viewport is ever laid out."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from co_tui.ui.widgets.blocks import Block
from co_tui.ui.widgets.rendering import Laid, Look, estimated_height

STREAM_INTERVAL_S = 0.05
"""The open block is drawn again at most so often."""
KEPT_LAYOUTS = 400
MORE_BELOW = "↓ more below · end"


class Transcript(ScrollView, can_focus=True):
    """Shows blocks. Heights are estimated until a block comes near the viewport; the line at the top
    of the viewport (or the end, while following) stays where it is when estimates turn into heights."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "fold", "Open/close", id="transcript.toggle"),
        Binding("left_square_bracket", "previous_fold", "Previous fold", key_display="[", id="transcript.previous"),
        Binding("right_square_bracket", "next_fold", "Next fold", key_display="]", id="transcript.next"),
        Binding("c", "copy", "Copy", id="transcript.copy"),
    ]

    class NearTop(Message):
        """The reader is close to the first block that is loaded."""

    class Followed(Message):
        """The view began or ceased to follow the end."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._blocks: list[Block] = []
        self._heights: list[int] = []
        self._ends: list[int] | None = []
        self._laid: OrderedDict[Block, Laid] = OrderedDict()
        self._look: Look | None = None
        self._top = (0, 0)
        """Block and line within it at the top of the viewport."""
        self._following = True
        self._placing = False
        self._pending: dict[Block, list[str]] = {}
        self._timer: Timer | None = None
        self._cursor: Block | None = None
        self._needle = ""

    # What is shown

    @property
    def blocks(self) -> Sequence[Block]:
        return self._blocks

    @property
    def following(self) -> bool:
        return self._following

    @property
    def _width(self) -> int:
        return max(10, self.scrollable_content_region.width)

    def set_look(self, look: Look) -> None:
        self._look = look
        self._laid.clear()
        self._settle()

    def show(self, blocks: Iterable[Block]) -> None:
        """Replace everything, and look at the end."""
        self._blocks = list(blocks)
        self._heights = [estimated_height(block, self._width) for block in self._blocks]
        self._ends = None
        self._laid.clear()
        self._pending.clear()
        self._cursor = None
        self._follow(True)
        self._settle()

    def prepend(self, blocks: Sequence[Block]) -> None:
        """Add older blocks above; what is being read stays where it is."""
        self._blocks[:0] = blocks
        self._heights[:0] = [estimated_height(block, self._width) for block in blocks]
        self._ends = None
        self._top = (self._top[0] + len(blocks), self._top[1])
        self._settle()

    def append(self, *blocks: Block) -> None:
        for block in blocks:
            self._blocks.append(block)
            self._heights.append(estimated_height(block, self._width))
        self._ends = None
        self._settle()

    def drop(self, block: Block) -> None:
        index = self._index(block)
        if index is not None:
            del self._blocks[index], self._heights[index]
            self._ends = None
            self._laid.pop(block, None)
            self._pending.pop(block, None)
            if self._top[0] > index:
                self._top = (self._top[0] - 1, self._top[1])
            self._settle()

    def changed(self, block: Block) -> None:
        """Draw a block again after its data changed."""
        self._laid.pop(block, None)
        index = self._index(block)
        if index is not None:
            self._heights[index] = estimated_height(block, self._width)
            self._ends = None
            self._settle()

    def grow(self, block: Block, text: str) -> None:
        """Add streamed text to a reply; drawn with the next frame of the stream."""
        block.text += text
        self._pending.setdefault(block, []).append(text)
        if self._timer is None:
            self._timer = self.set_timer(STREAM_INTERVAL_S, self._draw_pending)

    def _draw_pending(self) -> None:
        self._timer = None
        for block, chunks in self._pending.items():
            laid = self._laid.get(block)
            if laid is None or block.kind != "reply":
                self._laid.pop(block, None)
            else:
                laid.grow("".join(chunks))
            index = self._index(block)
            if index is not None and laid is not None and block.kind == "reply":
                self._heights[index] = laid.height
        self._pending.clear()
        self._ends = None
        self._settle()

    # Layout

    def _index(self, block: Block) -> int | None:
        """Where the block is; looked for from the end, where changes happen."""
        for index in range(len(self._blocks) - 1, -1, -1):
            if self._blocks[index] is block:
                return index
        return None

    def _offset_of(self, index: int) -> int:
        ends = self._line_ends()
        return ends[index - 1] if index > 0 else 0

    def _line_ends(self) -> list[int]:
        if self._ends is None:
            self._ends = list(accumulate(self._heights))
        return self._ends

    def _lay_out(self, index: int) -> Laid:
        block = self._blocks[index]
        laid = self._laid.get(block)
        if laid is None:
            assert self._look is not None
            laid = self._laid[block] = Laid(block, self._look, self._width)
            self._pending.pop(block, None)
            if len(self._laid) > KEPT_LAYOUTS:
                self._laid.popitem(last=False)
        else:
            self._laid.move_to_end(block)
        if self._heights[index] != laid.height:
            self._heights[index] = laid.height
            self._ends = None
        return laid

    def _settle(self) -> None:
        """Lay out what is in view, then size and scroll so that the reader's place stays."""
        if self._look is None or not self.is_mounted or not self.size:
            return
        height = self.scrollable_content_region.height
        if self._following:
            index, covered = len(self._blocks), 0
            while index > 0 and covered < height:
                index -= 1
                covered += self._lay_out(index).height
            self._top = (index, max(0, covered - height)) if self._blocks else (0, 0)
        else:
            index, line = self._top
            index = min(index, max(0, len(self._blocks) - 1))
            if self._blocks:
                line = min(line, self._lay_out(index).height - 1)
            self._top = (index, line)
            covered = -line
            while index < len(self._blocks) and covered < height:
                covered += self._lay_out(index).height
                index += 1
        self._place()

    def _place(self) -> None:
        ends = self._line_ends()
        self._placing = True
        try:
            self.virtual_size = Size(self._width, ends[-1] if ends else 0)
            if self._following:
                self.scroll_end(animate=False, immediate=True, force=True, x_axis=False)
            else:
                self.scroll_to(
                    y=self._offset_of(self._top[0]) + self._top[1], animate=False, immediate=True, force=True
                )
        finally:
            self._placing = False
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if not self._placing and self.is_mounted and round(old_value) != round(new_value):
            self._moved(round(new_value) - round(old_value), round(new_value))
        super().watch_scroll_y(old_value, new_value)

    def _moved(self, delta: int, target: int) -> None:
        """The reader scrolled: walk there through real heights, so that no line is skipped or seen twice."""
        if abs(delta) > 4 * self.size.height:
            index = min(bisect_right(self._line_ends(), target), max(0, len(self._blocks) - 1))
            self._top = (index, target - self._offset_of(index))
        else:
            self._top = self._walk(self._top, delta)
        self._follow(target >= self.max_scroll_y)
        self._settle()
        if self._top[0] < 5:
            self.post_message(self.NearTop())

    def _walk(self, place: tuple[int, int], delta: int) -> tuple[int, int]:
        index, line = place
        line += delta
        while index > 0 and line < 0:
            index -= 1
            line += self._lay_out(index).height
        while index < len(self._blocks) - 1 and line >= (height := self._lay_out(index).height):
            line -= height
            index += 1
        return index, max(0, line)

    def _follow(self, following: bool) -> None:
        if following != self._following:
            self._following = following
            self.border_subtitle = "" if following else MORE_BELOW
            self.post_message(self.Followed(following))

    def follow_end(self) -> None:
        self._follow(True)
        self._settle()

    def on_resize(self, event: events.Resize) -> None:
        self._laid.clear()
        self._heights = [estimated_height(block, self._width) for block in self._blocks]
        self._ends = None
        self._settle()

    # Lines

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = round(self.scroll_y) + y
        base = self.rich_style
        place = self._place_of(row)
        if place is None or self._look is None:
            return Strip.blank(width, base)
        index, line = place
        laid = self._lay_out(index)
        strip = laid.line(line)
        if self._blocks[index] is self._cursor and line == laid.title_line:
            strip = strip.extend_cell_length(width).apply_style(Style(reverse=True))
        if self._needle:
            strip = _marked(strip, self._needle)
        strip = self._selected(strip, row)
        return strip.crop_extend(0, width, base).apply_style(base).apply_offsets(0, row)

    def _place_of(self, row: int) -> tuple[int, int] | None:
        ends = self._line_ends()
        if not 0 <= row < (ends[-1] if ends else 0):
            return None
        index = bisect_right(ends, row)
        return index, row - self._offset_of(index)

    def _selected(self, strip: Strip, row: int) -> Strip:
        selection = self.text_selection
        if selection is None or (span := selection.get_span(row)) is None:
            return strip
        start, end = span
        length = strip.cell_length
        end = length if end == -1 else min(end, length)
        if start >= end:
            return strip
        style = self.screen.get_component_rich_style("screen--selection")
        return Strip.join([strip.crop(0, start), strip.crop(start, end).apply_style(style), strip.crop(end)])

    # Selecting and copying

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        total = self._line_ends()[-1] if self._blocks else 0
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else total - 1
        lines = []
        for row in range(max(0, first), min(last, total - 1) + 1):
            place = self._place_of(row)
            text = self._lay_out(place[0]).line(place[1]).text if place else ""
            lines.append(text)
        local = Selection(
            Offset(selection.start.x, 0) if selection.start else None,
            Offset(selection.end.x, last - first) if selection.end else None,
        )
        extracted = local.extract("\n".join(lines))
        return "\n".join(line.rstrip() for line in extracted.split("\n")), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def action_copy(self) -> None:
        """Copy the selection, else the highlighted block, else the last reply."""
        selected = self.screen.get_selected_text()
        block = self._cursor or next((each for each in reversed(self._blocks) if each.kind == "reply"), None)
        text = selected or (block.plain if block else "")
        if text:
            self.app.copy_to_clipboard(text)
            self.notify("Copied.", timeout=2)

    # Folding

    def on_click(self, event: events.Click) -> None:
        place = self._place_of(round(self.scroll_y) + event.y - self.gutter.top)
        if place is not None and not self.screen.get_selected_text():
            block = self._blocks[place[0]]
            if block.foldable and place[1] == self._lay_out(place[0]).title_line:
                self._toggle(block)

    def action_fold(self) -> None:
        block = self._cursor or self._fold_in_view()
        if block is not None:
            self._cursor = block
            self._toggle(block)

    def toggle_all(self) -> None:
        """Open everything that is folded, or fold everything when nothing is."""
        foldable = [block for block in self._blocks if block.foldable]
        fold = not any(block.folded for block in foldable)
        for block in foldable:
            block.folded = fold
            self._laid.pop(block, None)
        self._heights = [
            laid.height if (laid := self._laid.get(block)) else estimated_height(block, self._width)
            for block in self._blocks
        ]
        self._ends = None
        self._settle()

    def _toggle(self, block: Block) -> None:
        block.folded = not block.folded
        if self._following and not block.folded:
            # Opening something is reading it: the view must not run away to the end.
            self._follow(False)
        self.changed(block)

    def _fold_in_view(self) -> Block | None:
        index, covered = self._top[0], -self._top[1]
        found = None
        while index < len(self._blocks) and covered < self.size.height:
            if self._blocks[index].foldable:
                found = self._blocks[index]
            covered += self._heights[index]
            index += 1
        return found

    def action_next_fold(self) -> None:
        self._move_cursor(1)

    def action_previous_fold(self) -> None:
        self._move_cursor(-1)

    def _move_cursor(self, step: int) -> None:
        if self._cursor is None:
            self._cursor = self._fold_in_view()
            self.refresh()
            return
        index = self._index(self._cursor)
        places = range(index + step, len(self._blocks) if step > 0 else -1, step) if index is not None else ()
        for place in places:
            if self._blocks[place].foldable:
                self._cursor = self._blocks[place]
                self.show_block(place)
                return

    # Searching

    def find(self, needle: str, *, back: bool = False) -> bool:
        """Mark the text, and go to the next block that holds it, upwards unless told otherwise."""
        self._needle = needle.lower()
        self.refresh()
        if not self._needle:
            return False
        count = len(self._blocks)
        start = self._top[0]
        step = 1 if back else -1
        order = range(start + step, count if step > 0 else -1, step)
        wrapped = range(0 if step > 0 else count - 1, start + step, step)
        for index in (*order, *wrapped):
            block = self._blocks[index]
            if self._needle in block.plain.lower():
                block.folded = False
                self._laid.pop(block, None)
                self.show_block(index, self._line_with(index))
                return True
        return False

    def _line_with(self, index: int) -> int:
        laid = self._lay_out(index)
        for line in range(laid.height):
            if self._needle in laid.line(line).text.lower():
                return line
        return 0

    def show_block(self, index: int, line: int = 0) -> None:
        """Bring a block's line into view, a little below the top."""
        self._follow(False)
        self._top = self._walk((index, line), -2)
        self._settle()
        if self.scroll_y >= self.max_scroll_y:
            self._follow(True)

    def action_scroll_end(self) -> None:
        self.follow_end()


def _marked(strip: Strip, needle: str) -> Strip:
    """The strip with every occurrence of the needle reversed."""
    text = strip.text.lower()
    at = text.find(needle)
    if at < 0 or len(text) != strip.cell_length:  # wide characters: cells and characters differ
        return strip.apply_style(Style(reverse=True)) if at >= 0 else strip
    parts, done = [], 0
    while at >= 0:
        parts += [strip.crop(done, at), strip.crop(at, at + len(needle)).apply_style(Style(reverse=True, bold=True))]
        done = at + len(needle)
        at = text.find(needle, done)
    return Strip.join([*parts, strip.crop(done)])
