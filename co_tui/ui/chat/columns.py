"""How the chat and the side column share the width of the screen."""

from typing import Final, NamedTuple

from textual.containers import Vertical
from textual.geometry import Size

from co_tui.ui.transcript.transcript import Transcript

MIN_COLUMNS: Final = 60
"""With fewer, as on a phone held upright, some texts are shorter."""
FEWEST_COLUMNS, MIN_ROWS = 43, 16
"""A phone's soft keyboard leaves about as many rows."""
SMALLEST: Final = f"{FEWEST_COLUMNS}×{MIN_ROWS}"
WIDE_COLUMNS: Final = 110
"""The least width that has room for chat and side column."""
CHAT_COLUMNS: Final = 105
"""Prose of 100 columns, with the border, the padding and the scroll bar of the chat."""
LEAST_SIDE, MOST_SIDE = 36, 64


class Columns(NamedTuple):
    """Cells of the side column; and the margin left of the prose, which centres it where the chat is wider."""

    side: int
    margin: int


def is_too_small(size: Size) -> bool:
    return size.width < FEWEST_COLUMNS or size.height < MIN_ROWS


def columns_for(width: int, *, with_side: bool) -> Columns:
    """The chat gets what its prose needs, then the side column grows, and what is left goes around the prose."""
    side = max(LEAST_SIDE, min(MOST_SIDE, width - CHAT_COLUMNS)) if with_side else 0
    return Columns(side, max(0, width - side - CHAT_COLUMNS) // 2)


def set_columns(transcript: Transcript, side: Vertical, width: int, *, with_side: bool) -> None:
    """Apply the columns; a narrow screen is left to the style sheet."""
    columns = columns_for(width, with_side=with_side)
    if width >= WIDE_COLUMNS:
        side.styles.width = columns.side or None
    else:
        side.styles.clear_rule("width")
    if columns.margin:
        transcript.styles.padding = (0, 0, 0, 1 + columns.margin)
    else:
        transcript.styles.clear_rule("padding")
