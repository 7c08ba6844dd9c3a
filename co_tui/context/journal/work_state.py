"""Where the work stands: files changed, what still fails, what was done; and the text that says so."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from posixpath import normpath
from typing import Final, NamedTuple

from co_tui.context.journal.calls import EDIT, Begun
from co_tui.context.journal.changed_files import RANGE_OF_LINES, ChangedFile, ChangedFiles
from co_tui.context.journal.command_runs import (
    INLINE,
    INSTALLERS,
    PACKS,
    READERS,
    RUN_ALL,
    RUNS_NOTHING,
    TO_INSTALL,
    WRITE,
    Run,
    is_same_path,
    program_of,
)
from co_tui.context.journal.conclusions import STRONG, says_little, strength_of
from co_tui.context.journal.net_changes import GAP
from co_tui.context.journal.outcomes import PRINTED_AN_ERROR, REPORTED_AN_ERROR, Ending
from co_tui.context.journal.shell_files import Change, base_name
from co_tui.context.journal.shown_lines import safe
from co_tui.context.measure.count import estimate_text
from co_tui.events.tool_wording import FAILED
from co_tui.inert import one_line

MOST_FAILING: Final = 12
MOST_CONCLUSIONS: Final = 6
OLD_STEPS: Final = 5
"""A conclusion this old is stated with its age: a later one may contradict it."""
NEWEST_CONCLUSIONS: Final = 4
"""These are stated however little they say; the others are the strongest."""
STALE_CALLS: Final = 20
"""After so many calls, what failed and was not tried again is no longer under way."""
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
STILL_FAILING: Final = "Still failing: "
GIVEN_UP: Final = "Failed, not tried again: "
CONCLUDED: Final = "Concluded: "
LAST_GOOD: Final = "Last command that went well: "
FILES_READ: Final = "Files read: "
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
MOST_GIVEN_UP: Final = 2
MOST_RANGES: Final = 4
_MISSING: Final = re.compile(
    r"(?:No module named|Cannot find module|No package|command not found:?)\s+['\"]?([\w-]+)"
    r"|([\w-]+): (?:command )?not found$"
    r"|\b([\w-]+)(?: version \S+(?: or \w+)?)? (?:must be|is not|isn't|was not) installed"
)
_SLIP: Final = re.compile(
    r"(?:\S*/)?(?:ba|z|da)?sh: (?!(?!-c|eval)\S+: line ).*(?:syntax error|unexpected|unterminated)", re.I
)
"""Of a shell about the command itself; before the line of a script comes its name."""
_BAD_CODE: Final = re.compile(r"(?:SyntaxError|IndentationError)\b")
_BETWEEN: Final = {PLAN: "; ", FILES_CHANGED: ", ", NEW_FILES: ", ", DONE: "; ", FILES_READ: "; "}
"""Sections on one line, and what is between their names."""
_WEIGHTS: Final = {PLAN: 4, FILES_CHANGED: 6, NEW_FILES: 6, DONE: 3, STILL_FAILING: 1.5, FILES_READ: 2}
"""How many blocks of a section are chosen for one of another."""
_FIRST_TURN: Final = {LEFT_OUT: -1, GIVEN_UP: 2, LAST_GOOD: 3, FILES_READ: 4}
_MOST: Final = {NEW_FILES: 12}
"""How many blocks of a section there may be; the line says how many more there are."""
_HEADING_TOKENS: Final = 8


class LeftOut(NamedTuple):
    """How many commands begin, and the line that says so; both are empty if they do not."""

    words: str = ""
    line: str = ""


class _Failing(NamedTuple):
    run: Run
    head: str
    ending: Ending
    looks: bool
    """Whether it only looked for something."""
    at: int
    """How many calls had ended before."""
    is_over: bool = False
    """Whether it no longer matters, as far as can be seen: it was given up, or something else helped."""

    @property
    def is_slip(self) -> bool:
        """Whether the command itself was written wrongly: nothing is wrong any more once another goes well."""
        pattern = _BAD_CODE if self.run.program in INLINE else _SLIP
        return pattern.match(self.ending.error) is not None


class _Good(NamedTuple):
    """A check that went well."""

    run: Run
    head: str
    at: int
    """How many calls had ended before."""
    number: int
    """Of its message."""


class WorkState:
    """The state of the work, updated by each call that ended."""

    def __init__(self) -> None:
        self.files = ChangedFiles()
        self._failing: list[_Failing] = []
        self._done: dict[str, list[int]] = {}
        """Calls that did something → the numbers of their messages."""
        self._read: dict[str, None] = {}
        self._good: _Good | None = None
        """The last check that went well and has not failed since."""
        self._went_to: set[str] = set()
        self._home = ""
        """The first folder that commands went to twice."""
        self._runs_elsewhere = False
        """Whether commands ran that went to no folder."""
        self._plan: tuple[str, ...] = ()
        self.calls = 0
        """How many ended."""

    def add(self, begun: Begun, ending: Ending, changes: Sequence[Change], at: int) -> None:
        """A call ended; `at` is the number of its message."""
        self.calls += 1
        if begun.plan is not None and not ending.outcome:
            self._plan = begun.plan
        removed = [change.path for change in changes if change.is_removed and not ending.outcome]
        self._failing = [
            each._replace(is_over=each.is_over or self._is_over(each, begun, ending))
            for each in self._failing
            if not any(_is_gone(target, removed) for target in each.run.targets)
            and (ending.outcome or not (each.is_slip or _is_there_now(each, begun)))
        ]
        for change in changes:
            self.files.change(change, begun, at, self.calls, is_only=len(changes) == 1)
        self._go_to_folder(begun, ending)
        if _ran(ending):
            self._fail(begun, ending)
        elif not ending.outcome:
            self._go_well(begun, changes, at)
        elif ending.outcome == REPORTED_AN_ERROR:  # another error than before is not why it failed
            self._failing = [
                each
                for each in self._failing
                if not _is_same(each.head, begun.head) or each.ending.error == ending.error
            ]

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
        """Follow which folder a command went to; one that is not there, or was not gone to, is none."""
        if (found := _GOES_TO.match(begun.head)) is None:
            self._runs_elsewhere = self._runs_elsewhere or (
                begun.line is not None and not begun.head[2:].startswith("cd ")
            )
        elif not ending.outcome or (_ran(ending) and "cd: " not in ending.error):
            self._home = self._home or (found[1] if found[1] in self._went_to else "")
            self._went_to.add(found[1])

    def _is_over(self, failed: _Failing, begun: Begun, ending: Ending) -> bool:
        """Whether a failure no longer matters: long ago, or a search that later found what it looked for elsewhere."""
        if ending.outcome:
            return False
        found_elsewhere = failed.looks and begun.reads
        return found_elsewhere or self._is_another_script(failed, begun) or self.calls - failed.at > STALE_CALLS

    def _is_another_script(self, failed: _Failing, begun: Begun) -> bool:
        """Whether one script that was written on the way failed, and another one went well instead of it."""
        one, other = failed.run, begun.run
        is_alike = one.program == other.program and one.program not in RUN_ALL
        return is_alike and not _is_test(one.targets) and all(self.files.is_new(run.targets) for run in (one, other))

    def _was_a_try(self, run: Run) -> bool:
        """Whether a command ran a script that was written to try something out."""
        return self.files.is_new(run.targets) and not _is_test(run.targets)

    def _fail(self, begun: Begun, ending: Ending) -> None:
        run, head = begun.run, begun.head
        self._failing = [each for each in self._failing if not _is_again(each, head, run)][-_KEPT_FAILING + 1 :]
        if self._good is not None and _is_again(self._good, head, run):
            self._good = None
        self._failing.append(_Failing(run, head, ending, begun.reads, self.calls))

    def _go_well(self, begun: Begun, changes: Sequence[Change], at: int) -> None:
        runs = [*begun.runs, *(Run(EDIT, (change.path,)) for change in changes)]
        self._failing = [
            each
            for each in self._failing
            if not _is_same(each.head, begun.head) and not any(run.covers(each.run) for run in runs)
        ]
        if _is_check(begun, changes):
            self._good = _Good(begun.run, begun.head, self.calls, at)
        if begun.acts:
            places = self._done.pop(begun.head, [])
            self._done[begun.head] = places
            places.append(at)
        for path in begun.read:
            self._read.pop(path, None)
            self._read[path] = None
            self.files.was_there(path)
        for path in list(self._read)[:-_KEPT_READ]:
            del self._read[path]

    def text(self, budget_tokens: float, conclusions: Mapping[str, int], gone: Collection[int]) -> str:
        """The state in lines, within the budget; `conclusions` are all there are, in order, with how many steps ago
        each was made, `gone` the messages that are no longer in the request."""
        left_out = self.left_out
        if _cost([left_out.line], is_first=True) > budget_tokens:
            left_out = LeftOut()
        shown = partial(without_folder, left_out=left_out.words)
        sections = {
            PLAN: [[step] for step in self._plan[:MOST_PLANNED]],
            FILES_CHANGED: self._files(is_new=False),
            NEW_FILES: self._files(is_new=True),
            DONE: [[_counted(shown(head), times)] for head, times in self._done_in(gone)],
            STILL_FAILING: [self._failing_lines(each, shown(each.head)) for each in self._worst(is_over=False)],
            CONCLUDED: [[_aged(each, conclusions[each])] for each in _telling([*conclusions])],
            GIVEN_UP: [
                self._failing_lines(each, shown(each.head)) for each in self._worst(is_over=True)[:MOST_GIVEN_UP]
            ],
            LAST_GOOD: [[f"{LAST_GOOD}{shown(good.head)}{self._since(good.at)}"]] if (good := self._good) else [],
            FILES_READ: [[path] for path in self._read_files()],
            LEFT_OUT: [[left_out.line]] if left_out.line else [],
        }
        changed = list(self._changed_lines(gone, NET_SHARE * budget_tokens))
        chosen = _fitting(sections, budget_tokens - _cost(changed, is_first=False))
        stated = (line for kind, blocks in chosen.items() for line in _lines(kind, blocks, len(sections[kind])))
        return "\n".join((*stated, *changed))

    def _files(self, *, is_new: bool) -> list[list[str]]:
        return [[_counted(path, of.times, _how(of))] for path, of in self.files.listed(is_new=is_new)]

    def _done_in(self, gone: Collection[int]) -> list[tuple[str, int]]:
        """What was done in messages that are gone and how often, newest first."""
        times = ((head, sum(at in gone for at in places)) for head, places in reversed(self._done.items()))
        return [each for each in times if each[1]][:MOST_DONE]

    def _since(self, at: int) -> str:
        """Whether files changed since a command ended."""
        return BEFORE_CHANGE if at < self.files.changed_at else ""

    def _failing_lines(self, failing: _Failing, head: str) -> list[str]:
        before = "" if failing.is_over else self._since(failing.at)
        first = f"{GIVEN_UP if failing.is_over else STILL_FAILING}{head} → {failing.ending.outcome}{before}"
        return [first, *(f"{_INDENT}{line}" for line in failing.ending[1:] if line)]

    def _changed_lines(self, gone: Collection[int], budget_tokens: float) -> Iterator[str]:
        """What the edits of each file come to, as far as they are no longer in the request."""
        for path, shown in self.files.net.shown(gone, budget_tokens).items():
            notes = ("" if shown.has_removed else WITHOUT_REMOVED) + (CHANGED_LATER if shown.may_be_gone else "")
            yield f"{CHANGED_IN}{one_line(path, _PATH_CHARS)}{notes}:"
            yield from (f"{_INDENT}{line if line == GAP else safe(line)}" for line in shown.lines)

    def _read_files(self) -> list[str]:
        """The files that were read last, each with its lines, newest first."""
        found: dict[str, list[str]] = {}
        for each in reversed(self._read):
            lines = RANGE_OF_LINES.search(each)
            found.setdefault(each[: lines.start()] if lines else each, []).append(lines[1] if lines else "")
        return [
            path if "" in ranges else f"{path}:{', '.join(ranges[:MOST_RANGES])}"
            for path, ranges in list(found.items())[:MOST_READ]
        ]

    def _worst(self, *, is_over: bool) -> list[_Failing]:
        """What fails still or was given up, newest first; what only looked for something comes last. Of those given up
        for one reason, the newest is enough."""
        newest = [each for each in reversed(self._failing) if each.is_over == is_over]
        if is_over:
            newest = [each for each in newest if not self._was_a_try(each.run)]
            newest = list({each.ending.error or each.head: each for each in reversed(newest)}.values())[::-1]
        return sorted(newest, key=lambda each: each.looks)[:MOST_FAILING]


def without_folder(head: str, left_out: str) -> str:
    """A command without how it begins, if that is left out."""
    return f"$ {head.removeprefix(f'$ {left_out} ')}" if left_out and head.startswith(f"$ {left_out} ") else head


def _is_check(begun: Begun, changes: Sequence[Change]) -> bool:
    """Whether a command that goes well shows that something works. Its output may go to a file."""
    line = begun.line or ()
    words = {word for simple in line for word in simple.words[1:]}
    works = [simple for simple in line if program_of(simple) not in READERS and program_of(simple) != WRITE]
    outputs = {path for simple in works for path in (*simple.written, *(simple.words if simple.is_filter else ()))}
    packs = begun.verb in INSTALLERS and not PACKS.isdisjoint(words)
    if packs or begun.run.program in INLINE or not RUNS_NOTHING.isdisjoint(words):
        return False
    return bool(works) and all(change.path in outputs for change in changes)


def _ran(ending: Ending) -> bool:
    """Whether a call was made and failed."""
    return ending.outcome.startswith(FAILED) or ending.outcome == PRINTED_AN_ERROR


def _is_gone(target: str, removed: Iterable[str]) -> bool:
    """Whether a call ran on a file that is removed now; a plain word, as in `make build`, is no file."""
    return ("." in target or "/" in target) and any(
        is_same_path(path, target) or normpath(target).startswith(f"{path}/") for path in removed
    )


def _is_test(targets: Sequence[str]) -> bool:
    return "test" in base_name(targets[0]).lower() if targets else False


def _is_there_now(failed: _Failing, begun: Begun) -> bool:
    """Whether a command installs what was missing when another one failed."""
    missing = _MISSING.search(failed.ending.error)
    return missing is not None and begun.verb in INSTALLERS and _installs(begun.head, missing[missing.lastindex or 0])


def _installs(command: str, missing: str) -> bool:
    """Whether a command installs what was missing, by its name or that with `py` before it."""
    words = [word.lower().replace("-", "_") for word in re.split(r"[\s=<>\[@~!]+", command)]
    name = missing.lower().replace("-", "_")
    return not TO_INSTALL.isdisjoint(words) and not {name, f"py{name}", f"python_{name}"}.isdisjoint(words)


def _is_again(earlier: _Failing | _Good, head: str, run: Run) -> bool:
    """Whether a call is an earlier one made again."""
    return _is_same(earlier.head, head) or (run.covers(earlier.run) and earlier.run.covers(run))


def _is_same(one: str, other: str) -> bool:
    """Whether two heads are of the same call; those that are cut may differ in the rest."""
    return one == other and "…" not in one


def _how(file: ChangedFile) -> str:
    """What came of a changed file, if it is not just changed."""
    ways = (("removed", file.is_removed), ("as before", file.is_restored), ("perhaps", file.is_unclear))
    return next((way for way, is_so in ways if is_so), "")


def _counted(name: str, count: int, how: str = "") -> str:
    notes = [*([f"×{count}"] if count > 1 else ()), *([how] if how else ())]
    shown = one_line(name, _PATH_CHARS)
    return f"{shown} ({', '.join(notes)})" if notes else shown


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
