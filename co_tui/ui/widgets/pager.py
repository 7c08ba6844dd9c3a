"""A text of any length: only the lines in view are ever cut to the width."""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from co_tui.ui.widgets.text_search import TextSearch

TAB_SPACES = 4
LONGEST_LINE_CHARS = 4_000
"""Of letters that may be wide: cutting such a line to the width means to measure all of it."""
MEASURED_LINE_CHARS = 200_000
"""Of longer ones no letter is measured: as many go into a row as fit if all of them are wide."""
LINES_ABOVE = 3
"""What was found stands so far below the top."""
_JOINER = "\N{ZERO WIDTH JOINER}"


class Pager(ScrollView, can_focus=True):
    """Shows text that is already inert; long lines go on below."""

    COMPONENT_CLASSES = {"pager--found", "pager--looked-at"}
    DEFAULT_CSS = """
    Pager { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }
    Pager > .pager--found { color: $background; background: $warning; }
    Pager > .pager--looked-at { color: $background; background: $primary; text-style: bold underline; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        text = text.expandtabs(TAB_SPACES)
        self.search = TextSearch(text)
        self._lines: list[str] = []
        self._starts: list[int] = []
        """Where each of them begins in the text."""
        for start, line in line_pieces(text):
            self._starts.append(start)
            self._lines.append(line)
        self._ends: list[int] = []
        """The row after each line's last."""
        self._width = 0

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out(max(1, self.scrollable_content_region.width))

    def _lay_out(self, width: int) -> None:
        if width == self._width:
            return
        top = bisect_right(self._ends, round(self.scroll_y)) if self._ends else 0
        self._width = width
        self._ends = list(accumulate(_rows(line, width) for line in self._lines))
        self.virtual_size = Size(width, self._ends[-1])
        self.scroll_to(y=self._ends[top - 1] if top else 0, animate=False)

    # Searching

    @property
    def top(self) -> int:
        """Where the first line in view begins, in characters from the beginning."""
        line = bisect_right(self._ends, round(self.scroll_y))
        return self._starts[min(line, len(self._starts) - 1)]

    def see_found(self) -> None:
        """Bring the match that is looked at into view."""
        found = self.search.found
        if found is not None and self._ends:
            line = bisect_right(self._starts, found.at) - 1
            part = _part_of(self._lines[line], found.at - self._starts[line], self._width)
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
        begin, text = _part(self._lines[line], part, self._width)
        segments = self._marked(text, self._starts[line] + begin)
        return Strip(segments).crop_extend(0, self.size.width, base).apply_style(base)

    def _marked(self, text: str, start: int) -> list[Segment]:
        """A piece of the text, with what is searched for marked in it."""
        segments, done = [], 0
        found = self.search.found
        for begin, end in self.search.matches_between(start, start + len(text)):
            looked_at = found is not None and found.at == begin
            style = self.get_component_rich_style("pager--looked-at" if looked_at else "pager--found")
            first, last = max(0, begin - start), min(len(text), end - start)
            segments += [Segment(text[done:first]), Segment(text[first:last], style)]
            done = last
        return [*segments, Segment(text[done:])]


def line_pieces(text: str) -> Iterator[tuple[int, str]]:
    """The lines, and where they begin; those that take long to measure in pieces."""
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if len(line) <= LONGEST_LINE_CHARS or len(line) > MEASURED_LINE_CHARS or line.isascii():
            yield start, line
            start = end + 1
            continue
        while end - start > LONGEST_LINE_CHARS:
            cut = _cut_before(text, start + LONGEST_LINE_CHARS)
            yield start, text[start:cut]
            start = cut
        yield start, text[start:end]
        start = end + 1


def _cut_before(text: str, place: int) -> int:
    """The nearest place at which no character is parted from what belongs to it."""
    for cut in range(place, place - 50, -1):
        if unicodedata.category(text[cut])[0] != "M" and _JOINER not in text[cut - 1 : cut + 1]:
            return cut
    return place


def _chars_in_row(line: str, width: int) -> int | None:
    """How many characters of a line stand in each of its rows; None where they have to be measured."""
    if line.isascii():
        return width
    return max(1, width // 2) if 2 * len(line) <= width or len(line) > LONGEST_LINE_CHARS else None


def _rows(line: str, width: int) -> int:
    if chars := _chars_in_row(line, width):
        return max(1, -(-len(line) // chars))
    return max(1, len(chop_cells(line, width))) if cell_len(line) > width else 1


@lru_cache(maxsize=64)
def _chopped(line: str, width: int) -> list[str]:
    """The rows of a line; those of lines in view are asked for again and again."""
    return chop_cells(line, width) if cell_len(line) > width else [line]


def _part(line: str, part: int, width: int) -> tuple[int, str]:
    """One row of a line, and where it begins in it."""
    if chars := _chars_in_row(line, width):
        return part * chars, line[part * chars : (part + 1) * chars]
    parts = _chopped(line, width)
    return sum(map(len, parts[:part])), parts[part] if part < len(parts) else ""


def _part_of(line: str, column: int, width: int) -> int:
    """The row of a line that has a character."""
    if chars := _chars_in_row(line, width):
        return column // chars
    ends = list(accumulate(map(len, _chopped(line, width))))
    return min(bisect_right(ends, column), max(0, len(ends) - 1))
