"""Files as they were read before they were changed: what a text that is written as a whole has other than that."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from co_tui.context.journal.net_changes import NUMBER
from co_tui.context.journal.shown_lines import is_empty
from co_tui.context.memory.unwrap import line_steps

MOST_ORIGINALS: Final = 16
MOST_CHARS, MOST_LINES = 100_000, 3_000
"""Of a file that is read or written as a whole."""
LINE_CHARS: Final = 1_000
_NUMBERED_SHARE: Final = 0.8
"""Of the lines of such a file, how many follow one with the number before."""
_LEFT_OUT: Final = re.compile(
    r"\.\.\.|…|elided|truncat|omitted|clipped|too (?:long|large)|more lines"
    r"|(?:hidden|skipped|not shown|left out|snip)\b",
    re.IGNORECASE,
)
"""Of what was read: something may be missing here. Taking code for that costs no more than a change next to it."""


class Originals:
    """The lines of files as they were read before they were changed, and the texts written since."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}
        """With an empty line where something may be missing."""
        self._written: dict[str, list[str]] = {}

    def saw(self, path: str, text: str) -> None:
        """A file was read as a whole, perhaps up to where its end was left out, before it was changed."""
        lines = _telling(_without_numbers(_lines_of(text)))
        lines = ["" if _LEFT_OUT.search(line) else line for line in lines]
        _put(self._lines, path, ["", *lines, ""])

    def changes(self, path: str, text: str, source: str) -> list[str]:
        """What a file written as a whole, or copied from one that was, has other than before, as far as is known."""
        after = _telling(_lines_of(text)) if text else self._written.get(source, [])
        _put(self._written, path, after)
        before = self._lines.get(path)
        return list(_known_changes(before, after)) if before else []

    def edited(self, path: str) -> None:
        """A part of a file was changed: what was written to it is outdated."""
        self._written.pop(path, None)


def _lines_of(text: str) -> list[str]:
    return [line[:LINE_CHARS].rstrip() for line in text[:MOST_CHARS].splitlines()[:MOST_LINES]]


def _telling(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if not is_empty(line) or _LEFT_OUT.search(line)]


def _without_numbers(lines: list[str]) -> list[str]:
    """The lines of a file without their numbers, if it is shown with them."""
    numbers = [int(found[1]) if (found := NUMBER.match(line)) else -1 for line in lines]
    following = sum(other == one + 1 > 0 for one, other in pairwise(numbers))
    return [NUMBER.sub("", line) for line in lines] if following > _NUMBERED_SHARE * len(lines) else lines


def _known_changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The lines removed and added, with the one before them; none where a line before is missing."""
    for kind, from_, to, new_from, new_to in line_steps(before, after):
        if kind != "equal" and all(before[max(0, from_ - 1) : to + 1]):
            yield f" {before[from_ - 1]}"
            yield from (f"-{line}" for line in before[from_:to])
            yield from (f"+{line}" for line in after[new_from:new_to])


def _put(files: dict[str, list[str]], path: str, lines: list[str]) -> None:
    files.pop(path, None)
    files[path] = lines
    if len(files) > MOST_ORIGINALS:
        del files[next(iter(files))]
