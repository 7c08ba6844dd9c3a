"""Code in the colours of the theme, whichever that is: readable on every one of them."""

from functools import lru_cache
from typing import Final

from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, String, Token, _TokenType
from rich.color import Color

from co_tui.ui.themes.text_colours import Palette

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
"""What a lexer names, by the part of the palette that it shares; what is not named is like what it is a kind of."""


@lru_cache(maxsize=512)
def colour_of(token: _TokenType, palette: Palette) -> Color:
    """Of one kind of token."""
    kind: _TokenType | None = token
    while kind not in _COLOURS and kind is not None:
        kind = kind.parent
    return Color.parse(getattr(palette, _COLOURS[kind or Token]))
