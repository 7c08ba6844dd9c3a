"""Code blocks: read by Pygments, in the colours of the theme, wrapped hard, on a surface of their own."""

from functools import lru_cache
from typing import Any

from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from co_tui.ui.text.code_colours import colour_of
from co_tui.ui.themes.text_colours import Palette

TAB_SPACES = 4


def highlighted(text: str, language: str, narrow: int, width: int, palette: Palette) -> list[Strip]:
    """The code as lines of `narrow` to `width` cells; longer lines go on below, nothing is cut off."""
    base = Style.parse(f"on {palette.surface}")
    margin = Segment(" ", base)
    inner = max(1, width - 2)
    lines: list[Strip] = []
    for segments in _token_lines(text.rstrip("\n"), language, palette, base):
        whole = Strip(segments)
        cuts = [*range(inner, whole.cell_length, inner), whole.cell_length]
        for part in whole.divide(cuts) if segments else [Strip.blank(narrow - 2, base)]:
            lines.append(Strip([margin, *part.extend_cell_length(narrow - 2, base), margin]))
    return lines


def _token_lines(text: str, language: str, palette: Palette, base: Style) -> list[list[Segment]]:
    lines: list[list[Segment]] = [[]]
    for token, value in _lexer(language).get_tokens(text):
        style = base + Style(color=colour_of(token, palette))
        first, *others = value.split("\n")
        if first:
            lines[-1].append(Segment(first, style))
        for other in others:
            lines.append([Segment(other, style)] if other else [])
    if lines and not lines[-1]:
        lines.pop()  # the lexer ends its last line
    return lines


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    options = {"stripnl": False, "ensurenl": True, "tabsize": TAB_SPACES}
    try:
        return get_lexer_by_name(language or "text", **options)
    except ClassNotFound:
        return get_lexer_by_name("text", **options)
