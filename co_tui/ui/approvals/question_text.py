"""What a question shows in the room it has: a command, or a change by its lines. Knows no screen."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

BORDER, LEAST_BORDER = "─", 3
"""What the border is drawn with, and how much of it at least separates two texts."""
_SIGNS = {"+": "bold $success", "-": "bold $error"}
_GROUNDS = {"+": "$foreground on $success 16%", "-": "$foreground on $error 16%", "@": "$muted"}


class ShownText(NamedTuple):
    """The beginning of a text, as much as there is room for."""

    rows: Sequence[Content]
    whole: bool


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff."""
    return text.startswith("--- ") and "\n+++ " in text


def changes(diff: str) -> list[str]:
    """The lines that come and go."""
    return [line for line in diff.split("\n")[2:] if line[:1] in "+-"]


def coloured(lines: Iterable[str]) -> list[Content]:
    """What comes and what goes on grounds of their own, whose colours the theme decides."""
    return [_coloured(line) for line in lines]


def _coloured(line: str) -> Content:
    ground = _GROUNDS.get(line[:1], "")
    if (sign := _SIGNS.get(line[:1])) is None:
        return Content.styled(line, ground)
    return Content.assemble((line[0], f"{sign} on {ground.partition(' on ')[2]}"), (line[1:], ground))


def beginning(text: str, width: int, rows: int, *, diff: bool = False, strong: bool = False) -> ShownText:
    """As much of a text as the rows hold; of a diff that does not fit, the lines that change."""
    if not diff:
        style = "bold" if strong else ""
        return _cut([Content.styled(line, style) for line in text.split("\n") if line.strip()], width, rows)
    whole = _cut(coloured(text.split("\n")[2:]), width, rows)
    return whole if whole.whole else _cut(coloured(changes(text)), width, rows)._replace(whole=False)


def _cut(lines: Sequence[Content], width: int, rows: int) -> ShownText:
    shown: list[Content] = []
    for n, line in enumerate(lines):
        wrapped = line[: width * rows].wrap(width) if line else [line]
        room = rows - len(shown) - (n < len(lines) - 1)  # a row is kept for saying that there is more
        if len(wrapped) > room or len(line) > width * rows:
            left = len(lines) - n
            more = Content.styled(f"… {left:,} more line{'s' if left > 1 else ''}", "$muted")
            return ShownText([*shown, *_filled(line, wrapped[: rows - len(shown) - 1], width), more], whole=False)
        shown += _filled(line, wrapped, width)
    return ShownText(shown, whole=True)


def _filled(line: Content, rows: Iterable[Content], width: int) -> Iterator[Content]:
    """The ground of a line that changes goes on to the end of the row."""
    has_ground = any(" on " in str(span.style) for span in line.spans)
    return (row.extend_right(max(0, width - row.cell_length)) if has_ground else row for row in rows)


def fitted_title(title: str, where: str, place: str, width: int) -> tuple[Content, str]:
    """The line of the upper border, and what did not fit into it: the title at its left, the rest at its right."""
    for right, left_over in (((where, place), ""), ((place,), where)):
        shown = " · ".join(filter(None, right))
        gap = width - cell_len(title) - cell_len(shown) - 2
        if shown and gap >= LEAST_BORDER:
            return Content(f"{title} {BORDER * gap} {shown}"), left_over
    return Content(title).truncate(max(1, width), ellipsis=True), " · ".join(filter(None, (place, where)))
