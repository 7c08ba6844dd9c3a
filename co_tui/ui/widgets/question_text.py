"""What a question shows in the room it has: a change by its lines, keys never broken in two. Knows no screen."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

GAP = "   "
"""Between two keys."""
MORE = "… "
_COLOURS = {"+": "$success", "-": "$error", "@": "$muted"}


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
    """What comes and what goes in colours, which the theme decides."""
    return [Content.styled(line, _COLOURS.get(line[:1], "")) for line in lines]


def beginning(text: str, width: int, rows: int) -> ShownText:
    """As much of a text as the rows hold; of a diff that does not fit, the lines that change."""
    if not is_diff(text):
        return _beginning_and_last(text, width, rows)
    whole = _cut(coloured(text.split("\n")[2:]), width, rows)
    return whole if whole.whole else _cut(coloured(changes(text)), width, rows)._replace(whole=False)


def _beginning_and_last(text: str, width: int, rows: int) -> ShownText:
    """A last line that stands apart is seen, too: where a command runs, whatever the command is."""
    lines = [Content(line) for line in text.split("\n") if line.strip()]
    shown = _cut(lines, width, rows)
    before, _, last = text.rpartition("\n\n")
    if shown.whole or not before.strip() or "\n" in last:
        return shown
    apart = Content(last[-width * rows :])
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
            return ShownText([*shown, *wrapped[: rows - len(shown) - 1], more], whole=False)
        shown += wrapped
    return ShownText(shown, whole=True)


def key_rows(answers: Mapping[str, str], width: int) -> list[Content]:
    """The keys with their labels; a row ends between two of them."""
    rows: list[list[Content]] = []
    room = 0
    for key, label in answers.items():
        needed = cell_len(f"{key} {label}")
        if not rows or needed + len(GAP) > room:
            rows.append([])
            room = width + len(GAP)
        rows[-1].append(Content.assemble((key, "bold $primary"), f" {label}"))
        room -= needed + len(GAP)
    return [Content(GAP).join(row) for row in rows]
