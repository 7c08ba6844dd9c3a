"""Where the work stands: files changed, what failed when it last ran, what was done; and the text that says so.

A change or an outcome is stated only where it is recorded.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from co_tui.context.journal.calls import Begun
from co_tui.context.journal.command_runs import INLINE, INSTALLERS, PACKS, READERS, RUNS_NOTHING, SETUP, Run, program_of
from co_tui.context.journal.conclusions import STRONG, says_little, strength_of
from co_tui.context.journal.net_changes import GAP, NetChanges
from co_tui.context.journal.outcomes import REPLACED, Ending
from co_tui.context.journal.shown_lines import safe
from co_tui.context.measure.count import estimate_text
from co_tui.events import CallOutcome
from co_tui.events.facts.files import AS_BEFORE, GONE, NEW, UNSURE
from co_tui.events.recorded import ChangedFile, LoggedOutcome
from co_tui.inert import one_line

MOST_FAILING: Final = 12
MOST_CONCLUSIONS: Final = 6
OLD_STEPS: Final = 5
"""A conclusion this old is stated with its age: a later one may contradict it."""
NEWEST_CONCLUSIONS: Final = 4
"""These are stated however little they say; the others are the strongest."""
MOST_PLANNED: Final = 12
MOST_READ: Final = 6
MOST_DONE: Final = 12
_KEPT_FAILING: Final = 64
_KEPT_READ: Final = 32
_PATH_CHARS: Final = 240
_INDENT: Final = "    "
PLAN: Final = "Plan: "
FILES_CHANGED: Final = "Files changed: "
NEW_FILES: Final = "New files: "
DONE: Final = "Done: "
FAILING: Final = "Failed when last run: "
CONCLUDED: Final = "Concluded: "
LAST_GOOD: Final = "Last command that ended with exit code 0: "
FILES_READ: Final = "Files read: "
PERHAPS: Final = "perhaps"
BEFORE_CHANGE: Final = " (before the last change)"
CHANGED_IN: Final = "Changed in "
WITHOUT_REMOVED: Final = " (removed lines left out)"
CHANGED_LATER: Final = " (before another change, which is not shown)"
NET_SHARE: Final = 0.3
"""Of the budget: at most this goes to the lines that were removed and added."""
LEFT_OUT: Final = "Left out before commands: "
LEFT_OUT_BEFORE_SOME: Final = "Left out before some commands: "
_GOES_TO: Final = re.compile(r"\$ (cd /[^\s;&|]+ &&) (?=\S)")
"""How a command begins that runs in a folder."""
MOST_RANGES: Final = 4
_HANDLES_FILES: Final = frozenset((
    "cp", "mv", "rm", "ln", "chmod", "tee", "patch", "perl", "truncate", "unlink", "install", "git",
))  # fmt: skip
"""Programs that show nothing about the work when they go well."""
_BETWEEN: Final = {PLAN: "; ", FILES_CHANGED: ", ", NEW_FILES: ", ", DONE: "; ", FILES_READ: "; "}
"""Sections on one line, and what is between their names."""
_WEIGHTS: Final = {PLAN: 4, FILES_CHANGED: 6, NEW_FILES: 6, DONE: 3, FAILING: 1.5, FILES_READ: 2}
"""How many blocks of a section are chosen for one of another."""
_FIRST_TURN: Final = {LEFT_OUT: -1, LAST_GOOD: 3, FILES_READ: 4}
_MOST: Final = {NEW_FILES: 12}
"""How many blocks of a section there may be; the line says how many more there are."""
_HEADING_TOKENS: Final = 8


class LeftOut(NamedTuple):
    """How many commands begin, and the line that says so; both are empty if they do not."""

    words: str = ""
    line: str = ""


class _Ran(NamedTuple):
    """A call whose outcome is recorded."""

    run: Run
    head: str
    whole: int
    ending: Ending
    looks: bool
    """Whether it only looked for something."""
    seq: int
    """The number of its outcome's event."""
    number: int
    """Of its message."""


class WorkState:
    """The state of the work, updated by each call that ended."""

    def __init__(self) -> None:
        self.net = NetChanges()
        self._named: dict[str, None] = {}
        """Files that editing tools were asked to change, where it is not recorded what came of it."""
        self._failing: list[_Ran] = []
        self._done: dict[str, list[int]] = {}
        """Calls that did something → the numbers of their messages."""
        self._read: dict[str, None] = {}
        self._good: _Ran | None = None
        """The last check that ended with exit code 0, if it did not run again since."""
        self._went_to: set[str] = set()
        self._home = ""
        """The first folder that commands went to twice."""
        self._runs_elsewhere = False
        """Whether commands ran that went to no folder."""
        self._plan: tuple[str, ...] = ()

    def add(self, begun: Begun, ending: Ending, logged: LoggedOutcome | None, number: int) -> None:
        """A call ended; `number` is that of its message."""
        fact = logged.fact if logged is not None else None
        if begun.plan is not None and not ending.outcome:
            self._plan = begun.plan
        self._go_to_folder(begun, ending)
        seq = logged.seq if logged is not None else 0
        self._follow_runs(_Ran(begun.run, begun.head, begun.whole, ending, begun.reads, seq, number), begun)
        if begun.acts and ending.is_good:
            places = self._done.pop(begun.head, [])
            self._done[begun.head] = places
            places.append(number)
        if fact is None and not ending.outcome:
            self._named.update(dict.fromkeys(begun.names))
        for each in _shown(fact) if fact is not None else ():
            self._read.pop(each, None)
            self._read[each] = None
        for path in list(self._read)[:-_KEPT_READ]:
            del self._read[path]

    def forget_runs(self) -> None:
        """Programs ran that are not known: what failed before may have gone well."""
        self._failing, self._good = [], None

    def _follow_runs(self, ran: _Ran, begun: Begun) -> None:
        if ran.ending.outcome == REPLACED:
            self.forget_runs()
            return
        if ran.ending.never_ran:
            return
        others = [each for each in self._failing if not _runs_again(each, ran, begun.runs)]
        self._failing = [*others, ran][-_KEPT_FAILING:] if ran.ending.is_failure else others
        if self._good is not None and _runs_again(self._good, ran, begun.runs):
            self._good = None
        if ran.ending.is_good and begun.line and begun.shows_exit and _is_check(begun):
            self._good = ran

    @property
    def good_at(self) -> int:
        """The message of the last check that went well and has not failed since; -1 without one."""
        return self._good.number if self._good is not None else -1

    @property
    def left_out(self) -> LeftOut:
        if not self._home:
            return LeftOut()
        return LeftOut(self._home, f"{LEFT_OUT_BEFORE_SOME if self._runs_elsewhere else LEFT_OUT}{self._home}")

    def _go_to_folder(self, begun: Begun, ending: Ending) -> None:
        """Follow which folder commands go to."""
        if (found := _GOES_TO.match(begun.head)) is None:
            self._runs_elsewhere = self._runs_elsewhere or (
                begun.line is not None and not begun.head[2:].startswith("cd ")
            )
        elif not ending.outcome or (ending.is_failure and "cd: " not in ending.error):
            self._home = self._home or (found[1] if found[1] in self._went_to else "")
            self._went_to.add(found[1])

    def text(
        self,
        budget_tokens: float,
        conclusions: Mapping[str, int],
        gone: Collection[int],
        files: Mapping[str, ChangedFile],
    ) -> str:
        """The state in lines, within the budget; `conclusions` are all there are, in order, with how many steps ago
        each was made, `gone` the messages that are no longer in the request, `files` those recorded as changed."""
        left_out = self.left_out
        if _cost([left_out.line], is_first=True) > budget_tokens:
            left_out = LeftOut()
        shown = partial(without_folder, left_out=left_out.words)
        changed_at = max((each.seq for each in files.values()), default=0)
        sections = {
            PLAN: [[step] for step in self._plan[:MOST_PLANNED]],
            FILES_CHANGED: self._files(files, is_new=False),
            NEW_FILES: self._files(files, is_new=True),
            DONE: [[_counted(shown(head), times)] for head, times in self._done_in(gone)],
            FAILING: [_failing_lines(each, shown(each.head), changed_at) for each in self._worst()],
            CONCLUDED: [[_aged(each, conclusions[each])] for each in _telling([*conclusions])],
            LAST_GOOD: [[f"{LAST_GOOD}{shown(good.head)}{_since(good, changed_at)}"]] if (good := self._good) else [],
            FILES_READ: [[path] for path in self._read_files()],
            LEFT_OUT: [[left_out.line]] if left_out.line else [],
        }
        changed = list(self._changed_lines(gone, NET_SHARE * budget_tokens, files))
        chosen = _fitting(sections, budget_tokens - _cost(changed, is_first=False))
        stated = (line for kind, blocks in chosen.items() for line in _lines(kind, blocks, len(sections[kind])))
        return "\n".join((*stated, *changed))

    def _files(self, files: Mapping[str, ChangedFile], *, is_new: bool) -> list[list[str]]:
        """The changed files, newest first, then those of which it is not recorded."""
        stated = [_noted(path, _HOW.get(of.now, "")) for path, of in files.items() if (of.now == NEW) == is_new]
        named = (path for path in self._named if path not in files and not is_new)
        return [[each] for each in (*reversed(stated), *(_noted(path, PERHAPS) for path in reversed([*named])))]

    def _done_in(self, gone: Collection[int]) -> list[tuple[str, int]]:
        """What was done in messages that are gone and how often, newest first."""
        times = ((head, sum(at in gone for at in places)) for head, places in reversed(self._done.items()))
        return [each for each in times if each[1]][:MOST_DONE]

    def _changed_lines(
        self, gone: Collection[int], budget_tokens: float, files: Mapping[str, ChangedFile]
    ) -> Iterator[str]:
        """What the edits of each file come to, as far as they are no longer in the request."""
        for path, shown in self.net.shown(gone, budget_tokens, files).items():
            notes = ("" if shown.has_removed else WITHOUT_REMOVED) + (CHANGED_LATER if shown.may_be_gone else "")
            yield f"{CHANGED_IN}{one_line(path, _PATH_CHARS)}{notes}:"
            yield from (f"{_INDENT}{line if line == GAP else safe(line)}" for line in shown.lines)

    def _read_files(self) -> list[str]:
        """The files that were read last, each with its lines, newest first."""
        found: dict[str, list[str]] = {}
        for each in reversed(self._read):
            path, _, lines = each.rpartition(":")
            found.setdefault(path, []).append(lines)
        return [
            one_line(path if "" in ranges else f"{path}:{', '.join(ranges[:MOST_RANGES])}", _PATH_CHARS)
            for path, ranges in list(found.items())[:MOST_READ]
        ]

    def _worst(self) -> list[_Ran]:
        """What failed when it last ran, newest first; what only looked for something comes last."""
        newest_first = self._failing[::-1]
        return sorted(newest_first, key=lambda each: each.looks)[:MOST_FAILING]


_HOW: Final = {GONE: "removed", AS_BEFORE: AS_BEFORE, UNSURE: PERHAPS}
"""What is said of a changed file that is not just changed."""


def _shown(fact: CallOutcome) -> Iterator[str]:
    """The files that a call showed, each with its lines behind a colon."""
    for each in fact.read:
        if isinstance(path := each.get("path"), str):
            first, last = each.get("first"), each.get("last")
            yield f"{path}:{first}-{last}" if isinstance(first, int) and isinstance(last, int) else f"{path}:"


def without_folder(head: str, left_out: str) -> str:
    """A command without how it begins, if that is left out."""
    return f"$ {head.removeprefix(f'$ {left_out} ')}" if left_out and head.startswith(f"$ {left_out} ") else head


def _is_check(begun: Begun) -> bool:
    """Whether a command that goes well shows that something works."""
    programs = {program_of(simple).partition(" ")[0] for simple in begun.line or ()}
    words = {word for simple in begun.line or () for word in simple.words[1:]}
    if (
        begun.run.program in INLINE
        or (begun.verb in INSTALLERS and not PACKS.isdisjoint(words))
        or not RUNS_NOTHING.isdisjoint(words)
    ):
        return False
    return not programs <= READERS | SETUP | _HANDLES_FILES


def _runs_again(earlier: _Ran, ran: _Ran, runs: Sequence[Run]) -> bool:
    """Whether a call is an earlier one made again, or runs at least the same."""
    return earlier.whole == ran.whole or any(run.covers(earlier.run) for run in (ran.run, *runs))


def _since(ran: _Ran, changed_at: int) -> str:
    """Whether files changed since a call ended."""
    return BEFORE_CHANGE if 0 < ran.seq < changed_at else ""


def _failing_lines(failing: _Ran, head: str, changed_at: int) -> list[str]:
    first = f"{FAILING}{head} → {failing.ending.outcome}{_since(failing, changed_at)}"
    return [first, *(f"{_INDENT}{line}" for line in (failing.ending.error, failing.ending.general) if line)]


def _noted(path: str, note: str) -> str:
    shown = one_line(path, _PATH_CHARS)
    return f"{shown} ({note})" if note else shown


def _counted(name: str, count: int) -> str:
    return _noted(name, f"×{count}" if count > 1 else "")


def _fitting(sections: Mapping[str, list[list[str]]], budget_tokens: float) -> dict[str, list[list[str]]]:
    """The first blocks of each section, the sections taking turns by their weight until the budget is used up."""
    turns = sorted(
        (_FIRST_TURN.get(kind, 0) + at / _WEIGHTS.get(kind, 1), order, at, kind)
        for order, (kind, blocks) in enumerate(sections.items())
        for at in range(min(len(blocks), _MOST.get(kind, len(blocks))))
    )
    chosen: dict[str, list[list[str]]] = {kind: [] for kind in sections}
    left = budget_tokens
    for _, _, at, kind in turns:
        block = sections[kind][at]
        cost = _cost(block, is_first=at == 0)
        if len(chosen[kind]) == at and cost <= left:
            chosen[kind].append(block)
            left -= cost
    return chosen


def _cost(block: Sequence[str], *, is_first: bool) -> float:
    return sum(estimate_text(line) + 1 for line in block) + (_HEADING_TOKENS if is_first else 0)


def _lines(kind: str, blocks: list[list[str]], total: int) -> list[str]:
    if not blocks:
        return []
    if kind in _BETWEEN:
        more = total - len(blocks)
        listed = _BETWEEN[kind].join(name for (name,) in blocks)
        return [f"{kind}{listed}{f' and {more} more' if more and kind != FILES_READ else ''}"]
    newest_last = reversed(blocks) if kind == CONCLUDED else blocks
    return [line for block in newest_last for line in block]


def _aged(conclusion: str, steps: int) -> str:
    """A conclusion, with its age if it may have been overtaken."""
    return f"Concluded {steps} steps ago: {conclusion}" if steps >= OLD_STEPS else f"{CONCLUDED}{conclusion}"


def _telling(conclusions: Sequence[str]) -> list[str]:
    """The newest conclusions, and the strongest of the others; the newest first."""
    all_once = list(dict.fromkeys(reversed(conclusions)))
    each_once = [each for each in all_once if not says_little(each)] or all_once[:1]
    newest, others = each_once[:NEWEST_CONCLUSIONS], each_once[NEWEST_CONCLUSIONS:]
    strong = [each for each in others if strength_of(each) >= STRONG]
    strongest = sorted(strong, key=strength_of, reverse=True)[: MOST_CONCLUSIONS - len(newest)]
    return [*newest, *(each for each in others if each in strongest)]
