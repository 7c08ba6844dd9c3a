"""Colours that can be read on their ground, whatever theme they come from (WCAG 2: 4.5 to 1 for text)."""

from collections.abc import Sequence
from typing import Final

from textual.color import Color

TEXT_CONTRAST: Final = 4.5
MARK_CONTRAST: Final = 3.0
"""For what is seen rather than read, such as a scroll bar."""
_STEP: Final = 0.04
_BLACK, _WHITE = Color(0, 0, 0), Color(255, 255, 255)


def contrast(one: Color, other: Color) -> float:
    """From 1, the same, to 21, black on white."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def readable(colour: Color, grounds: Sequence[Color], least: float = TEXT_CONTRAST) -> Color:
    """The same colour, as much lighter or darker as these grounds need."""
    dark = sum(_luminance(ground) for ground in grounds) / len(grounds) < 0.18
    towards, shown, share = _WHITE if dark else _BLACK, colour, 0.0
    while share < 1 and min(contrast(shown, ground) for ground in grounds) < least:
        share += _STEP
        shown = colour.blend(towards, share)
    return shown
