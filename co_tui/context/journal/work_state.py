"""Where the work stands: files changed, what still fails, what was done; and the text that says so."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from posixpath import join, normpath
from typing import Final, NamedTuple

from co_tui.context.journal.calls import EDIT, Begun
from co_tui.context.journal.command_runs import Run
from co_tui.context.journal.outcomes import PRINTED_AN_ERROR, Ending
from co_tui.context.journal.shell_files import Change
from co_tui.context.measure.count import estimate_text
from co_tui.events.tool_wording import FAILED
from co_tui.inert import one_line

MOST_FAILING: Final = 12
MOST_CONCLUSIONS: Final = 5
MOST_READ: Final = 6
MOST_DONE: Final = 12
_KEPT_FAILING: Final = 64
_KEPT_READ: Final = 32
_PATH_CHARS: Final = 240
_INDENT: Final = "    "
FILES_CHANGED: Final = "Files changed: "
DONE: Final = "Done: "
STILL_FAILING: Final = "Still failing: "
CONCLUDED: Final = "Concluded: "
LAST_GOOD: Final = "Last command that went well: "
FILES_READ: Final = "Files read: "
_BETWEEN: Final = {FILES_CHANGED: ", ", DONE: "; ", FILES_READ: ", "}
"""Sections on one line, and what is between their names."""
_WEIGHTS: Final = {FILES_CHANGED: 6, DONE: 3, STILL_FAILING: 1.5, FILES_READ: 2}
"""How many blocks of a section are chosen for one of another."""
_FIRST_TURN: Final = {LAST_GOOD: 3, FILES_READ: 4}
_HEADING_TOKENS: Final = 8


class _Changed(NamedTuple):
    times: int = 0
    is_removed: bool = False


class _Failing(NamedTuple):
    run: Run
    head: str
    ending: Ending
    looks: bool
    """Whether it only looked for something."""


class WorkState:
    """The state of the work, updated by each call that ended."""

    def __init__(self) -> None:
        self._changed: dict[str, _Changed] = {}
        self._failing: list[_Failing] = []
        self._done: dict[str, int] = {}
        self._read: dict[str, None] = {}
        self._last_good = ""

    def add(self, begun: Begun, ending: Ending, changes: Sequence[Change]) -> None:
        """A call ended."""
        for change in changes:
            before = self._changed.pop(change.path, _Changed())
            self._changed[change.path] = _Changed(before.times + 1, change.is_removed)
        if ending.outcome.startswith(FAILED) or ending.outcome == PRINTED_AN_ERROR:
            self._fail(begun, ending)
        elif not ending.outcome:
            self._go_well(begun, changes)

    def restore(self, folder: str, as_before: Iterable[str], changed: Iterable[str]) -> None:
        """The user restored files of a folder: some are as before all changes, others are changed."""
        known = {_whole_path(folder, path): path for path in self._changed}
        for path in as_before:
            self._changed.pop(known.get(_whole_path(folder, path), ""), None)
        for path in changed:
            self._changed.setdefault(known.get(_whole_path(folder, path), path), _Changed(1))

    def _fail(self, begun: Begun, ending: Ending) -> None:
        run, head = begun.run, begun.head
        self._failing = [
            each
            for each in self._failing
            if not _is_same(each.head, head) and not (run.covers(each.run) and each.run.covers(run))
        ][-_KEPT_FAILING + 1 :]
        self._failing.append(_Failing(run, head, ending, begun.reads))

    def _go_well(self, begun: Begun, changes: Sequence[Change]) -> None:
        runs = [*begun.runs, *(Run(EDIT, (change.path,)) for change in changes)]
        self._failing = [
            each
            for each in self._failing
            if not _is_same(each.head, begun.head) and not any(run.covers(each.run) for run in runs)
        ]
        if begun.line is not None and not begun.reads:
            self._last_good = begun.head
        if begun.acts:
            self._done[begun.head] = self._done.pop(begun.head, 0) + 1
        for path in begun.read:
            self._read.pop(path, None)
            self._read[path] = None
        for path in list(self._read)[:-_KEPT_READ]:
            del self._read[path]

    def text(self, budget_tokens: float, conclusions: Iterable[str]) -> str:
        """The state in lines, within the budget; `conclusions` are the newest first."""
        newest = islice(dict.fromkeys(conclusions), MOST_CONCLUSIONS)
        sections = {
            FILES_CHANGED: [[_counted(path, *of)] for path, of in reversed(self._changed.items())],
            DONE: [[_counted(head, times)] for head, times in list(reversed(self._done.items()))[:MOST_DONE]],
            STILL_FAILING: [_failing_lines(each) for each in self._worst()],
            CONCLUDED: [[f"{CONCLUDED}{each}"] for each in newest],
            LAST_GOOD: [[f"{LAST_GOOD}{self._last_good}"]] if self._last_good else [],
            FILES_READ: [[path] for path in list(reversed(self._read))[:MOST_READ]],
        }
        chosen = _fitting(sections, budget_tokens)
        return "\n".join(line for kind, blocks in chosen.items() for line in _lines(kind, blocks, len(sections[kind])))

    def _worst(self) -> list[_Failing]:
        """What still fails, newest first; what only looked for something comes last."""
        newest = self._failing[::-1]
        return sorted(newest, key=lambda each: each.looks)[:MOST_FAILING]


def _whole_path(folder: str, path: str) -> str:
    return normpath(join(folder, path))


def _is_same(one: str, other: str) -> bool:
    """Whether two heads are of the same call; those that are cut may differ in the rest."""
    return one == other and "…" not in one


def _counted(name: str, count: int, is_removed: bool = False) -> str:
    notes = [*([f"×{count}"] if count > 1 else ()), *(["removed"] if is_removed else ())]
    shown = one_line(name, _PATH_CHARS)
    return f"{shown} ({', '.join(notes)})" if notes else shown


def _failing_lines(failing: _Failing) -> list[str]:
    lines = [f"{STILL_FAILING}{failing.head} → {failing.ending.outcome}"]
    return [*lines, *(f"{_INDENT}{line}" for line in failing.ending[1:] if line)]


def _fitting(sections: Mapping[str, list[list[str]]], budget_tokens: float) -> dict[str, list[list[str]]]:
    """The first blocks of each section, the sections taking turns by their weight until the budget is used up."""
    turns = sorted(
        (_FIRST_TURN.get(kind, 0) + at / _WEIGHTS.get(kind, 1), order, at, kind)
        for order, (kind, blocks) in enumerate(sections.items())
        for at in range(len(blocks))
    )
    chosen: dict[str, list[list[str]]] = {kind: [] for kind in sections}
    left = budget_tokens
    for _, _, at, kind in turns:
        block = sections[kind][at]
        cost = sum(estimate_text(line) + 1 for line in block)
        if at == 0:
            cost += _HEADING_TOKENS
        if len(chosen[kind]) == at and cost <= left:
            chosen[kind].append(block)
            left -= cost
    return chosen


def _lines(kind: str, blocks: list[list[str]], total: int) -> list[str]:
    if not blocks:
        return []
    if kind in _BETWEEN:
        more = total - len(blocks)
        listed = _BETWEEN[kind].join(name for (name,) in blocks)
        return [f"{kind}{listed}{f' and {more} more' if more and kind != FILES_READ else ''}"]
    newest_last = reversed(blocks) if kind == CONCLUDED else blocks
    return [line for block in newest_last for line in block]
