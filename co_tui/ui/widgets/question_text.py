"""What a question shows in the room it has: a change by its lines, keys never broken in two. Knows no screen."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

GAP = "   "
"""Between two keys."""
MORE = "… "
WHERE = "$muted"
"""Of what is said of a command after it: where it runs."""
_SIGNS = {"+": "bold $success", "-": "bold $error"}
_GROUNDS = {"+": "$foreground on $success 16%", "-": "$foreground on $error 16%", "@": "$muted"}
WAYS_OUT = ("n", "esc")


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


def beginning(text: str, width: int, rows: int) -> ShownText:
    """As much of a text as the rows hold; of a diff that does not fit, the lines that change."""
    if not is_diff(text):
        return _beginning_and_last(text, width, rows)
    whole = _cut(coloured(text.split("\n")[2:]), width, rows)
    return whole if whole.whole else _cut(coloured(changes(text)), width, rows)._replace(whole=False)


def _beginning_and_last(text: str, width: int, rows: int) -> ShownText:
    """A last line that stands apart is seen, too: where a command runs, whatever the command is, which stands out."""
    before, _, last = text.rpartition("\n\n")
    stands_apart = bool(before.strip()) and "\n" not in last
    lines = [Content(line) for line in text.split("\n") if line.strip()]
    if stands_apart:
        lines = [*(line.stylize("bold") for line in lines[:-1]), lines[-1].stylize(WHERE)]
    shown = _cut(lines, width, rows)
    if shown.whole or not stands_apart:
        return shown
    apart = Content.styled(last[-width * rows :], WHERE)
    kept = apart.wrap(width)
    if len(kept) > rows - 2:
        first, *others = apart.wrap(width - cell_len(MORE))[2 - rows :]
        kept = [Content(MORE) + first, *others]
    return ShownText([*_cut(lines[:-1], width, rows - len(kept)).rows, *kept], whole=False)


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


def key_rows(answers: Mapping[str, str], width: int) -> list[Content]:
    """The keys with their labels; a row ends between two of them, best before the first that means no."""
    first_no = next((key for key in WAYS_OUT if key in answers), "")
    as_they_fit, apart = _key_rows(answers, width), _key_rows(answers, width, first_no)
    return apart if 1 < len(as_they_fit) == len(apart) else as_they_fit


def _key_rows(answers: Mapping[str, str], width: int, begins_row: str = "") -> list[Content]:
    rows: list[list[Content]] = []
    room = 0
    for key, label in answers.items():
        needed = cell_len(f"{key} {label}")
        if not rows or needed + len(GAP) > room or key == begins_row:
            rows.append([])
            room = width + len(GAP)
        rows[-1].append(Content.assemble((key, "bold $primary"), f" {label}"))
        room -= needed + len(GAP)
    return [Content(GAP).join(row) for row in rows]
