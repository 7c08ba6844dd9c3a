"""The conversation, as one line-rendered widget: only what is near the viewport is ever laid out."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from co_tui.ui.widgets.block import Block
from co_tui.ui.widgets.event_places import event_at, place_of_event
from co_tui.ui.widgets.folding import FoldCursor, toggle_all
from co_tui.ui.widgets.layout import TOP, LinePlace, TranscriptLayout
from co_tui.ui.widgets.look import Look
from co_tui.ui.widgets.matches import Search, marked
from co_tui.ui.widgets.selecting import selected_text, with_selection

STREAM_INTERVAL_S = 0.05
"""The open block is drawn again at most so often."""
MORE_BELOW = "↓ more below · ctrl+end"
NARROWEST = 10
LINES_ABOVE = 2
"""What is brought into view stands so far below the top."""


class Transcript(ScrollView, can_focus=True):
    """Shows blocks. The line at the top of the viewport (or the end, while following) stays where it is
    when estimated heights turn into real ones, when the width changes, and while text streams in below."""

    FOCUS_ON_CLICK = False
    """Who clicks in the chat goes on typing in the prompt."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "fold", "Open/close", id="transcript.toggle"),
        Binding("left_square_bracket", "previous_fold", "Previous fold", key_display="[", id="transcript.previous"),
        Binding("right_square_bracket", "next_fold", "Next fold", key_display="]", id="transcript.next"),
        Binding("c", "copy", "Copy", id="transcript.copy"),
        Binding("g", "show_in_timeline", "Show in timeline", id="transcript.show_in_timeline"),
    ]

    class NearTop(Message):
        """The reader is close to the first block that is loaded."""

    class WantedInTimeline(Message):
        """Show what happened at this event."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    class Followed(Message):
        """The view began or ceased to follow the end."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._layout = TranscriptLayout()
        self._top = TOP
        self._following = True
        self._placing = False
        self._settled_size = Size(0, 0)
        self._view: list[LinePlace] = []
        self._view_of: tuple[LinePlace, int, int] | None = None
        """Which top, layout and height `_view` belongs to."""
        self._pending: dict[Block, list[str]] = {}
        self._timer: Timer | None = None
        self._folds = FoldCursor()
        self._search = Search()
        self._shown_event: tuple[int, LinePlace | None] = (0, None)
        """The event that was brought into view last, and where."""

    # What is shown

    @property
    def blocks(self) -> Sequence[Block]:
        return self._layout.blocks

    @property
    def following(self) -> bool:
        return self._following

    @property
    def needle(self) -> str:
        """What is being searched for."""
        return self._search.needle

    @property
    def layout_of_blocks(self) -> TranscriptLayout:
        return self._layout

    @property
    def top(self) -> LinePlace:
        """The line at the top of the viewport."""
        return self._top

    @property
    def _width(self) -> int:
        return max(NARROWEST, self.scrollable_content_region.width)

    def set_look(self, look: Look) -> None:
        self._layout.set_look(look)
        self._settle()

    def show(self, blocks: Iterable[Block]) -> None:
        """Replace everything, and look at the end."""
        self._layout.show(blocks)
        self._pending.clear()
        self._folds.leave()
        self._follow(True)
        self._settle()

    def prepend(self, blocks: Sequence[Block]) -> None:
        """Add older blocks above; what is being read stays where it is."""
        self._layout.insert(0, blocks)
        self._top = LinePlace(self._top.block + len(blocks), self._top.line)
        self._settle()

    def append(self, *blocks: Block, before: Block | None = None) -> None:
        """Add blocks at the end, or above one that shall stay below them."""
        place = self._layout.index_of(before) if before is not None else None
        self._layout.insert(len(self.blocks) if place is None else place, blocks)
        self._settle()

    def drop(self, block: Block) -> None:
        index = self._layout.index_of(block)
        if index is not None:
            self._layout.remove(index)
            self._pending.pop(block, None)
            self._folds.leave(block)
            if self._top.block > index:
                self._top = LinePlace(self._top.block - 1, self._top.line)
            self._settle()

    def changed(self, block: Block) -> None:
        """Draw a block again after its data changed."""
        self._layout.refresh(block)
        self._settle()

    def grow(self, block: Block, text: str) -> None:
        """Add streamed text to a block; it becomes part of it with the next frame of the stream."""
        self._pending.setdefault(block, []).append(text)
        if self._timer is None:
            self._timer = self.set_timer(STREAM_INTERVAL_S, self.draw_streamed)

    def draw_streamed(self) -> None:
        """Take in what was streamed since the last frame."""
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
        """Lay out what is in view, then size and scroll so that the reader's place stays."""
        if self._layout.look is None or not self.is_mounted or not self.size:
            return
        self._top = self._layout.set_width(self._width, self._top)
        height = self.scrollable_content_region.height
        if self._following:
            self._top = self._layout.bottom_up(height)
        else:
            self._top = self._layout.clamp(self._top)
            if len(self._layout.window(self._top, height)) < height:
                self._top = self._layout.bottom_up(height)
        self._place()

    def _place(self) -> None:
        self._placing = True
        try:
            self._settled_size = self.size
            self._set_rows(self._layout.row_count)
            self.scroll_to(y=self._layout.row_of(self._top), animate=False, immediate=True, force=True)
        finally:
            self._placing = False
        self.refresh()

    def _set_rows(self, rows: int) -> None:
        """Tell the scroll bar; the usual way would lay out and draw the whole screen for it."""
        size = Size(self._width, rows)
        if size != self.virtual_size:
            self.set_reactive(Transcript.virtual_size, size)
            self._scroll_update(size)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        # While the size changes, the library moves the view by itself; what follows the change sets it right.
        moved = round(old_value) != round(new_value) and self.size == self._settled_size
        if moved and not self._placing and self.is_mounted:
            self._moved(round(new_value) - round(old_value), round(new_value))
        super().watch_scroll_y(old_value, new_value)

    def _moved(self, delta: int, target: int) -> None:
        """The reader scrolled: walk there through real heights, so that no line is skipped or seen twice."""
        if abs(delta) > 4 * self.size.height:
            self._top = self._layout.place_of(target) or self._layout.bottom_up(self.size.height)
        else:
            self._top = self._layout.walk(self._top, delta)
        self._follow(target >= self.max_scroll_y)
        self._settle()
        if self._top.block < 5:
            self.post_message(self.NearTop())

    def _follow(self, following: bool) -> None:
        if following != self._following:
            self._following = following
            self.border_subtitle = "" if following else MORE_BELOW
            self.post_message(self.Followed(following))

    def follow_end(self) -> None:
        self._follow(True)
        self._settle()

    def on_resize(self, event: events.Resize) -> None:
        self._settle()

    # Lines

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        base = self.visual_style.rich_style
        place = self._in_view(y)
        if place is None:
            return Strip.blank(width, base)
        laid = self._layout.lay_out(place.block)
        strip = laid.line(place.line)
        if self.blocks[place.block] is self._folds.block and place.line == laid.title_line:
            strip = strip.extend_cell_length(width).apply_style(Style(reverse=True))
        if self._search.needle:
            strip = marked(strip, self._search.needle)
        row = self._layout.row_of(place)
        if (selection := self.text_selection) is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            strip = with_selection(strip, selection, row, style)
        return strip.crop_extend(0, width, base).apply_style(base).apply_offsets(0, row)

    def _in_view(self, y: int) -> LinePlace | None:
        """The line drawn at a row of the viewport, which may just have got another size."""
        if self._layout.look is None:
            return None
        self._top = self._layout.set_width(self._width, self._top)
        wanted = (self._top, self._layout.version, self.size.height)
        if self._view_of != wanted:
            self._view = self._layout.window(self._top, self.size.height)
            self._view_of = wanted
        return self._view[y] if 0 <= y < len(self._view) else None

    # Selecting and copying

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selected_text(self._layout, selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def action_copy(self) -> None:
        """Copy the selection, else the highlighted block, else the last reply."""
        selected = self.screen.get_selected_text()
        block = self._folds.block or next((each for each in reversed(self.blocks) if each.kind == "reply"), None)
        text = selected or (block.plain if block else "")
        if text:
            self.app.copy_to_clipboard(text)
            self.notify("Copied.", timeout=2)

    # Folding

    def on_click(self, event: events.Click) -> None:
        place = self._in_view(event.y - self.gutter.top)
        if place is not None and not self.screen.get_selected_text():
            block = self.blocks[place.block]
            if block.foldable and place.line == self._layout.lay_out(place.block).title_line:
                self._toggle(block)

    def action_fold(self) -> None:
        block = self._folds.start(self._blocks_in_view())
        if block is not None:
            self._toggle(block)

    def toggle_all(self) -> None:
        """Open everything that is folded, or fold everything when nothing is."""
        toggle_all(self._layout)
        self._settle()

    def _toggle(self, block: Block) -> None:
        block.folded = not block.folded
        if self._following and not block.folded:
            # Opening something is reading it: the view must not run away to the end.
            self._follow(False)
        self.changed(block)

    def action_next_fold(self) -> None:
        self._move_to_fold(1)

    def action_previous_fold(self) -> None:
        self._move_to_fold(-1)

    def _move_to_fold(self, step: int) -> None:
        if self._folds.block is None:
            self._folds.start(self._blocks_in_view())
            self.refresh()
        elif (index := self._folds.move(self._layout, step)) is not None:
            self.show_block(index)

    def _blocks_in_view(self) -> list[Block]:
        return [self.blocks[place.block] for place in self._layout.window(self._top, self.size.height)]

    # Searching

    def find(self, text: str, *, back: bool = False) -> bool:
        """Mark the text, and go to the next line that holds it, upwards unless told otherwise."""
        self._search.set_needle(text)
        self.refresh()
        if not text or not self.blocks:
            return False
        found = self._search.next(self._layout, self._layout.walk(self._top, self.size.height), back=back)
        if found is not None:
            self.show_block(*found)
        return found is not None

    def show_block(self, index: int, line: int = 0) -> None:
        """Bring a block's line into view, a little below the top."""
        self._follow(False)
        self._top = self._layout.walk(LinePlace(index, line), -LINES_ABOVE)
        self._settle()
        if self.scroll_y >= self.max_scroll_y:
            self._follow(True)

    # Events

    def show_event(self, seq: int) -> None:
        """Bring what an event brought into view; of one that is not told here, what came before it."""
        place = place_of_event(self.blocks, seq)
        if place is not None:
            self.show_block(place)
            self._shown_event = (seq, self._top)

    def action_show_in_timeline(self) -> None:
        """The event that was shown, as long as nobody scrolled; else the one at the top of the view."""
        if self._shown_event[1] == self._top:
            seq = self._shown_event[0]
        else:
            place = self._layout.walk(self._top, self.size.height - 1 if self._following else LINES_ABOVE)
            seq = event_at(self.blocks, place.block)
        self.post_message(self.WantedInTimeline(seq))

    def action_scroll_end(self) -> None:
        self.follow_end()
