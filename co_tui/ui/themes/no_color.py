"""The screen without any colour, where `NO_COLOR` says so: what a background told is told by reversing."""

from functools import lru_cache
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

TELLING_CONTRAST: Final = 1.5
"""A background that stands out so much means something: a cursor, a selection, the row that is chosen."""


class Colourless(LineFilter):
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, style and _without_colour(style, background), control) for text, style, control in segments
        ]


@lru_cache(4096)
def _without_colour(style: Style, background: Color) -> Style:
    own = Color.from_rich_color(style.bgcolor) if style.bgcolor is not None else background
    stands_out = _contrast(own, background) > TELLING_CONTRAST
    plain = style.without_color
    return plain + Style(reverse=stands_out != bool(style.reverse)) if stands_out or style.reverse else plain


def _contrast(one: Color, other: Color) -> float:
    low, high = sorted((one.brightness, other.brightness))
    return (high + 0.05) / (low + 0.05)
