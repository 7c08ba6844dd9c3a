"""Lines as they were drawn last: a frame draws again only what changed."""

from collections.abc import Hashable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

SCREENS_KEPT = 3
"""A strip holds a dozen caches, which slow garbage collection down."""
NO_CONTENT = Strip([])


class LineLook(NamedTuple):
    """What all lines have in common."""

    width: int
    base: Style


class LineSource(NamedTuple):
    """What a line is drawn from."""

    segments: list[Segment]
    is_faded: bool
    is_removed: bool


class DrawnLine:
    """A line's content, and the whole row with the widget's border, once it was drawn."""

    __slots__ = ("source", "strip", "whole")

    def __init__(self, source: LineSource | None, strip: Strip) -> None:
        self.source = source
        self.strip = strip
        self.whole: Strip | None = None

    def is_of(self, source: LineSource) -> bool:
        """Whether it was drawn from this. Laid out lines never change, so that the same list is the same line."""
        return self.source is not None and self.source.segments is source.segments and self.source == source


class DrawnLines:
    """The same line is the same strip in every frame, so that Textual's own caches hold, too."""

    def __init__(self) -> None:
        self._content_look: Hashable = None
        self._look: Hashable = None
        self._by_row: dict[int, DrawnLine] = {}
        self._edges: dict[int, DrawnLine] = {}

    def clear(self) -> None:
        self._by_row.clear()
        self._edges.clear()

    def use_content_look(self, look: Hashable) -> None:
        """Forget the lines if they would look different now: by width or colours."""
        if look != self._content_look:
            self._content_look = look
            self.clear()

    def use_look(self, look: Hashable) -> None:
        """The same for whole rows: by border, filters and what is behind the widget."""
        if look != self._look:
            self._look = look
            self.clear()

    def edge(self, y: int) -> DrawnLine:
        """A row of the border."""
        return self._edges.setdefault(y, DrawnLine(None, NO_CONTENT))

    def get(self, row: int, source: LineSource) -> DrawnLine | None:
        found = self._by_row.get(row)
        return found if found is not None and found.is_of(source) else None

    def keep(self, row: int, line: DrawnLine, height: int) -> None:
        """Keep a line; of the others, those of a few screens."""
        if len(self._by_row) > SCREENS_KEPT * max(1, height):
            for old in list(self._by_row)[:-height]:
                del self._by_row[old]
        self._by_row.pop(row, None)
        self._by_row[row] = line
