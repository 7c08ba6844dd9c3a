"""Fits a question's command or diff to the space available. Knows no screen."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual.content import Content

from co_tui.events.file_diff import DiffRow, FileDiff, with_marks
from co_tui.ui.text.diff_lines import GUTTER, number_of, without_tabs
from co_tui.ui.text.text_rendering import CHANGED_SHARE, CHANGED_WORD_SHARE, TextRenderer
from co_tui.ui.themes.themes import Palette

BORDER, LEAST_BORDER = "─", 3
"""The border character, and the least number of them between two texts."""
_COLOURS = {"+": "$success", "-": "$error"}
_OTHER_STYLES = {"file": "bold", "note": "$muted", "gap": "$muted"}


class ShownText(NamedTuple):
    """The start of a text, as much as fits."""

    rows: Sequence[Content]
    whole: bool


class _Line(NamedTuple):
    """A line, and what is left of it."""

    body: Content
    left: str = ""


def diff_contents(rows: Iterable[DiffRow], number_width: int) -> list[Content]:
    """Rows of a diff with their numbers, added and removed ones on backgrounds of the theme."""
    return [Content.assemble((line.left, "$muted"), line.body) for line in _diff_lines(rows, number_width)]


def whole_diff(diff: FileDiff) -> list[Content]:
    """Its file, and all lines that are known of it."""
    more = [Content.styled(f"… {diff.left_out:,} more lines", "$muted")] if diff.left_out else []
    return [Content.styled(diff.path, "bold"), *diff_contents(with_marks(diff.rows), diff.number_width), *more]


def with_changes(text: str, changes: Sequence[FileDiff]) -> list[Content]:
    """A text, and below it the diffs of several calls; empty without any."""
    below = [line for diff in changes for line in (Content(""), *whole_diff(diff))]
    return [*map(Content, text.split("\n")), *below] if below else []


def _diff_lines(rows: Iterable[DiffRow], number_width: int) -> list[_Line]:
    return [_Line(_coloured(row), "" if row.sign == "file" else number_of(row, number_width)) for row in rows]


def _coloured(row: DiffRow) -> Content:
    text, marks = without_tabs(row.text, row.marks)
    if (colour := _COLOURS.get(row.sign)) is None:
        return Content.styled(f" {text}" if row.sign == " " else text, _OTHER_STYLES.get(row.sign, ""))
    line = Content.styled(f"{row.sign}{text}", f"$foreground on {colour} {_percent(CHANGED_SHARE)}")
    line = line.stylize(f"bold {colour}", 0, 1)
    for first, last in marks:
        line = line.stylize(f"bold on {colour} {_percent(CHANGED_WORD_SHARE)}", first + 1, last + 1)
    return line


def _percent(share: float) -> str:
    return f"{share:.0%}"


def markdown_rows(text: str, width: int, palette: Palette) -> list[Content]:
    """A text as the chat draws it."""
    from co_tui.ui.text.prose import Prose  # most questions have no Markdown

    prose = Prose(TextRenderer(palette), width)
    prose.feed(text)
    rows = (Text.assemble(*((each.text, each.style or "") for each in prose[n])) for n in range(len(prose)))
    return [Content.from_rich_text(row) for row in rows]


def beginning(
    text: str,
    width: int,
    rows: int,
    *,
    diff: FileDiff | None = None,
    strong: bool = False,
    lines: Sequence[Content] = (),
) -> ShownText:
    """As much of a text as fits the rows; for a diff that does not fit, only its changed lines. `lines` are the text
    as drawn."""
    if lines:
        return _cut([_Line(each) for each in lines], width, rows)
    if diff is None:
        style = "bold" if strong else ""
        return _cut([_Line(Content.styled(line, style)) for line in text.split("\n") if line.strip()], width, rows)
    whole = _cut(_diff_lines(with_marks(diff.rows), diff.number_width), width, rows, diff.left_out)
    if whole.whole:
        return whole
    changed = diff.changed_rows
    shown = _diff_lines(with_marks(changed[:rows]), diff.number_width)
    return _cut(shown, width, rows, diff.hidden_after(changed[:rows]))._replace(whole=False)


def _cut(lines: Sequence[_Line], width: int, rows: int, further: int = 0) -> ShownText:
    """The lines that fit; `further` lines would follow them."""
    shown: list[Content] = []
    for n, line in enumerate(lines):
        wrapped = _wrapped(line, width, rows)
        left = len(lines) - n + further
        room = rows - len(shown) - (left > 1)  # one row is reserved for "… more lines"
        if len(wrapped) > room or len(line.body) > width * rows:
            return ShownText([*shown, *wrapped[: rows - len(shown) - 1], _more(left)], whole=False)
        shown += wrapped
    return ShownText([*shown, _more(further)] if further else shown, whole=not further)


def _more(count: int) -> Content:
    return Content.styled(f"… {count:,} more line{'s' if count > 1 else ''}", "$muted")


def _wrapped(line: _Line, width: int, rows: int) -> list[Content]:
    """The line in rows; the background of a changed line reaches the end of each."""
    room = max(1, width - len(line.left))
    body = line.body[: width * rows]
    parts = body.wrap(room) if body else [body]
    if any(" on " in str(span.style) for span in line.body.spans):
        parts = [part.extend_right(max(0, room - part.cell_length)) for part in parts]
    if not line.left:
        return list(parts)
    indent = line.left if line.left.isspace() else " " * (len(line.left.rstrip("│ "))) + GUTTER
    return [Content.assemble((indent if n else line.left, "$muted"), part) for n, part in enumerate(parts)]


def fitted_title(title: str, where: str, position: str, width: int) -> tuple[Content, str]:
    """The upper border, with the title at its left and the rest at its right, and what did not fit."""
    for right, left_over in (((where, position), ""), ((position,), where)):
        shown = " · ".join(filter(None, right))
        gap = width - cell_len(title) - cell_len(shown) - 2
        if shown and gap >= LEAST_BORDER:
            return Content(f"{title} {BORDER * gap} {shown}"), left_over
    return Content(title).truncate(max(1, width), ellipsis=True), " · ".join(filter(None, (position, where)))
