"""What the edits of a file come to: the lines removed and added, without those that later edits took back."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from co_tui.context.journal.shown_lines import clean, is_empty
from co_tui.context.measure.count import estimate_text
from co_tui.inert import one_line

MOST_FILES: Final = 64
MOST_EDITS: Final = 12
"""Of a file: so many of the newest are known."""
MOST_LINES: Final = 60
"""Of an edit."""
LINE_CHARS: Final = 140
MOST_BLANKS: Final = 40
"""That a long line begins with."""
LEAST_SHOWN: Final = 3
"""With room for fewer lines of a file, none are shown."""
LEAST_TOKENS: Final = 30
"""With less room than this, no further file is shown."""
TELLING_CHARS: Final = 12
"""A shorter line may be anywhere in a file."""
LEAST_OF_PART: Final = 2
"""So many lines of an edit tell that a part of a file is where it was made."""
GAP: Final = "…"
HEADING_TOKENS: Final = 6
_TAKES_BACK: Final = {"+": "-", "-": "+", " ": "unchanged "}
_FILE: Final = re.compile(r"\+\+\+ (?:b/)?([^\t]+)|\*\*\* (?:Add|Update) File: (.+)")
_NUMBER: Final = re.compile(r"^\s*\d+[:\t-]")
"""Before a line of a file that is shown with numbers."""
_NO_FILE: Final = "/dev/null"
_BETWEEN: Final = re.compile(r"diff --git |index [0-9a-f]+\.\.|--- (?:a/|/dev/null)|\*\*\* |\\ No newline")
_HUNK: Final = re.compile(r"@@(?: -\d\S* \+\d\S* @@)? ?")


class Edit(NamedTuple):
    """An edit of a file."""

    at: int
    """The number of the message that has it."""
    lines: tuple[str, ...]
    """With `-`, `+` or a blank before them."""
    is_sure: bool = True
    """False for replacements of a script, which may have found nothing to replace."""

    def is_refuted_by(self, seen: Collection[str], *, fewest: int) -> bool:
        """Whether the lines that it removed are still there, at least so many, and none that it added."""
        removed, added = ({line[1:].strip() for line in self.lines if line[0] == sign} for sign in "-+")
        telling = {line for line in removed - added if len(line) >= TELLING_CHARS}
        return len(telling) >= fewest and bool(added) and telling <= set(seen) and added.isdisjoint(seen)


class NetChanges:
    """The edits of each file, the file changed last at the end."""

    def __init__(self) -> None:
        self._edits: dict[str, list[Edit]] = {}

    def add(self, path: str, at: int, lines: Sequence[str], *, is_sure: bool = True) -> None:
        edit = Edit(at, tuple(islice(_telling(map(_clipped, lines)), MOST_LINES)), is_sure)
        self._edits[path] = [*self._edits.pop(path, []), edit][-MOST_EDITS:]
        if len(self._edits) > MOST_FILES:
            del self._edits[next(iter(self._edits))]

    def replace(self, path: str, at: int, lines: Sequence[str]) -> None:
        """A patch shows all that was changed in a file."""
        self.forget(path)
        self.add(path, at, lines)

    def forget(self, path: str) -> None:
        self._edits.pop(path, None)

    def undo(self, path: str) -> None:
        """Forget the newest edit of a file."""
        if edits := self._edits.pop(path, [])[:-1]:
            self._edits[path] = edits

    def saw(self, path: str, text: str, *, is_whole: bool) -> None:
        """A file was read, or a part of it, where an equal line may be another one: if it does not show what the newest
        edit was to replace, that changed nothing."""
        edits = self._edits.get(path, [])
        if not edits or edits[-1].is_sure:
            return
        seen = {_clipped(f" {_NUMBER.sub('', line)}").strip() for line in text.splitlines()}
        if edits[-1].is_refuted_by(seen, fewest=1 if is_whole else LEAST_OF_PART):
            edits[-1] = edits[-1]._replace(lines=())

    def shown(self, gone: Collection[int], budget_tokens: float) -> dict[str, list[str]]:
        """What changed in each file by edits in messages that are gone, within the budget, newest first."""
        found: dict[str, list[str]] = {}
        for path, edits in reversed(self._edits.items()):
            if budget_tokens < LEAST_TOKENS:
                break
            groups = [lines for edit, lines in zip(edits, _net(edits), strict=True) if edit.at in gone and lines]
            heading = estimate_text(path) + HEADING_TOKENS
            lines = _fitting(groups, budget_tokens - heading)
            if len(lines) >= min(LEAST_SHOWN, sum(map(len, groups))) > 0:
                found[path] = lines
                budget_tokens -= heading + _cost(lines)
        return found


def patch_changes(text: str) -> dict[str, list[str]]:
    """The lines that a patch removes and adds, by file, in the forms of `diff` and `apply_patch`."""
    found: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        if file := _FILE.match(line):
            name = (file[1] or file[2]).strip()
            lines = found.setdefault(name, []) if name != _NO_FILE else None
        elif _BETWEEN.match(line):
            lines = None if line.startswith(("diff", "***")) else lines
        elif lines is not None and (hunk := _HUNK.match(line)):
            lines.append(f" {line[hunk.end() :]}")
        elif lines is not None and line[:1] in ("+", "-", " "):
            lines.append(line)
    return found


def _telling(lines: Iterable[str]) -> Iterator[str]:
    """The changed lines that say something, each group with the line before it."""
    before = ""
    for line in lines:
        if is_empty(line[1:]):
            continue
        if line[0] == " ":
            before = line
            continue
        if before:
            yield before
            before = ""
        yield line


def _clipped(line: str) -> str:
    """A line with its sign, without control characters, and not longer than allowed."""
    cleaned = clean(line[1:]).replace("\t", "  ")
    if len(cleaned) > LINE_CHARS:
        blanks = cleaned[: min(MOST_BLANKS, len(cleaned) - len(cleaned.lstrip()))]
        cleaned = f"{blanks}{one_line(cleaned, LINE_CHARS - len(blanks))}"
    return f"{line[0]}{cleaned}"


def _net(edits: Sequence[Edit]) -> list[list[str]]:
    """The lines of each edit without those that another one took back."""
    groups: list[list[str]] = []
    for edit in edits:
        taking = Counter(_opposite(line) for line in edit.lines)
        taken = Counter(_bare(line) for group in groups for line in group) & taking
        left = Counter(taken)
        groups = [[line for line in group if not _spend(left, _bare(line))] for group in groups]
        left = Counter(taken)
        groups.append([line for line in edit.lines if not _spend(left, _opposite(line))])
    return [list(_telling(group)) for group in groups]


def _bare(line: str) -> str:
    return f"{line[0]}{line[1:].strip()}"


def _opposite(line: str) -> str:
    """The line that this one takes back."""
    return _TAKES_BACK[line[0]] + line[1:].strip()


def _spend(left: Counter[str], line: str) -> bool:
    """Whether this line is one of those left, which are one fewer then."""
    if not left[line]:
        return False
    left[line] -= 1
    return True


def _fitting(groups: Sequence[Sequence[str]], room: float) -> list[str]:
    """The lines of the newest groups for which there is room, in order; of the last, those at its beginning."""
    shown: list[list[str]] = []
    for group in reversed(groups):
        part: list[str] = []
        for line in group:
            cost = estimate_text(line) + 1
            if cost > room:
                break
            room -= cost
            part.append(line)
        shown.append(part if len(part) == len(group) else [*part, GAP])
        if len(part) < len(group):
            break
    return [line for part in reversed(shown) for line in part if part != [GAP]]


def _cost(lines: Sequence[str]) -> float:
    return sum(estimate_text(line) + 1 for line in lines)
