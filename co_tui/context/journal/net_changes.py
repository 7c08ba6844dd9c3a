"""What the edits of a file come to: the lines removed and added, without those that later edits took back."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from co_tui.context.journal.outline import defined_in
from co_tui.context.journal.shown_lines import NUMBER, clean, is_empty, single_blanks
from co_tui.context.measure.count import estimate_text
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
LEAST_OF_PART: Final = 2
"""So many lines of an edit tell that a part of a file is where it was made."""
GAP: Final = "…"
HEADING_TOKENS: Final = 6
_FILE: Final = re.compile(r"\+\+\+ (?:b/)?([^\t]+)|\*\*\* (?:Add|Update) File: (.+)")
_NUMBERED_SHARE: Final = 0.8
"""Of the lines of such a file, how many follow one with the number before."""
LEFT_OUT: Final = re.compile(
    r"\.\.\.|…|elided|truncat|omitted|clipped|too (?:long|large)|more lines"
    r"|(?:hidden|skipped|not shown|left out|snip)\b",
    re.IGNORECASE,
)
"""Of what was read: something may be missing here. Taking code for that costs no more than a change next to it."""
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
    may_be_gone: bool = False
    """Whether the file was changed later in a way that is not known."""
    is_cut: bool = False
    """Whether some of its lines were left out or shortened."""
    defined: frozenset[str] = frozenset()
    """The functions and classes that it names: edits of different ones are kept apart, even with equal lines."""

    def is_apart_from(self, other: "Edit") -> bool:
        return bool(self.defined) and bool(other.defined) and self.defined.isdisjoint(other.defined)

    def is_refuted_by(self, seen: Collection[str], *, fewest: int) -> bool:
        """Whether the lines that it removed are still there, at least so many, and none that it added."""
        removed, added = ({line[1:].strip() for line in self.lines if line[0] == sign} for sign in "-+")
        telling = {line for line in removed - added if len(line) >= TELLING_CHARS}
        return len(telling) >= fewest and bool(added) and telling <= set(seen) and added.isdisjoint(seen)

    def is_made_by(self, later: "Edit") -> bool:
        """Whether a later one that was made for sure adds all that this one may have added."""
        added, later_added = ({line[1:].strip() for line in each.lines if line[0] == "+"} for each in (self, later))
        return not self.is_sure and bool(added) and added <= later_added

    def without_gone(self, seen: Collection[str]) -> "Edit":
        """Without what was added and is neither there nor removed by another one."""
        return self._replace(
            may_be_gone=False, lines=tuple(each for each in self.lines if each[0] != "+" or each[1:].strip() in seen)
        )


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

    def add(self, path: str, at: int, lines: Sequence[str], *, is_sure: bool = True) -> None:
        edit = edit_of(tuple(_bounded(_telling(map(_clipped, lines)))), lines)._replace(at=at, is_sure=is_sure)
        earlier = self._edits.pop(path, [])
        if is_sure:
            earlier = [each._replace(lines=()) if each.is_made_by(edit) else each for each in earlier]
        self._edits[path] = [*earlier, edit][-MOST_EDITS:]
        if len(self._edits) > MOST_FILES:
            self.forget(next(iter(self._edits)), at)

    def doubt(self, path: str, at: int) -> None:
        """A message changed a file in a way that is not known: edits of it may be gone."""
        self._unknown_at[path] = at
        if edits := self._edits.get(path):
            edits[:] = [each._replace(may_be_gone=True) for each in edits]

    def replace(self, path: str, at: int, lines: Sequence[str]) -> None:
        """A patch shows all that was changed in a file."""
        self.forget(path, at)
        self.add(path, at, lines)

    def forget(self, path: str, at: int) -> None:
        self._unknown_at[path] = at
        self._edits.pop(path, None)

    def undo(self, path: str, at: int) -> None:
        """Forget the newest edit of a file, which a message undid."""
        self._unknown_at[path] = at
        if edits := self._edits.pop(path, [])[:-1]:
            self._edits[path] = edits

    def saw(self, path: str, text: str, *, is_whole: bool) -> None:
        """A file was read, or a part of it, where an equal line may be another one: if it still shows what the newest
        edit was to replace, that changed nothing. What edits added and the whole file does not show is gone."""
        edits = self._edits.get(path, [])
        if not edits or (edits[-1].is_sure and not edits[0].may_be_gone):
            return
        seen = {_clipped(f" {line}").strip() for line in without_numbers(text.splitlines())}
        is_whole = is_whole and LEFT_OUT.search(text) is None
        if not edits[-1].is_sure and edits[-1].is_refuted_by(seen, fewest=1 if is_whole else LEAST_OF_PART):
            edits[-1] = edits[-1]._replace(lines=())
        if is_whole and edits[0].may_be_gone:
            there = seen | {line[1:].strip() for each in edits for line in each.lines if line[0] == "-"}
            edits[:] = [each.without_gone(there) if each.may_be_gone else each for each in edits]

    def removed_after(self, path: str, number: int) -> set[str] | None:
        """The lines that edits removed from a file after a message, with single blanks; None if not all are known."""
        all_edits = self._edits.get(path, [])
        edits = [each for each in all_edits if each.at > number]
        may_lack = len(edits) == MOST_EDITS or any(each.may_be_gone or each.is_cut for each in edits)
        if not edits or may_lack or self._unknown_at.get(path, -1) > number:
            return None
        return {single_blanks(line[1:]) for each in edits for line in each.lines if line[0] == "-"}

    def shown(self, gone: Collection[int], budget_tokens: float) -> dict[str, "Shown"]:
        """What changed in each file by edits in messages that are gone, within the budget, newest first."""
        found: dict[str, Shown] = {}
        for path, edits in reversed(self._edits.items()):
            if budget_tokens < LEAST_TOKENS:
                break
            left = net(edits)
            groups = [lines for edit, lines in zip(edits, left, strict=True) if edit.at in gone and lines]
            heading = estimate_text(path) + HEADING_TOKENS
            shown = _fitting(groups, budget_tokens - heading)
            if len(shown.lines) >= min(LEAST_SHOWN, len(_in_place(groups))) > 0:
                found[path] = shown._replace(may_be_gone=any(each.may_be_gone for each in edits))
                budget_tokens -= heading + _cost(shown.lines)
        return found


class Shown(NamedTuple):
    """What is shown of the changes of a file."""

    lines: list[str]
    has_removed: bool = True
    """False if there was no room for the lines that were removed."""
    may_be_gone: bool = False
    """Whether the file was changed later in a way that is not known."""


def are_numbered(lines: Sequence[str]) -> bool:
    """Whether lines of a file are shown with their numbers."""
    numbers = [int(found[1]) if (found := NUMBER.match(line)) else -1 for line in lines]
    following = sum(other == one + 1 > 0 for one, other in pairwise(numbers))
    return following > 0 and following >= _NUMBERED_SHARE * (len(lines) - 1)


def without_numbers(lines: list[str]) -> list[str]:
    """The lines of a file without their numbers, if it is shown with them."""
    return [NUMBER.sub("", line) for line in lines] if are_numbered(lines) else lines


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
