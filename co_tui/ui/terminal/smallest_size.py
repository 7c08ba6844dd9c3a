"""The smallest screen that is drawn: on a smaller one nobody can read, but nothing may fail."""

from typing import Final

from textual.events import Resize
from textual.geometry import Size

LEAST_COLUMNS, LEAST_ROWS = 20, 5
"""With fewer, borders leave nothing for what they enclose, on which the library fails."""
MOST: Final = 4000
"""Of columns and of rows; no screen has more, whatever a terminal reports."""


def drawable(resized: Resize) -> Resize:
    """The terminal cuts off what it has no room for."""
    size = Size(_between(LEAST_COLUMNS, resized.size.width), _between(LEAST_ROWS, resized.size.height))
    return resized if size == resized.size else Resize(size, size, size, resized.pixel_size)


def _between(least: int, cells: int) -> int:
    return max(least, min(cells, MOST))
