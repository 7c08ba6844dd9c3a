"""Files as they were read before they were changed: what a text that is written as a whole has other than that."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from co_tui.context.journal.net_changes import LEFT_OUT, are_numbered, without_numbers
from co_tui.context.journal.shown_lines import is_empty
from co_tui.context.memory.unwrap import line_steps

MOST_ORIGINALS: Final = 16
MOST_CHARS, MOST_LINES = 100_000, 3_000
"""Of a file that is read or written as a whole."""
LINE_CHARS: Final = 1_000
_Kept = TypeVar("_Kept")


class Originals:
    """The lines of files as they were read before they were changed, and the texts written since."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[str, list[str]]] = {}
        """With where it was read: the same name in another folder is another file."""
        self._written: dict[str, list[str]] = {}

    def saw(self, path: str, text: str, folder: str) -> None:
        """A file was read as a whole, perhaps up to where its end was left out, before it was changed."""
        _put(self._lines, path, (folder, _lines_of(text)))

    def changes(self, path: str, text: str, source: str, folder: str) -> list[str]:
        """What a file written as a whole, or copied from one that was, has other than before, as far as is known."""
        after = _lines_of(text) if text else self._written.get(source, [])
        _put(self._written, path, after)
        read_in, before = self._lines.get(path, (folder, []))
        if not before or read_in != folder:
            return []
        if not are_numbered(after):
            before = without_numbers(before)
        # Something may be missing where it says so, and at both ends.
        known = ["", *("" if LEFT_OUT.search(line) else line for line in _telling(before)), ""]
        return list(_known_changes(known, _telling(after)))

    def edited(self, path: str) -> None:
        """A part of a file was changed: what was written to it is outdated."""
        self._written.pop(path, None)


def _lines_of(text: str) -> list[str]:
    return [line[:LINE_CHARS].rstrip() for line in text[:MOST_CHARS].splitlines()[:MOST_LINES]]


def _telling(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if not is_empty(line) or LEFT_OUT.search(line)]


def _known_changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The lines removed and added, with the one before them; none where a line before is missing."""
    for kind, from_, to, new_from, new_to in line_steps(before, after):
        if kind != "equal" and all(before[max(0, from_ - 1) : to + 1]):
            yield f" {before[from_ - 1]}"
            yield from (f"-{line}" for line in before[from_:to])
            yield from (f"+{line}" for line in after[new_from:new_to])


def _put(files: dict[str, _Kept], path: str, kept: _Kept) -> None:
    files.pop(path, None)
    files[path] = kept
    if len(files) > MOST_ORIGINALS:
        del files[next(iter(files))]
