"""A text of any length: only the lines in view are ever cut to the width."""

from bisect import bisect_right
from itertools import accumulate

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

TAB_SPACES = 4


class Pager(ScrollView, can_focus=True):
    """Shows text that is already inert; long lines go on below."""

    DEFAULT_CSS = """
    Pager { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._lines = text.expandtabs(TAB_SPACES).split("\n")
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

    def render_line(self, y: int) -> Strip:
        base = self.visual_style.rich_style
        row = round(self.scroll_y) + y
        if not self._ends or row >= self._ends[-1]:
            return Strip.blank(self.size.width, base)
        line = bisect_right(self._ends, row)
        part = row - (self._ends[line - 1] if line else 0)
        text = _part(self._lines[line], part, self._width)
        return Strip([Segment(text, Style())]).crop_extend(0, self.size.width, base).apply_style(base)


def _rows(line: str, width: int) -> int:
    if line.isascii():
        return max(1, -(-len(line) // width))
    return max(1, len(chop_cells(line, width))) if cell_len(line) > width else 1


def _part(line: str, part: int, width: int) -> str:
    if line.isascii():
        return line[part * width : (part + 1) * width]
    parts = chop_cells(line, width) if cell_len(line) > width else [line]
    return parts[part] if part < len(parts) else ""
