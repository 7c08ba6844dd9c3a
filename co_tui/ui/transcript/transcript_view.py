"""The conversation as one line-rendered widget: only blocks near the viewport are laid out."""

import time
from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from co_tui.ui.keys.command_table import shortcut_for
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.textual_internals import ScrollViewInternals, update_scroll_bar
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.drawn_lines import DrawnLine, DrawnLines, LineLook, LineSource
from co_tui.ui.transcript.layout import TOP, LinePosition, TranscriptLayout
from co_tui.ui.transcript.stream_pace import StreamPace

MORE_BELOW = "↓ more below"
NARROWEST, GAP_TO_BAR = 10, 1
GUTTER, REMOVED_BAR = " ", "▏"
"""The column left of each line; it shows what the model no longer sees."""
MIN_ROWS = 5
"""Below this height there is no room for a border."""
LINES_ABOVE = 2
"""Lines shown above a block that is scrolled to."""


class TranscriptView(ScrollViewInternals):
    """Shows blocks. The top line of the viewport (or the end, while following) stays in place
    when estimated heights become real, when the width changes, and while text streams in below."""

    class NearTop(Message):
        """The reader is close to the first block that is loaded."""

    class Followed(Message):
        """The view started or stopped following the end."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._layout = TranscriptLayout()
        self._top = TOP
        self._following = True
        self._is_scrolling = False
        self._rows_short = 0
        """How many rows there were when they did not fill the view."""
        self._settled_size = Size(0, 0)
        self._view: list[LinePosition] = []
        self._view_of: tuple[LinePosition, int, int] | None = None
        """The top, layout version and height for which `_view` is valid."""
        self._drawn = DrawnLines()
        self._pending: dict[Block, list[str]] = {}
        self._timer: Timer | None = None
        self._due_s = float("inf")
        """When the next frame of a stream is due, while one is waited for."""
        self.pace = StreamPace()
        self._bar_is_old = False
        """Whether a frame of a stream left the scroll bar as it was."""
        self.end_key = shortcut_for("to_the_end")
        """Label of the key that scrolls to the end; empty without one."""

    # Content

    @property
    def blocks(self) -> Sequence[Block]:
        return self._layout.blocks

    @property
    def following(self) -> bool:
        return self._following

    @property
    def layout_of_blocks(self) -> TranscriptLayout:
        return self._layout

    @property
    def top(self) -> LinePosition:
        """The line at the top of the viewport."""
        return self._top

    @property
    def _width(self) -> int:
        return max(NARROWEST, self.scrollable_content_region.width - len(GUTTER) - GAP_TO_BAR)

    def set_renderer(self, renderer: TextRenderer) -> None:
        self._layout.set_renderer(renderer)
        self._settle()

    def show(self, blocks: Iterable[Block]) -> None:
        """Replace all blocks and scroll to the end."""
        self._layout.show(blocks)
        self._pending.clear()
        self._rows_short = 0
        self._follow(True)
        self._settle()

    def prepend(self, blocks: Sequence[Block]) -> None:
        """Add older blocks above without moving the view."""
        block, line = self._top
        if blocks and self.blocks:
            more = self.blocks[0].put_below(blocks)
            self._layout.refresh(self.blocks[0])
            line = max(0, line + more) if block == 0 else line
        self._layout.insert(0, blocks)
        self._top = LinePosition(block + len(blocks), line)
        self._settle()

    def remove_first(self, count: int) -> None:
        """Remove the first blocks without moving the view, which is below them."""
        self._layout.remove_first(count)
        self._rows_short = 0
        self._top = LinePosition(max(0, self._top.block - count), self._top.line)
        self._settle()

    def append(self, *blocks: Block, before: Block | None = None) -> None:
        """Add blocks at the end, or above the block `before`."""
        position = self._layout.index_of(before) if before is not None else None
        self._layout.insert(len(self.blocks) if position is None else position, blocks)
        self._settle()

    def insert_below(self, above: Block, block: Block) -> None:
        """Add a block below another without moving the view."""
        index = self._layout.index_of(above)
        if index is not None:
            self._layout.insert(index + 1, [block])
            if self._top.block > index:
                self._top = LinePosition(self._top.block + 1, self._top.line)
            self._settle()

    def drop(self, block: Block) -> None:
        index = self._layout.index_of(block)
        if index is not None:
            self._layout.remove(index)
            self._pending.pop(block, None)
            if self._top.block > index:
                self._top = LinePosition(self._top.block - 1, self._top.line)
            self._settle()

    def changed(self, block: Block) -> None:
        """Draw a block again after its data changed."""
        self._layout.refresh(block)
        self._settle()

    def grow(self, block: Block, text: str) -> None:
        """Add streamed text to a block, drawn with the next frame of the stream."""
        self._pending.setdefault(block, []).append(text)
        if self._timer is None:
            self._draw_when_due()

    def _draw_when_due(self) -> None:
        """Draw the streamed text, or wait until it is due; the last frame may cost more than was known."""
        if wait_s := self.pace.wait_s:
            self._due_s = time.monotonic() + wait_s
            self._timer = self.set_timer(wait_s, self._draw_when_due)
        else:
            self.draw_streamed()

    def draw_streamed(self) -> None:
        """Draw the text streamed since the last frame."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        due_s, self._due_s = self._due_s, float("inf")
        if not self._pending:
            return
        pending, self._pending = self._pending, {}
        with self.pace.frame(due_s):
            for block, chunks in pending.items():
                text = "".join(chunks)
                block.text += text
                self._layout.grow(block, text)
            self._settle()

    # Layout

    def _settle(self) -> None:
        """Lay out what is in view, then update size and scroll offset without moving the reader's line."""
        if self._layout.renderer is None or not self.is_mounted or not self.size:
            return
        self._top = self._layout.set_width(self._width, self._top)
        height = self.scrollable_content_region.height
        self._layout.set_height(height)
        if self._following:
            self._top = self._layout.bottom_up(height)
        else:
            self._top = self._layout.clamp(self._top)
            if len(self._layout.window(self._top, height)) < height:
                self._top = self._layout.bottom_up(height)
        self._update_scroll()
        rows = self._layout.row_count
        if rows < height and rows != self._rows_short and any(block.seq for block in self.blocks):
            self._rows_short = rows
            self._request_older()  # nothing can be scrolled

    def _update_scroll(self) -> None:
        self._is_scrolling = True
        try:
            self._settled_size = self.size
            self._set_rows(self._layout.row_count)
            self.scroll_to(y=self._layout.row_of(self._top), animate=False, immediate=True, force=True)
        finally:
            self._is_scrolling = False
        if self.pace.holds_bar:
            self.refresh(Region(0, 0, *self.scrollable_content_region.size))
        else:
            self.refresh()

    def _set_rows(self, rows: int) -> None:
        """Update the scroll bar alone: setting `virtual_size` would lay out and draw the whole screen."""
        size = Size(self._width, rows)
        self._bar_is_old = self._bar_is_old or size != self.virtual_size
        self.set_reactive(ScrollView.virtual_size, size)
        if self._bar_is_old and not self.pace.holds_bar:
            self._bar_is_old = False
            self.pace.bar_drawn()
            self.vertical_scrollbar.position = self.scroll_y
            update_scroll_bar(self, size)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        # During a resize Textual scrolls by itself; `_resized` corrects that.
        moved = round(old_value) != round(new_value) and self.size == self._settled_size
        if moved and not self._is_scrolling and self.is_mounted:
            self._moved(round(new_value) - round(old_value), round(new_value))
        if not self.pace.holds_bar:
            super().watch_scroll_y(old_value, new_value)

    def _moved(self, delta: int, target: int) -> None:
        """The reader scrolled: walk through real heights, so that no line is skipped or repeated."""
        if abs(delta) > 4 * self.size.height:
            self._top = self._layout.position_at(target) or self._layout.bottom_up(self.size.height)
        else:
            self._top = self._layout.walk(self._top, delta)
        self._follow(target >= self.max_scroll_y)
        self._settle()
        self._request_older()

    def held_at_top(self) -> None:
        if not self._is_scrolling:  # else it is the view that puts itself in place
            self._request_older()

    def _request_older(self) -> None:
        if self._top.block < 5 and self.text_selection is None:  # what is selected stays where it is
            self.post_message(self.NearTop())

    def _follow(self, following: bool) -> None:
        if following != self._following:
            self._following = following
            more_below = " · ".join(filter(None, (MORE_BELOW, self.end_key)))
            self.border_subtitle = "" if following else more_below
            self.post_message(self.Followed(following))

    def follow_end(self) -> None:
        self._follow(True)
        self._settle()

    def show_block(self, index: int, line: int = 0) -> None:
        """Bring a block's line into view, a little below the top."""
        self._follow(False)
        self._top = self._layout.walk(LinePosition(index, line), -LINES_ABOVE)
        self._settle()
        if self.scroll_y >= self.max_scroll_y:
            self._follow(True)
        self._request_older()

    def in_view(self) -> list[LinePosition]:
        """The lines that can be seen."""
        return self._layout.window(self._top, self.scrollable_content_region.height)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(self.outer_size.height < MIN_ROWS, "-squeezed")

    def sized(self) -> None:
        """Every frame at a new size shows the reader's line, or the end."""
        if self.size != self._settled_size:
            self._resized()

    def _resized(self) -> None:
        self._settle()

    def action_scroll_end(self) -> None:
        self.follow_end()

    # Lines

    def notify_style_update(self) -> None:
        self._drawn.clear()
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """As any widget's, but a row that was drawn before is not drawn again."""
        around = (self.background_colors, self.opacity, self.border_title, self.border_subtitle)
        self._drawn.use_look((crop.x, crop.width, self.outer_size, *around, *self.get_line_filters()))
        look, top, height = self._look(), self.gutter.top, self.size.height
        positions = self._positions()
        lines = {
            y: self._line(y - top, positions, look) if 0 <= y - top < height else self._drawn.edge(y)
            for y in crop.line_range
        }
        missing = [y for y, line in lines.items() if line.whole is None]
        if missing:  # usually at the end
            first, last = missing[0], missing[-1]
            drawn = super().render_lines(Region(crop.x, first, crop.width, last - first + 1))
            for y in missing:
                lines[y].whole = drawn[y - first]
        return [line.whole for line in lines.values() if line.whole is not None]

    def render_line(self, y: int) -> Strip:
        return self._line(y, self._positions(), self._look()).strip

    def _look(self) -> LineLook:
        look = LineLook(self.scrollable_content_region.width, self.visual_style.rich_style)
        self._drawn.use_content_look(look)
        return look

    def _line(self, y: int, positions: Sequence[LinePosition], look: LineLook) -> DrawnLine:
        """A line of the viewport; one with highlights is drawn every time."""
        width, base = look
        room = width - len(GUTTER)
        if y >= len(positions):
            return DrawnLine(None, Strip([_blank_gutter(base), Segment(" " * room, base)], width))
        position = positions[y]
        laid, row = self._layout.lay_out(position.block), self._layout.row_of(position)
        source = LineSource(*laid.source(position.line), self.blocks[position.block].removal is not None)
        plain = not self._has_highlights(position)
        if plain and (found := self._drawn.get(row, source)) is not None:
            return found
        strip = self._decorated(laid.line(position.line), position, room)
        text = strip.crop_extend(0, room, base).apply_style(base).apply_offsets(0, row)
        drawn = DrawnLine(source, Strip([self._gutter(position, base), *text], width))
        if plain:
            self._drawn.keep(row, drawn, len(positions))
        return drawn

    def _gutter(self, position: LinePosition, base: Style) -> Segment:
        """The column left of a line; the empty line above a block stays empty."""
        block, renderer = self.blocks[position.block], self._layout.renderer
        if block.removal is None or renderer is None or not (position.line or block.tight):
            return _blank_gutter(base)
        return Segment(REMOVED_BAR, base + renderer.muted)

    def _has_highlights(self, position: LinePosition) -> bool:
        """Whether `_decorated` changes the line."""
        return False

    def _decorated(self, strip: Strip, position: LinePosition, width: int) -> Strip:
        """The line with highlights; subclasses add them."""
        return strip

    def _position_at(self, y: int) -> LinePosition | None:
        """The position drawn at a row of the viewport."""
        positions = self._positions()
        return positions[y] if 0 <= y < len(positions) else None

    def _positions(self) -> Sequence[LinePosition]:
        """The positions in the viewport, which may just have been resized."""
        if self._layout.renderer is None:
            return ()
        self._top = self._layout.set_width(self._width, self._top)
        wanted = (self._top, self._layout.version, self.size.height)
        if self._view_of != wanted:
            self._view = self._layout.window(self._top, self.size.height)
            self._view_of = wanted
        return self._view


def _blank_gutter(base: Style) -> Segment:
    return Segment(GUTTER, base.background_style)
