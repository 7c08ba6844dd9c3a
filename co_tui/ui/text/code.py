"""Code blocks: highlighted by Pygments in the theme's colours, hard-wrapped, on their own background."""

from functools import lru_cache
from typing import Any, Final

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, String, Token, _TokenType
from pygments.util import ClassNotFound
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from co_tui.ui.themes.themes import Palette

TAB_SPACES = 4


def highlighted(text: str, language: str, narrow: int, width: int, palette: Palette) -> list[Strip]:
    """The code as lines of `narrow` to `width` cells; longer lines are wrapped."""
    base = _base(palette)
    margin = Segment(" ", base)
    inner = max(1, width - 2)
    lines: list[Strip] = []
    for segments in _token_lines(text.rstrip("\n"), language, palette):
        whole = Strip(segments)
        cuts = [*range(inner, whole.cell_length, inner), whole.cell_length]
        for part in whole.divide(cuts) if segments else [Strip.blank(narrow - 2, base)]:
            lines.append(Strip([margin, *part.extend_cell_length(narrow - 2, base), margin]))
    return lines


def _token_lines(text: str, language: str, palette: Palette) -> list[list[Segment]]:
    lines: list[list[Segment]] = [[]]
    for token, value in _lexer(language).get_tokens(text):
        style = _style(token, palette)
        first, *others = value.split("\n")
        if first:
            _add(lines[-1], first, style)
        for other in others:
            lines.append([Segment(other, style)] if other else [])
    if lines and not lines[-1]:
        lines.pop()  # the lexer adds a final newline
    return lines


def _add(line: list[Segment], text: str, style: Style) -> None:
    """Append text, to the last segment if it has the same style: fewer segments are drawn faster."""
    if line and line[-1].style is style:
        line[-1] = Segment(line[-1].text + text, style)
    else:
        line.append(Segment(text, style))


@lru_cache(maxsize=16)
def _base(palette: Palette) -> Style:
    return Style.parse(f"on {palette.surface}")


@lru_cache(maxsize=512)
def _style(token: _TokenType, palette: Palette) -> Style:
    return _style_of_colour(colour_of(token, palette), palette)


@lru_cache(maxsize=512)
def _style_of_colour(colour: Color, palette: Palette) -> Style:
    """The same object for token types of one colour."""
    return _base(palette) + Style(color=colour)


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    options = {"stripnl": False, "ensurenl": True, "tabsize": TAB_SPACES}
    try:
        return get_lexer_by_name(language or "text", **options)
    except ClassNotFound:
        return get_lexer_by_name("text", **options)


_COLOURS: Final = {
    Token: "text",
    Comment: "muted",
    Keyword: "compaction",
    Keyword.Constant: "warning",
    Name.Builtin: "accent",
    Name.Class: "accent",
    Name.Decorator: "accent",
    Name.Function: "accent",
    Name.Tag: "accent",
    Name.Attribute: "warning",
    String: "reply",
    Literal: "reply",
    Number: "warning",
    Generic.Deleted: "error",
    Generic.Inserted: "reply",
    Generic.Heading: "accent",
    Generic.Subheading: "accent",
    Generic.Prompt: "muted",
}
"""Palette colours by token type; other types use their parent's."""


@lru_cache(maxsize=512)
def colour_of(token: _TokenType, palette: Palette) -> Color:
    """The colour of a token type."""
    kind: _TokenType | None = token
    while kind not in _COLOURS and kind is not None:
        kind = kind.parent
    return Color.parse(getattr(palette, _COLOURS[kind or Token]))
