"""A pager for text of any length: only the lines in view are wrapped."""

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import accumulate

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from co_tui.ui.background import run_in_background
from co_tui.ui.text.find_in_text import TextSearch
from co_tui.ui.text.row_cutting import estimated_rows_in, line_pieces, row_of_column, row_text, rows_in

TAB_SPACES = 4
LINES_ABOVE = 3
"""Lines shown above a match that is scrolled to."""
MEASURED_AT_ONCE_CHARS = 200_000
"""A longer text that may have wide characters is measured in a thread."""


class Pager(ScrollView, can_focus=True):
    """Shows text that is already inert; long lines are wrapped."""

    COMPONENT_CLASSES = {"pager--found", "pager--current-match"}
    DEFAULT_CSS = """
    Pager { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }
    Pager > .pager--found { color: $background; background: $warning; }
    Pager > .pager--current-match { color: $background; background: $primary; text-style: bold underline; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        text = text.expandtabs(TAB_SPACES)
        self.search = TextSearch(text)
        self._lines: list[str] = []
        self._starts: list[int] = []
        """Each line's offset in the text."""
        for start, line in line_pieces(text):
            self._starts.append(start)
            self._lines.append(line)
        self._ends: list[int] = []
        """The row after each line's last."""
        self._width = 0
        self._takes_long = len(text) > MEASURED_AT_ONCE_CHARS and not text.isascii()

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out(max(1, self.scrollable_content_region.width))

    def _lay_out(self, width: int) -> None:
        if width == self._width:
            return
        self._width = width
        if self._takes_long:
            self._place(estimated_rows_in(line, width) for line in self._lines)
            run_in_background(self, "Laying out the text", partial(self._measure, width), group="measuring")
        else:
            self._place(self._rows(width))

    async def _measure(self, width: int) -> None:
        rows = await asyncio.to_thread(lambda: list(self._rows(width)))
        if width == self._width and len(rows) == len(self._lines):  # else the width has changed since
            self._place(rows)

    def _rows(self, width: int) -> Iterator[int]:
        """Rows of each line; stops early when the width changes."""
        for line in self._lines:
            if width != self._width:
                return
            yield rows_in(line, width)

    def on_unmount(self) -> None:
        self._width = 0

    def _place(self, rows: Iterable[int]) -> None:
        """Set the rows of each line; the top line stays in place."""
        top = bisect_right(self._ends, round(self.scroll_y)) if self._ends else 0
        self._ends = list(accumulate(rows))
        self.virtual_size = Size(self._width, self._ends[-1])
        self.scroll_to(y=self._ends[top - 1] if top else 0, animate=False)
        self.refresh()

    # Searching

    @property
    def top(self) -> int:
        """Offset of the first line in view."""
        line = bisect_right(self._ends, round(self.scroll_y))
        return self._starts[min(line, len(self._starts) - 1)]

    def see_found(self) -> None:
        """Scroll to the current match."""
        found = self.search.found
        if found is not None and self._ends:
            line = bisect_right(self._starts, found.at) - 1
            part = row_of_column(self._lines[line], found.at - self._starts[line], self._width)
            row = (self._ends[line - 1] if line else 0) + part
            if not self.scroll_y <= row < self.scroll_y + self.scrollable_content_region.height:
                self.scroll_to(y=max(0, row - LINES_ABOVE), animate=False)
        self.refresh()

    # Lines

    def render_line(self, y: int) -> Strip:
        base = self.visual_style.rich_style
        row = round(self.scroll_y) + y
        if not self._ends or row >= self._ends[-1]:
            return Strip.blank(self.size.width, base)
        line = bisect_right(self._ends, row)
        part = row - (self._ends[line - 1] if line else 0)
        begin, text = row_text(self._lines[line], part, self._width)
        segments = self._marked(text, self._starts[line] + begin)
        return Strip(segments).crop_extend(0, self.size.width, base).apply_style(base)

    def _marked(self, text: str, start: int) -> list[Segment]:
        """A piece of the text with its matches highlighted."""
        segments, done = [], 0
        found = self.search.found
        for begin, end in self.search.matches_between(start, start + len(text)):
            current_match = found is not None and found.at == begin
            style = self.get_component_rich_style("pager--current-match" if current_match else "pager--found")
            first, last = max(0, begin - start), min(len(text), end - start)
            segments += [Segment(text[done:first]), Segment(text[first:last], style)]
            done = last
        return [*segments, Segment(text[done:])]
