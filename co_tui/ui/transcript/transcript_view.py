"""The conversation as one line-rendered widget: only blocks near the viewport are laid out."""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from co_tui.ui.keys.command_table import shortcut_for
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.textual_internals import update_scroll_bar
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.layout import TOP, LinePosition, TranscriptLayout

STREAM_INTERVAL_S = 0.05
"""Minimum time between redraws of a streaming block."""
MORE_BELOW = "↓ more below"
NARROWEST, GAP_TO_BAR = 10, 1
GUTTER, REMOVED_BAR = " ", "▏"
"""The column left of each line; it shows what the model no longer sees."""
MIN_ROWS = 5
"""Below this height there is no room for a border."""
LINES_ABOVE = 2
"""Lines shown above a block that is scrolled to."""


class TranscriptView(ScrollView):
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
        self._settled_size = Size(0, 0)
        self._view: list[LinePosition] = []
        self._view_of: tuple[LinePosition, int, int] | None = None
        """The top, layout version and height for which `_view` is valid."""
        self._pending: dict[Block, list[str]] = {}
        self._timer: Timer | None = None
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
        self._follow(True)
        self._settle()

    def prepend(self, blocks: Sequence[Block]) -> None:
        """Add older blocks above without moving the view."""
        self._layout.insert(0, blocks)
        self._top = LinePosition(self._top.block + len(blocks), self._top.line)
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
            self._timer = self.set_timer(STREAM_INTERVAL_S, self.draw_streamed)

    def draw_streamed(self) -> None:
        """Draw the text streamed since the last frame."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not self._pending:
            return
        pending, self._pending = self._pending, {}
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

    def _update_scroll(self) -> None:
        self._is_scrolling = True
        try:
            self._settled_size = self.size
            self._set_rows(self._layout.row_count)
            self.scroll_to(y=self._layout.row_of(self._top), animate=False, immediate=True, force=True)
        finally:
            self._is_scrolling = False
        self.refresh()

    def _set_rows(self, rows: int) -> None:
        """Update the scroll bar alone: setting `virtual_size` would lay out and draw the whole screen."""
        size = Size(self._width, rows)
        if size != self.virtual_size:
            self.set_reactive(TranscriptView.virtual_size, size)
            update_scroll_bar(self, size)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        # During a resize Textual scrolls by itself; `_resized` corrects that.
        moved = round(old_value) != round(new_value) and self.size == self._settled_size
        if moved and not self._is_scrolling and self.is_mounted:
            self._moved(round(new_value) - round(old_value), round(new_value))
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

    def _request_older(self) -> None:
        if self._top.block < 5:
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
        self._resized()

    def _resized(self) -> None:
        self._settle()

    def action_scroll_end(self) -> None:
        self.follow_end()

    # Lines

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        base = self.visual_style.rich_style
        position = self._position_at(y)
        room = width - len(GUTTER)
        if position is None:
            return Strip([_blank_gutter(base), Segment(" " * room, base)], width)
        strip = self._decorated(self._layout.lay_out(position.block).line(position.line), position, room)
        row = self._layout.row_of(position)
        text = strip.crop_extend(0, room, base).apply_style(base).apply_offsets(0, row)
        return Strip([self._gutter(position, base), *text], width)

    def _gutter(self, position: LinePosition, base: Style) -> Segment:
        """The column left of a line; the empty line above a block stays empty."""
        block, renderer = self.blocks[position.block], self._layout.renderer
        if block.removal is None or renderer is None or not (position.line or block.tight):
            return _blank_gutter(base)
        return Segment(REMOVED_BAR, base + renderer.muted)

    def _decorated(self, strip: Strip, position: LinePosition, width: int) -> Strip:
        """The line with highlights; subclasses add them."""
        return strip

    def _position_at(self, y: int) -> LinePosition | None:
        """The position drawn at a row of the viewport, which may just have been resized."""
        if self._layout.renderer is None:
            return None
        self._top = self._layout.set_width(self._width, self._top)
        wanted = (self._top, self._layout.version, self.size.height)
        if self._view_of != wanted:
            self._view = self._layout.window(self._top, self.size.height)
            self._view_of = wanted
        return self._view[y] if 0 <= y < len(self._view) else None


def _blank_gutter(base: Style) -> Segment:
    return Segment(GUTTER, base.background_style)
