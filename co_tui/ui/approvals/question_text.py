"""Fits a question's command or diff to the space available. Knows no screen."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

BORDER, LEAST_BORDER = "─", 3
"""The border character, and the least number of them between two texts."""
_MARKER_STYLES = {"+": "bold $success", "-": "bold $error"}
_LINE_STYLES = {"+": "$foreground on $success 16%", "-": "$foreground on $error 16%", "@": "$muted"}


class ShownText(NamedTuple):
    """The start of a text, as much as fits."""

    rows: Sequence[Content]
    whole: bool


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff."""
    return text.startswith("--- ") and "\n+++ " in text


def changes(diff: str) -> list[str]:
    """The added and removed lines."""
    return [line for line in diff.split("\n")[2:] if line[:1] in "+-"]


def coloured(lines: Iterable[str]) -> list[Content]:
    """Added and removed lines on backgrounds of the theme."""
    return [_coloured(line) for line in lines]


def _coloured(line: str) -> Content:
    line_style = _LINE_STYLES.get(line[:1], "")
    if (marker_style := _MARKER_STYLES.get(line[:1])) is None:
        return Content.styled(line, line_style)
    return Content.assemble((line[0], f"{marker_style} on {line_style.partition(' on ')[2]}"), (line[1:], line_style))


def beginning(text: str, width: int, rows: int, *, diff: bool = False, strong: bool = False) -> ShownText:
    """As much of a text as fits the rows; for a diff that does not fit, only its changed lines."""
    if not diff:
        style = "bold" if strong else ""
        return _cut([Content.styled(line, style) for line in text.split("\n") if line.strip()], width, rows)
    whole = _cut(coloured(text.split("\n")[2:]), width, rows)
    return whole if whole.whole else _cut(coloured(changes(text)), width, rows)._replace(whole=False)


def _cut(lines: Sequence[Content], width: int, rows: int) -> ShownText:
    shown: list[Content] = []
    for n, line in enumerate(lines):
        wrapped = line[: width * rows].wrap(width) if line else [line]
        room = rows - len(shown) - (n < len(lines) - 1)  # one row is reserved for "… more lines"
        if len(wrapped) > room or len(line) > width * rows:
            left = len(lines) - n
            more = Content.styled(f"… {left:,} more line{'s' if left > 1 else ''}", "$muted")
            return ShownText([*shown, *_filled(line, wrapped[: rows - len(shown) - 1], width), more], whole=False)
        shown += _filled(line, wrapped, width)
    return ShownText(shown, whole=True)


def _filled(line: Content, rows: Iterable[Content], width: int) -> Iterator[Content]:
    """Extend the background of a changed line to the end of the row."""
    has_ground = any(" on " in str(span.style) for span in line.spans)
    return (row.extend_right(max(0, width - row.cell_length)) if has_ground else row for row in rows)


def fitted_title(title: str, where: str, position: str, width: int) -> tuple[Content, str]:
    """The upper border, with the title at its left and the rest at its right, and what did not fit."""
    for right, left_over in (((where, position), ""), ((position,), where)):
        shown = " · ".join(filter(None, right))
        gap = width - cell_len(title) - cell_len(shown) - 2
        if shown and gap >= LEAST_BORDER:
            return Content(f"{title} {BORDER * gap} {shown}"), left_over
    return Content(title).truncate(max(1, width), ellipsis=True), " · ".join(filter(None, (position, where)))
