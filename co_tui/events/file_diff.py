"""The diff of a file change, as stored text and as rows. Question, chat and export read it here. Imports nothing heavy.

The text is a unified diff. If it was cut, the header has the figures of the whole change.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from co_tui.inert import inert, one_line
from co_tui.late_pattern import late_pattern

DIFF: Final = "co_tui_diff"
"""Metadata of a tool result: the change that the call made, as a unified diff."""
CHECKED: Final = "\n\n[after_edit]\n"
"""In the result of a change: what follows is new in the output of the user's checks."""
NEW_FILE: Final = "new file"
"""Replaces the old file's name if there was none."""
NO_NEWLINE: Final = "\\ No newline at end of file"
PATH_CHARS: Final = 300
LONGEST_MARKED_CHARS: Final = 500
"""In longer lines no words are marked: comparing them takes too long."""
LEAST_ALIKE: Final = 0.4
"""Lines less alike than this are two different lines: no words are marked."""

Sign: TypeAlias = Literal["+", "-", " ", "file", "gap", "note"]
Span: TypeAlias = tuple[int, int]

_HUNK: Final = late_pattern(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FIGURES: Final = late_pattern(r"\t\+([\d,]+) −([\d,]+)$")
_MORE: Final = late_pattern(r"… ([\d,]+) more lines?")
_WORDS: Final = late_pattern(r"\w+|\s+|[^\w\s]")


class DiffRow(NamedTuple):
    """A line of a diff, or what is between its lines."""

    sign: Sign
    text: str
    number: int = 0
    """Its line number: before the change for a removed line, else after it."""
    marks: tuple[Span, ...] = ()
    """The words of it that changed."""


class FileDiff(NamedTuple):
    """A change of a file, or of several."""

    path: str
    is_new: bool
    added: int
    removed: int
    rows: Sequence[DiffRow]
    """Texts are inert."""
    left_out: int = 0
    """Lines that were too many to store."""

    @property
    def figures(self) -> str:
        if self.is_new and not self.removed:
            return f"+{self.added:,}"
        return f"+{self.added:,} −{self.removed:,}"

    @property
    def changed_rows(self) -> list[DiffRow]:
        """The added and removed lines."""
        return [row for row in self.rows if row.sign in ("+", "-")]

    def first_rows(self, most: int) -> list[DiffRow]:
        """The first rows with marks; without the unchanged ones, unless all rows fit."""
        fit = len(self.rows) <= most and not self.left_out
        return with_marks(self.rows if fit else self.changed_rows[:most])

    def hidden_after(self, rows: Sequence[DiffRow]) -> int:
        """How many changed lines are not among the first rows."""
        return self.added + self.removed - sum(row.sign in ("+", "-") for row in rows)

    @property
    def number_width(self) -> int:
        return max((len(str(row.number)) for row in self.rows if row.number), default=1)


def diff_in(part: Mapping[str, Any]) -> str:
    """The stored diff of a tool result; empty if it has none."""
    metadata = part.get("metadata")
    text = metadata.get(DIFF) if isinstance(metadata, Mapping) else None
    return text if isinstance(text, str) else ""


def is_diff(text: str) -> bool:
    return text.startswith("--- ") and "\n+++ " in text


def header(old: str, new: str, figures: tuple[int, int] | None = None) -> list[str]:
    """The first two lines of a diff; `figures` if not all of it is stored."""
    written = f"\t+{figures[0]:,} −{figures[1]:,}" if figures else ""
    return [f"--- {one_line(old, PATH_CHARS)}", f"+++ {one_line(new, PATH_CHARS)}{written}"]


def read_diff(text: str) -> FileDiff | None:
    """The diff as rows with line numbers; None for any other text."""
    if not is_diff(text):
        return None
    reader = _Reader()
    for line in text.split("\n"):
        reader.read(line)
    return reader.diff()


class _Reader:
    """Reads a unified diff line by line. Within a hunk, its header says how many lines are still to come."""

    def __init__(self) -> None:
        self._rows: list[DiffRow] = []
        self._headers: list[str] = []
        self._old = self._new = 0
        """The next line numbers."""
        self._old_left = self._new_left = 0
        self._left_out = 0

    def read(self, line: str) -> None:
        sign = line[:1]
        if sign == "-" and self._old_left:
            self._rows.append(DiffRow("-", line[1:], self._old))
            self._old, self._old_left = self._old + 1, self._old_left - 1
        elif sign == "+" and self._new_left:
            self._rows.append(DiffRow("+", line[1:], self._new))
            self._new, self._new_left = self._new + 1, self._new_left - 1
        elif sign in (" ", "") and self._old_left and self._new_left:
            self._rows.append(DiffRow(" ", line[1:], self._new))
            self._old, self._old_left = self._old + 1, self._old_left - 1
            self._new, self._new_left = self._new + 1, self._new_left - 1
        else:
            self._between(line)

    def _between(self, line: str) -> None:
        """A line that is not part of the files."""
        if hunk := _HUNK.match(line):
            self._old, self._new = int(hunk[1]), int(hunk[3])
            self._old_left, self._new_left = int(hunk[2] or 1), int(hunk[4] or 1)
            if self._rows and self._rows[-1].sign != "file":
                self._rows.append(DiffRow("gap", ""))
        elif line.startswith(("--- ", "+++ ")):
            self._headers.append(line)
            if line.startswith("+++ ") and len(self._headers) > 2:
                self._rows.append(DiffRow("file", _FIGURES.sub("", line[4:])))
        elif line.startswith("\\"):
            self._rows.append(DiffRow("note", "no newline at the end"))
        elif line.startswith("…"):
            self._old_left = self._new_left = 0
            more = _MORE.match(line)
            self._left_out = int(more[1].replace(",", "")) if more else 1

    def diff(self) -> FileDiff:
        old, new = self._headers[0][4:], self._headers[1][4:]
        given = _FIGURES.search(new)
        added, removed = (sum(row.sign == sign for row in self._rows) for sign in "+-")
        if given:
            added, removed = (int(each.replace(",", "")) for each in given.groups())
        path = inert(_FIGURES.sub("", new))
        several = [DiffRow("file", path)] if len(self._headers) > 2 else []
        rows = tuple(_shown([*several, *self._rows]))
        return FileDiff(path, old == NEW_FILE, added, removed, rows, self._left_out)


def _shown(rows: Iterable[DiffRow]) -> list[DiffRow]:
    """Inert texts. A carriage return at the end of every line says nothing; elsewhere it is visible."""
    rows = list(rows)
    ends = {row.text.endswith("\r") for row in rows if row.sign in "+- "}
    dropped = "\r" if ends == {True} else ""
    return [row._replace(text=inert(row.text.removesuffix(dropped))) for row in rows]


def with_marks(rows: Sequence[DiffRow]) -> list[DiffRow]:
    """The rows with the changed words marked, where removed lines are followed by added ones."""
    return list(_marked(rows))


def _marked(rows: Sequence[DiffRow]) -> Iterator[DiffRow]:
    at = 0
    while at < len(rows):
        middle = _end_of(rows, at, "-")
        end = _end_of(rows, middle, "+")
        if middle == at or end == middle:
            yield from rows[at : max(end, at + 1)]
            at = max(end, at + 1)
            continue
        pairs = [_marked_pair(*pair) for pair in zip(rows[at:middle], rows[middle:end], strict=False)]
        yield from (*(old for old, _ in pairs), *rows[at + len(pairs) : middle])
        yield from (*(new for _, new in pairs), *rows[middle + len(pairs) : end])
        at = end


def _end_of(rows: Sequence[DiffRow], start: int, sign: str) -> int:
    while start < len(rows) and rows[start].sign == sign:
        start += 1
    return start


def _marked_pair(old: DiffRow, new: DiffRow) -> tuple[DiffRow, DiffRow]:
    if max(len(old.text), len(new.text)) > LONGEST_MARKED_CHARS:
        return old, new
    words = (_WORDS.findall(old.text), _WORDS.findall(new.text))
    compared = difflib.SequenceMatcher[str](None, words[0], words[1], autojunk=False)
    if not LEAST_ALIKE <= compared.ratio() < 1:
        return old, new
    changed = [code for code in compared.get_opcodes() if code[0] != "equal"]
    return (
        old._replace(marks=_spans(words[0], [(first, last) for _, first, last, _, _ in changed])),
        new._replace(marks=_spans(words[1], [(first, last) for _, _, _, first, last in changed])),
    )


def _spans(words: Sequence[str], ranges: Iterable[Span]) -> tuple[Span, ...]:
    """Ranges of words as ranges of characters, without the empty ones."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[first], starts[last]) for first, last in ranges if last > first)
