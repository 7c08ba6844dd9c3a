"""A two-column view of sections with names and meanings; only the lines in view are drawn."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, Literal, NamedTuple, TypeAlias

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from co_tui.ui.keys.search_words import is_found

MAX_NAME_COLUMNS: Final = 16
GAP: Final = 2
Row: TypeAlias = tuple[str, str]
"""A name and its meaning."""


class Section(NamedTuple):
    title: str
    rows: Sequence[Row]

    def matching(self, words: Sequence[str]) -> "Section":
        """The rows with all of these lowercase words, or with other words for them; all rows if the title has them."""
        if words and is_found(words, self.title):
            return self
        return Section(self.title, [row for row in self.rows if is_found(words, " ".join(row))])


class _Line(NamedTuple):
    name: str = ""
    meaning: str = ""
    kind: Literal["title", "name", "marked"] = "name"


class Sections(ScrollView, can_focus=False):
    """For our own texts only: every character must be one cell wide."""

    COMPONENT_CLASSES = {"sections--title", "sections--name", "sections--marked"}
    DEFAULT_CSS = """
    Sections { height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: hidden; }
    Sections > .sections--title { text-style: bold; }
    Sections > .sections--name { color: $footer-key-foreground; text-style: bold; }
    Sections > .sections--marked { color: $footer-key-foreground; text-style: bold reverse; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._sections: Sequence[Section] = ()
        self._lines: Sequence[_Line] = ()
        self._marked: Row | None = None

    def show(self, sections: Sequence[Section], marked: Row | None = None) -> None:
        """Replace the sections and scroll to the top; the name of the `marked` row is drawn as chosen."""
        self._sections, self._marked = sections, marked
        self._lay_out()
        self.scroll_home(animate=False, immediate=True)

    def mark(self, row: Row) -> None:
        """Choose another row, and scroll to it."""
        self._marked = row
        self._lay_out()
        at = next((n for n, line in enumerate(self._lines) if line.kind == "marked"), 0)
        if not 0 <= at - round(self.scroll_y) < self.size.height:
            self.scroll_to(y=max(0, at - 1), animate=False, immediate=True)

    def on_resize(self, _: events.Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = list(_lines(self._sections, width, self._marked)) if width else ()
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        row, width, base = y + round(self.scroll_y), self.size.width, self.rich_style
        if row >= len(self._lines):
            return Strip.blank(width, base)
        line = self._lines[row]
        style = self.get_component_rich_style(f"sections--{line.kind}", partial=True)
        name = line.name.rstrip()
        strip = Strip([Segment(name, style), Segment(f"{' ' * (len(line.name) - len(name))}{line.meaning}")])
        return strip.apply_style(base).crop_extend(0, width, base)


def _lines(sections: Sequence[Section], width: int, marked: Row | None) -> Iterator[_Line]:
    """All lines, with the meanings aligned in one column."""
    longest = max((len(name) for section in sections for name, _ in section.rows), default=0)
    columns = min(longest, MAX_NAME_COLUMNS, width // 3)
    for section in sections:
        for part in textwrap.wrap(section.title, width):
            yield _Line(part, kind="title")
        for row in section.rows:
            yield from _row(row, columns + GAP if columns else 0, width, "marked" if row is marked else "name")
        yield _Line()


def _row(row: Row, indent: int, width: int, kind: Literal["name", "marked"]) -> Iterator[_Line]:
    name, meaning = row
    names, meanings = textwrap.wrap(name, max(1, indent - GAP)), textwrap.wrap(meaning, max(1, width - indent))
    for left, right in zip_longest(names, meanings, fillvalue=""):
        yield _Line(left.ljust(indent), right, kind)
