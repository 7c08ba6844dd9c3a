"""What the edits of a file come to: the lines removed and added, without those that later edits took back."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from co_tui.context.journal.outline import defined_in
from co_tui.context.journal.shown_lines import clean, is_empty, single_blanks
from co_tui.context.measure.count import estimate_text
from co_tui.events.facts.files import AS_BEFORE, GONE
from co_tui.events.file_diff import read_diff
from co_tui.events.recorded import ChangedFile
from co_tui.inert import one_line

MOST_FILES: Final = 64
MOST_EDITS: Final = 12
"""Of a file: so many of the newest are known."""
MOST_LINES: Final = 60
"""Of an edit, as many removed as added ones."""
LINE_CHARS: Final = 140
MOST_BLANKS: Final = 40
"""That a long line begins with."""
LEAST_SHOWN: Final = 3
"""With room for fewer lines of a file, none are shown."""
LEAST_TOKENS: Final = 30
"""With less room than this, no further file is shown."""
TELLING_CHARS: Final = 12
"""A shorter line may be anywhere in a file."""
GAP: Final = "…"
HEADING_TOKENS: Final = 6


class Edit(NamedTuple):
    """A recorded edit of a file."""

    at: int
    """The number of the message that has it."""
    lines: tuple[str, ...]
    """With `-`, `+` or a blank before them."""
    seq: int = 0
    """The event with its outcome; 0 if it has none."""
    is_cut: bool = False
    """Whether some of its lines were left out or shortened."""
    defined: frozenset[str] = frozenset()
    """The functions and classes that it names: edits of different ones are kept apart, even with equal lines."""

    def is_apart_from(self, other: "Edit") -> bool:
        return bool(self.defined) and bool(other.defined) and self.defined.isdisjoint(other.defined)


def edit_of(lines: Sequence[str], whole: Sequence[str] = ()) -> Edit:
    """An edit with these lines; `whole` are all its lines, if some were left out."""
    whole = whole or lines
    changes = [line for line in whole if line[0] in "+-" and line[1:].strip()]
    is_cut = len(changes) > sum(line[0] in "+-" for line in lines) or any(len(line) > LINE_CHARS for line in changes)
    return Edit(0, tuple(lines), is_cut=is_cut, defined=frozenset(defined_in(line[1:] for line in whole)))


class NetChanges:
    """The edits of each file, the file changed last at the end."""

    def __init__(self) -> None:
        self._edits: dict[str, list[Edit]] = {}
        self._unknown_at: dict[str, int] = {}
        """The number of the last message that changed a file in a way that these edits do not tell."""
        self._all_unknown_at = -1
        """That of the last message that may have changed any file."""
        self._uncovered: set[str] = set()
        """Files whose changes are only known from the tools that made them."""
        self._uncovered_unknown_at = -1
        """That of the last message that may have changed them."""

    def add(self, path: str, at: int, lines: Sequence[str], seq: int = 0) -> None:
        edit = edit_of(tuple(_bounded(_telling(map(_clipped, lines)))), lines)._replace(at=at, seq=seq)
        self._edits[path] = [*self._edits.pop(path, []), edit][-MOST_EDITS:]
        if len(self._edits) > MOST_FILES:
            forgotten = next(iter(self._edits))
            del self._edits[forgotten]
            self._unknown_at[forgotten] = at

    def doubt(self, path: str, at: int) -> None:
        """A message changed a file in a way that is not known: edits of it may be gone."""
        self._unknown_at[path] = at

    def doubt_all(self, at: int) -> None:
        """A message may have changed any file."""
        self._all_unknown_at = at

    def note_uncovered(self, path: str) -> None:
        """Changes of a file are only known from the tools that make them."""
        self._uncovered.add(path)

    def doubt_uncovered(self, at: int) -> None:
        """A message may have changed such files."""
        self._uncovered_unknown_at = at

    def removed_after(self, path: str, number: int) -> set[str] | None:
        """The lines that edits removed from a file after a message, with single blanks; None if not all are known."""
        all_edits = self._edits.get(path, [])
        edits = [each for each in all_edits if each.at > number]
        if (
            not edits
            or len(edits) == MOST_EDITS
            or any(each.is_cut for each in edits)
            or self._is_unknown(path, number)
        ):
            return None
        return {single_blanks(line[1:]) for each in edits for line in each.lines if line[0] == "-"}

    def _is_unknown(self, path: str, number: int) -> bool:
        """Whether a file may have changed after a message in a way that is not known."""
        uncovered_at = self._uncovered_unknown_at if path in self._uncovered else -1
        return max(self._unknown_at.get(path, -1), self._all_unknown_at, uncovered_at) > number

    def shown(
        self, gone: Collection[int], budget_tokens: float, files: Mapping[str, ChangedFile]
    ) -> dict[str, "Shown"]:
        """What changed in each file by edits in messages that are gone, within the budget, newest first; `files` are
        those recorded as changed."""
        found: dict[str, Shown] = {}
        for path, edits in reversed(self._edits.items()):
            if budget_tokens < LEAST_TOKENS:
                break
            last, recorded = edits[-1], files.get(path)
            if recorded is not None and recorded.now in (GONE, AS_BEFORE):
                continue
            left = net(edits)
            groups = [lines for edit, lines in zip(edits, left, strict=True) if edit.at in gone and lines]
            heading = estimate_text(path) + HEADING_TOKENS
            shown = _fitting(groups, budget_tokens - heading)
            if len(shown.lines) >= min(LEAST_SHOWN, len(_in_place(groups))) > 0:
                is_later = recorded is not None and recorded.seq > last.seq
                found[path] = shown._replace(may_be_gone=is_later or self._is_unknown(path, edits[0].at))
                budget_tokens -= heading + _cost(shown.lines)
        return found


class Shown(NamedTuple):
    """What is shown of the changes of a file."""

    lines: list[str]
    has_removed: bool = True
    """False if there was no room for the lines that were removed."""
    may_be_gone: bool = False
    """Whether the file was changed later in a way that is not known."""


def changes_in_diff(text: str) -> dict[str, list[str]]:
    """The lines that a recorded diff removes and adds, by file; empty if not all are recorded."""
    diff = read_diff(text)
    if diff is None or diff.left_out:
        return {}
    found: dict[str, list[str]] = {}
    path = diff.path
    for row in diff.rows:
        if row.sign == "file":
            path = row.text
        elif row.sign in ("+", "-", " "):
            found.setdefault(path, []).append(f"{row.sign}{row.text}")
    return found


def _telling(lines: Iterable[str]) -> Iterator[str]:
    """The changed lines that are not blank, each group with the line before it; without one that says something, none
    of them."""
    before = ""
    group: list[str] = []
    for line in (*lines, " "):
        if line[0] != " ":
            group += [line] if line[1:].strip() else []
            continue
        if any(not is_empty(each[1:]) for each in group):
            yield from filter(None, (before, *group))
            before = ""
        group = []
        before = before if is_empty(line[1:]) else line


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    """The first lines of each kind."""
    count = dict.fromkeys("+- ", 0)
    for line in lines:
        count[line[0]] += 1
        if count[line[0]] <= MOST_LINES:
            yield line


def _clipped(line: str) -> str:
    """A line with its sign, without control characters, and not longer than allowed."""
    cleaned = clean(line[1:]).replace("\t", "  ")
    if len(cleaned) > LINE_CHARS:
        blanks = cleaned[: min(MOST_BLANKS, len(cleaned) - len(cleaned.lstrip()))]
        cleaned = f"{blanks}{one_line(cleaned, LINE_CHARS - len(blanks))}"
    return f"{line[0]}{cleaned}"


def net(edits: Iterable[Edit]) -> list[list[str]]:
    """The lines of each edit without those that another one took back, and with those that it put there instead; after
    `…` where its place is not known."""
    earlier: list[Edit] = []
    groups: list[list[str]] = []
    is_placed: list[bool] = []
    for edit in edits:
        left = [*edit.lines]
        removed = {line[1:].strip() for line in left if line[0] == "-"}
        near = [at for at, of in enumerate(earlier) if not edit.is_apart_from(of)]
        # Of equal lines, those below the same line are meant, then the newest.
        for at in sorted(near, key=lambda at: (_are_apart(groups[at], left), -at)):
            groups[at] = _without_taken_back(groups[at], left)
        for at in near:
            groups[at] = _without_replaced(groups[at], left, removed)
        earlier.append(edit)
        groups.append([line for line in left if line[1:]])
        is_placed.append(len(groups[-1]) < len(left))
    telling = [list(_telling(group)) for group in groups]
    return [
        [GAP, *group] if group and group[0][0] != " " and not placed and any(telling[:at]) else group
        for at, (group, placed) in enumerate(zip(telling, is_placed, strict=True))
    ]


def _without_taken_back(group: Sequence[str], later: list[str]) -> list[str]:
    """The lines of an edit without those that a later one takes back, with what that puts there instead. Both are
    emptied in the later one."""
    is_elsewhere = _are_apart(group, later)
    kept: list[str] = []
    was_taken = False
    for line in group:
        text = line[1:].strip()
        at = -1 if line[0] == " " else next((at for at, other in enumerate(later) if _takes_back(other, line)), -1)
        tells = len(text) >= TELLING_CHARS or (not is_elsewhere and not is_empty(text))
        if was_taken := at >= 0 and (was_taken or tells):
            later[at] = later[at][0]
            kept += _taken(later, at, "+", group) if line[0] == "+" else ()
        else:
            kept.append(line)
    return kept


def _without_replaced(group: Sequence[str], later: list[str], removed: Collection[str]) -> list[str]:
    """The lines of an edit without those around it that a later one `removed`, with that change in their place."""
    kept: list[str] = []
    for line in group:
        text = line[1:].strip()
        if line[0] != " " or text not in removed:
            kept.append(line)
        elif len(text) >= TELLING_CHARS:
            at = next((at for at, other in enumerate(later) if _takes_back(other, line)), -1)
            kept += _taken(later, at, "-+", group) if at >= 0 else ()
    return kept


def _taken(later: list[str], at: int, signs: str, group: Sequence[str]) -> list[str]:
    """Move the lines with these signs out of the change that has the removed line `at`, except those that take back a
    line of the group."""
    begin = next((n for n in range(at, 0, -1) if later[n - 1][0] != "-"), 0)
    middle = next((n for n in range(at, len(later)) if later[n][0] != "-"), len(later))
    end = next((n for n in range(middle, len(later)) if later[n][0] != "+"), len(later))
    taken: list[str] = []
    for n in range(begin, end):
        line = later[n]
        if line[1:] and line[0] in signs and not any(_takes_back(line, other) for other in group if other[0] != " "):
            taken.append(line)
            later[n] = line[0]
    return taken


def _are_apart(group: Sequence[str], later: Sequence[str]) -> bool:
    """Whether two edits stand below different lines, so that equal short lines are not the same one."""
    places = [{line.strip() for line in lines if line[:1] == " "} for lines in (group, later)]
    return all(places) and places[0].isdisjoint(places[1])


def _takes_back(later: str, line: str) -> bool:
    """Whether a line removes one that was added or was there before, or adds one again that was removed, at the same
    depth."""
    if line[0] in "+ ":
        return later[:1] == "-" and _quoted(later[1:]) == _quoted(line[1:])
    return line[0] == "-" and later[:1] == "+" and later[1:].rstrip() == line[1:].rstrip()


def _quoted(line: str) -> str:
    """A line as a formatter may have left it, which prefers one kind of quotes."""
    return line.strip().replace("'", '"')


def _fitting(groups: Sequence[Sequence[str]], room: float) -> Shown:
    """The lines of the newest groups for which there is room, in order: all, or without those that were removed."""
    whole = _in_place(groups)
    if _cost(whole) <= room:
        return Shown(whole)
    has_added = any(line[0] == "+" for line in whole)
    left = [[line for line in group if line[0] != "-"] for group in groups] if has_added else groups
    return Shown(_newest([group for group in left if _changes(group)], room), not has_added)


def _in_place(groups: Iterable[Sequence[str]]) -> list[str]:
    """The lines of all edits, in order; a change below a line that an earlier edit added is put below that."""
    lines: list[str] = []
    for group in groups:
        at = len(lines)
        for line in group:
            if line[0] == " ":
                text = line[1:].strip()
                there = (n for n, other in enumerate(lines) if other[0] == "+" and other[1:].strip() == text)
                at = next(there, -1) + 1 if len(text) >= TELLING_CHARS else 0
                if at:
                    continue
                at = len(lines)
            lines.insert(at, line)
            at += 1
    return lines


def _changes(lines: Iterable[str]) -> bool:
    return any(line[0] in "+-" for line in lines)


def _newest(groups: Sequence[Sequence[str]], room: float) -> list[str]:
    """The newest groups that fit; of the oldest of them, the lines at its beginning."""
    shown: list[list[str]] = []
    for group in reversed(groups):
        part: list[str] = []
        for line in group:
            cost = estimate_text(line) + 1
            if cost > room:
                break
            room -= cost
            part.append(line)
        is_whole = len(part) == len(group)
        if _changes(part):
            shown.append(part if is_whole else [*part, GAP])
        if not is_whole:
            break
    lines = [line for group in reversed(shown) for line in group]
    return [line for before, line in pairwise(("", *lines)) if line != GAP or before != GAP]


def _cost(lines: Sequence[str]) -> float:
    return sum(estimate_text(line) + 1 for line in lines)
