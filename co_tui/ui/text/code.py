"""Code blocks: highlighted by Pygments in the theme's colours, hard-wrapped, on their own background."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, String, Token, _TokenType
from pygments.util import ClassNotFound
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from co_tui.ui.text.code_rows import edge_mark, with_blanks
from co_tui.ui.text.row_cutting import rows_of_cells
from co_tui.ui.themes.themes import Palette


def highlighted(text: str, language: str, width: int, palette: Palette) -> list[Strip]:
    """The code as lines of `width` cells; longer lines are wrapped."""
    edge = _edge(palette, continues=False)
    inner = max(1, width - 2)
    token_lines = _token_lines(text.rstrip("\n"), language, palette)
    lines: list[Strip] = []
    for number, segments in enumerate(token_lines, 1):
        rows = _wrapped(segments, inner) if segments else [Strip.blank(inner, edge)]
        is_cut = number == len(token_lines) and not text.endswith("\n")
        for left, row in zip(range(len(rows) - 1, -1, -1), rows, strict=True):
            end = _edge(palette, continues=left > 0 or is_cut)
            lines.append(Strip([Segment(" ", edge), *row.extend_cell_length(inner, edge), Segment(" ", end)]))
    return lines


def _wrapped(segments: list[Segment], width: int) -> Sequence[Strip]:
    """A line of code as rows; no wide character is split."""
    whole = Strip(segments)
    return whole.divide(list(accumulate(map(cell_len, rows_of_cells(whole.text, width)))))


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
    return [with_blanks(line) for line in lines] if "\t" in text else lines


def _add(line: list[Segment], text: str, style: Style) -> None:
    """Append text, to the last segment if it has the same style: fewer segments are drawn faster."""
    if line and line[-1].style is style:
        line[-1] = Segment(line[-1].text + text, style)
    else:
        line.append(Segment(text, style))


@lru_cache(maxsize=16)
def _base(palette: Palette) -> Style:
    return Style.parse(f"on {palette.surface}")


@lru_cache(maxsize=16)
def _edge(palette: Palette, *, continues: bool) -> Style:
    return _base(palette) + edge_mark(continues=continues)


@lru_cache(maxsize=512)
def _style(token: _TokenType, palette: Palette) -> Style:
    return _style_of_colour(colour_of(token, palette), palette)


@lru_cache(maxsize=512)
def _style_of_colour(colour: Color, palette: Palette) -> Style:
    """The same object for token types of one colour."""
    return _base(palette) + Style(color=colour)


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    options = {"stripnl": False, "ensurenl": True}
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
