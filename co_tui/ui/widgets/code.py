"""Code blocks: highlighted by Pygments, wrapped hard, on a surface of their own."""

from functools import lru_cache
from typing import Any

from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax, SyntaxTheme
from textual.strip import Strip

TAB_SPACES = 4


def highlighted(text: str, language: str, narrow: int, width: int, theme: str, background: str) -> list[Strip]:
    """The code as lines of `narrow` to `width` cells; longer lines go on below, nothing is cut off."""
    base = Style.parse(f"on {background}")
    margin = Segment(" ", base)
    inner = max(1, width - 2)
    lines: list[Strip] = []
    for segments in _token_lines(text.rstrip("\n"), language, theme, base):
        whole = Strip(segments)
        cuts = [*range(inner, whole.cell_length, inner), whole.cell_length]
        for part in whole.divide(cuts) if segments else [Strip.blank(narrow - 2, base)]:
            lines.append(Strip([margin, *part.extend_cell_length(narrow - 2, base), margin]))
    return lines


def _token_lines(text: str, language: str, theme: str, base: Style) -> list[list[Segment]]:
    styles = _styles(theme)
    lines: list[list[Segment]] = [[]]
    for token, value in _lexer(language).get_tokens(text):
        style = base + Style(color=styles.get_style_for_token(token).color)
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


@lru_cache(maxsize=4)
def _styles(theme: str) -> SyntaxTheme:
    return Syntax.get_theme(theme)
