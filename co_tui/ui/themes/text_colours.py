"""The colours that texts are drawn in."""

from typing import NamedTuple


class Palette(NamedTuple):
    """The colours of a theme, as the transcript uses them."""

    text: str
    muted: str
    accent: str
    reply: str
    compaction: str
    warning: str
    error: str
    background: str
    surface: str
