"""Where the work stands: files changed, what still fails, what was done; and the text that says so."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from co_tui.context.journal.calls import EDIT, Begun
from co_tui.context.journal.command_runs import Run
from co_tui.context.journal.outcomes import PRINTED_AN_ERROR, Ending
from co_tui.context.journal.shell_files import Change
from co_tui.context.measure.count import estimate_text
from co_tui.events.tool_wording import FAILED
from co_tui.inert import one_line

MOST_FAILING: Final = 8
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
_SHARES: Final = {FILES_CHANGED: 0.4, DONE: 0.4, STILL_FAILING: 0.4, CONCLUDED: 0.6}
"""Of what is left of the budget, when it does not suffice for all."""


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

    def _fail(self, begun: Begun, ending: Ending) -> None:
        run, head = begun.run, begun.head
        self._failing = [
            each for each in self._failing if each.head != head and not (run.covers(each.run) and each.run.covers(run))
        ][-_KEPT_FAILING + 1 :]
        self._failing.append(_Failing(run, head, ending, begun.reads))

    def _go_well(self, begun: Begun, changes: Sequence[Change]) -> None:
        runs = [*begun.runs, *(Run(EDIT, (change.path,)) for change in changes)]
        self._failing = [
            each for each in self._failing if each.head != begun.head and not any(run.covers(each.run) for run in runs)
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
        room = _Room(budget_tokens)
        changed = [_counted(path, *of) for path, of in reversed(self._changed.items())]
        done = [_counted(head, count) for head, count in reversed(self._done.items())]
        newest = list(islice(dict.fromkeys(conclusions), MOST_CONCLUSIONS))
        lines = [
            *room.listed(FILES_CHANGED, changed, ", "),
            *room.listed(DONE, done[:MOST_DONE], "; "),
            *room.blocks(STILL_FAILING, map(_failing_lines, self._worst())),
            *reversed(room.blocks(CONCLUDED, ([f"{CONCLUDED}{each}"] for each in newest))),
        ]
        if self._last_good:
            lines += room.blocks(LAST_GOOD, [[f"{LAST_GOOD}{self._last_good}"]])
        return "\n".join([*lines, *room.listed(FILES_READ, list(reversed(self._read))[:MOST_READ], ", ")])

    def _worst(self) -> list[_Failing]:
        """What still fails, newest first; what only looked for something comes last."""
        newest = self._failing[::-1]
        return sorted(newest, key=lambda each: each.looks)[:MOST_FAILING]


def _counted(name: str, count: int, is_removed: bool = False) -> str:
    notes = [*([f"×{count}"] if count > 1 else ()), *(["removed"] if is_removed else ())]
    shown = one_line(name, _PATH_CHARS)
    return f"{shown} ({', '.join(notes)})" if notes else shown


def _failing_lines(failing: _Failing) -> list[str]:
    lines = [f"{STILL_FAILING}{failing.head} → {failing.ending.outcome}"]
    return [*lines, *(f"{_INDENT}{line}" for line in failing.ending[1:] if line)]


class _Room:
    """What is left of the budget."""

    def __init__(self, budget_tokens: float) -> None:
        self._left = budget_tokens

    def blocks(self, kind: str, blocks: Iterable[list[str]]) -> list[str]:
        """The first of these blocks of lines that fit."""
        limit = self._left * _SHARES.get(kind, 1.0)
        found: list[str] = []
        for block in blocks:
            cost = sum(estimate_text(line) + 1 for line in block)
            if cost <= min(limit, self._left):
                found += block
                limit -= cost
                self._left -= cost
        return found

    def listed(self, kind: str, names: Sequence[str], between: str) -> list[str]:
        """The names on one line, as many as fit, and how many more there are."""
        limit = min(self._left, self._left * _SHARES.get(kind, 1.0)) - estimate_text(kind) - 5
        shown: list[str] = []
        for name in names:
            cost = estimate_text(name) + 1
            if cost > limit:
                break
            limit -= cost
            shown.append(name)
        if not shown:
            return []
        more = len(names) - len(shown)
        line = f"{kind}{between.join(shown)}{f' and {more} more' if more else ''}"
        self._left -= estimate_text(line) + 1
        return [line]
