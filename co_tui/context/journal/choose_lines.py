"""Choose which steps and lines a journal shows: the most important names per token.

The choice is greedy. Names already present count little; a line next to a chosen one counts more.
"""

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, repeat
from typing import Final, NamedTuple

from co_tui.context.journal.calls import Role
from co_tui.context.journal.command_runs import INSTALLERS, TO_INSTALL
from co_tui.context.journal.entries import Entry, Head, Kind, Place
from co_tui.context.journal.shown_lines import FIRST, OF_A_MAP, ShownLine, bare_line, is_below_file, names_file
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.names import names_in
from co_tui.late_pattern import late_pattern

NOTABLE_LINE: Final = late_pattern(
    r"\b(decided|decision|instead|root cause|confirmed|fixed|resolved|agreed|the plan|todo|next step|remaining"
    r"|still need|pending|not yet|\w*error\b|exception|traceback|failed|fatal|denied|not found)\b"
    r"|决定|因此|错误|失败|待办|下一步|決定|エラー|次に|未完",
    re.I,
)
"""Lines about decisions, errors and open tasks."""
_ERROR: Final = late_pattern(r"\s*(?:E\s+)?(?:[a-z]\w*\.)*(?:[A-Z]\w*)?(?:Error|Exception): \S.*")
ERROR_WEIGHT: Final = 2.0
"""The value of the first line of a step that says which error it was, apart from the names in it."""
_INSTALLS: Final = late_pattern(
    rf"\$ (?:{'|'.join(map(re.escape, sorted(INSTALLERS)))}) (?:pip )?(?:{'|'.join(sorted(TO_INSTALL))})\b"
    r"(?!.*(?:&&|;|…))"
)
"""A command that installs something and does nothing else."""
DULL_WEIGHT: Final = 0.4
"""What a line counts that an installer printed while all went well."""
AGAIN: Final = (1.0, 0.1, 0.03)
"""Factor for a name that is present not yet, once, or more often."""
NEIGHBOUR: Final = 0.2
"""Of the worth of a line: what each line next to it gains."""
SIGN_WEIGHTS: Final = {"+": 1.3, "-": 1.0}
AROUND_CHANGE_WEIGHT: Final = 0.8
"""Of an edit, what lines count that were added, removed, or stood around them."""
LONG_PROMPT: Final = 15
LONG_REPLY: Final = 25
DUMPED_WEIGHT: Final = 0.5
"""What lines count of a reply with more lines than that, but for its sentences: it repeats what a program printed."""
PASTED_WEIGHT: Final = 0.3
"""What lines count of a prompt with more lines than that: most of it was pasted. The user's own words are quoted
elsewhere."""
MAP_WEIGHT: Final = 0.7
"""What a line of a map of the project or a tree of files counts, which can be drawn again."""
WEIGHTS: Final = {
    Role.SAID: 1.2, Role.REST: 0.7, Role.READ: 0.7, Role.READ_LAST: 1.2, Role.WROTE: 0.6, Role.EDITED: 1.5,
    Role.LOOKED: 0.8, Role.SHOWED_CHANGES: 1.2, Role.RAN: 1.05, Role.ANSWERED: 2.0,
    Role.OUTDATED: 0.5, Role.UNDONE: 0.2,
}  # fmt: skip
"""What a line of a step counts."""
_READ: Final = frozenset((Role.READ, Role.READ_LAST, Role.OUTDATED, Role.UNDONE))
_TELLING: Final = frozenset((Role.READ_LAST, Role.EDITED, Role.SHOWED_CHANGES, Role.RAN, Role.ANSWERED))
"""Steps whose heads say something by themselves."""
_FRAME: Final = late_pattern(r'\s*File "[^"]+", line \d+, in ')
FRAMES: Final = 2
CALLER_WEIGHT: Final = 0.4
"""What lines of a traceback count that come before its last frames."""
LINE_COST: Final = 1
GAP_COST: Final = 2
NOTABLE: Final = 1.3
CONCLUSION_WEIGHT: Final = 1.0
STEP_WEIGHT: Final = 0.15
"""The value of an entry apart from the names in it."""
FAILED_STEP_WEIGHT: Final = 2.0
"""The same for a step that failed, or whose head says something by itself."""
ANSWER_WEIGHT: Final = 6.0
"""The same for a step that asked a service: of several that are alike, all are shown."""
HEAD: Final = -1
"""The place of a step's head, before its lines."""
SENTENCE_WORDS: Final = 8
"""A line of the assistant with fewer is a piece of something."""
FOCUS_WEIGHT: Final = 40.0
"""The value of a line or step about what the user asked to keep."""
_WORD: Final = late_pattern(
    r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z\u3040-\u9fff\uac00-\ud7af]+|\d+"
)
_COMMON: Final = frozenset((
    "the", "and", "for", "with", "what", "about", "that", "this", "keep", "everything", "all", "how", "why", "are",
    "was", "were", "from", "into", "only", "not", "you", "your", "our",
))  # fmt: skip
MOST_LISTED: Final = 8
"""Names of a step that are listed without a line."""
_NO_NAME: Final = late_pattern(r"\d+p|[0-9a-f]{24,}|\d{4}-\d\d-\d\d\S*|\d\d[T:]\d\d\S*")
_ENDING: Final = late_pattern(r"\w{1,3}|\d+|html|json|jsonl|toml|yaml|java|scss|conf|lock|docx|xlsx|ipynb|swift|tfvars")
"""Of a file, an address or a version: many names have the same."""
SHORT_CHARS: Final = 24
"""A line that is no longer, such as `return rows`, is in many passages."""
SPENT: Final = 0.01
"""Of the budget: stop when less than this is left."""


class _Weighed(NamedTuple):
    """What a line costs and names."""

    cost: int
    names: tuple[str, ...]
    is_notable: bool
    is_error: bool


@lru_cache(maxsize=4_096)
def _weighed(text: str) -> _Weighed:
    """Cached: the lines of a journal are weighed again each time it is written."""
    is_notable, is_error = NOTABLE_LINE.search(text) is not None, _ERROR.fullmatch(text) is not None
    return _Weighed(estimate_text(text) + LINE_COST, tuple(names_in(text)), is_notable, is_error)


@dataclass(slots=True)
class Candidate:
    """A step with the lines that may be shown of it."""

    head: Head
    lines: list[ShownLine]
    role: Role = Role.SAID
    is_open: bool = False
    """Whether its head is shown."""
    chosen: dict[int, ShownLine] = field(default_factory=dict)
    """By their place among the lines."""
    gains: dict[int, float] = field(default_factory=dict)
    """What lines gain from chosen neighbours."""
    weighed: list[_Weighed] = field(default_factory=list)
    head_cost: int = 0
    head_names: tuple[str, ...] = ()
    errors: int = 0
    """How many of the chosen lines say which error it was."""
    is_dull: bool = False
    """Whether its lines hardly ever matter."""
    file_of: dict[int, int] = field(default_factory=dict)
    """The place of the line that names its file, of each line below one."""
    files: frozenset[int] = frozenset()
    """The places of those."""
    callers: frozenset[int] = frozenset()
    """The places of lines of a traceback that are far from the error."""

    def __post_init__(self) -> None:
        self.weighed = [_weighed(line.text) for line in self.lines]
        is_said = self.head.kind is Kind.SAID
        self.is_dull = not self.head.outcome and _INSTALLS.match(self.head.text) is not None
        self.head_cost = LINE_COST if is_said else estimate_text(f"{self.head.line}{self.head.came}") + LINE_COST
        self.head_names = () if is_said else tuple(names_in(f"{self.head.text} {self.head.came}"))
        file: int | None = None
        following = [*(line.text for line in self.lines[1:]), ""]
        for place, line in enumerate(self.lines):
            if file is not None and is_below_file(line.text):
                self.file_of[place] = file
            else:
                file = place if names_file(line.text, following[place]) else None
        self.files = frozenset(self.file_of.values())
        self.callers = frozenset(_callers([line.text for line in self.lines]))

    def is_result(self, place: int) -> bool:
        """Whether a line is from the result of the step, not from its call."""
        return self.lines[place].position.message != self.head.at[0]

    def weight_of(self, place: int) -> float:
        """What a line counts: one of a script, in a file or a command, counts less than what it printed."""
        is_result = self.is_result(place)
        role = self.role
        if role in (Role.RAN, Role.WROTE):
            role = Role.RAN if is_result else Role.WROTE
        weight = WEIGHTS[role]
        if self.role is Role.EDITED and not is_result:
            weight *= SIGN_WEIGHTS.get(self.lines[place].text[:1], AROUND_CHANGE_WEIGHT)
        if self.head.kind is Kind.USER and len(self.lines) > LONG_PROMPT:
            weight *= PASTED_WEIGHT
        if self.head.kind is Kind.SAID and len(self.lines) > LONG_REPLY and not self.tells_alone(place):
            weight *= DUMPED_WEIGHT
        if place in self.callers:
            weight *= CALLER_WEIGHT
        return weight * DULL_WEIGHT if self.is_dull else weight

    def neighbours(self, place: int) -> list[int]:
        """The places of the lines that stood directly before and after."""
        line = self.lines[place]
        if line.is_name:
            return []
        before = [place - 1] if place and line.follows(self.lines[place - 1]) else []
        after = [place + 1] if place + 1 < len(self.lines) and self.lines[place + 1].follows(line) else []
        return [each for each in before + after if self._is_same_file(each, place)]

    def _is_same_file(self, one: int, other: int) -> bool:
        """Whether a line that names a file is next to one that is from it; all other lines are."""
        named = self.files & {one, other}
        return not named or self.file_of.get(one, one) == self.file_of.get(other, other)

    def without(self, place: int) -> set[int]:
        """The chosen lines that go with one: those that would be a passage of one line that says too little, those of
        a file without its name, and the name of a file without its lines."""
        gone = {place, *(other for other, file in self.file_of.items() if file == place)}
        gone |= {each for each in self.neighbours(place) if each not in self.files and self._is_alone(each, place)}
        left = {self.file_of[each] for each in self.chosen.keys() - gone if each in self.file_of}
        return self.chosen.keys() & (gone | (self.files - left))

    def _is_alone(self, place: int, without: int) -> bool:
        others = (other for other in self.neighbours(place) if other != without)
        return not self.tells_alone(place) and not any(other in self.chosen for other in others)

    def tells_alone(self, place: int) -> bool:
        """Whether a line needs no other: a name of a listing, a whole text, or a sentence of the assistant."""
        line = self.lines[place]
        if self.head.kind is Kind.SAID:
            is_sentence = len(line.text.split()) > SENTENCE_WORDS or self.weighed[place].is_notable
            return is_sentence and not line.text.endswith(":")
        return line.is_name or (line.after == FIRST and line.is_last)

    @property
    def entry(self) -> Entry:
        return Entry(self.head, tuple(self.chosen[number] for number in sorted(self.chosen)))


@dataclass(slots=True)
class Chooser:
    """Chooses lines by the weight of the names they add, until the budget is spent."""

    weights: Mapping[str, float]
    budget: float
    there: dict[str, int] = field(default_factory=dict)
    """How often each name is already present."""
    shown: set[str] = field(default_factory=set)
    """Lines already present."""
    focus: frozenset[str] = frozenset()
    """Words that a line gets more room for."""
    taken: list[tuple[Candidate, int]] = field(default_factory=list)
    """The chosen lines and heads, the least important last."""
    _left: dict[str, float] = field(default_factory=dict)
    """The value of one more line with each name."""
    _least: float = 0.0

    def __post_init__(self) -> None:
        self._least = SPENT * self.budget
        self._left = {name: weight * _again(self.there.get(name, 0)) for name, weight in self.weights.items()}

    def open(self, candidate: Candidate) -> bool:
        """Show the head of a step, if there is room."""
        if not candidate.is_open and candidate.head_cost <= self.budget:
            candidate.is_open = True
            self.budget -= candidate.head_cost
            self._note(candidate.head_names)
        return candidate.is_open

    def show_best(self, candidate: Candidate, *, opening: bool = False) -> bool:
        """Show the most important passage of a step whose head is shown or, `opening` it, of any."""
        if (candidate.is_open or opening) and candidate.lines and not candidate.chosen:
            self._show(candidate, self._best(candidate))
        return bool(candidate.chosen)

    def best_worth(self, candidate: Candidate) -> float:
        """The value of its most important line."""
        return self._worth(candidate, self._best(candidate)) if candidate.lines else 0.0

    def _best(self, candidate: Candidate) -> int:
        return max(range(len(candidate.lines)), key=lambda place: self._worth(candidate, place))

    def show_around_best(self, candidate: Candidate, room: float) -> None:
        """Show the best line of a step whose head is shown, and those around it that fit the room. If the step is no
        edit and has a result, they are lines of that."""
        if not candidate.is_open or not candidate.lines:
            return
        all_places = range(len(candidate.lines))
        of_result = [] if candidate.role is Role.EDITED else [*filter(candidate.is_result, all_places)]
        places = of_result or all_places
        best = max(places, key=lambda place: self._worth(candidate, place))
        for_others = max(0.0, self.budget - room)
        self.budget -= for_others
        for place in sorted(places, key=lambda place: abs(place - best)):
            if self._cost(candidate, place) > self.budget:
                break
            if place not in candidate.chosen:
                self._show(candidate, place)
        self.budget += for_others

    def choose(self, candidates: Sequence[Candidate]) -> None:
        """Choose heads and lines; among equals, the newest."""
        candidates = candidates[::-1]
        queue: list[tuple[float, int, int]] = []
        for number, candidate in enumerate(candidates):
            if not candidate.is_open and candidate.head.kind is not Kind.SAID:
                queue.append((-self._head_worth(candidate), number, HEAD))
            queue += [(-self._worth(candidate, place), number, place) for place in range(len(candidate.lines))]
        heapq.heapify(queue)
        while queue and self.budget > self._least:
            worth, number, place = heapq.heappop(queue)
            if worth >= 0:
                break
            candidate = candidates[number]
            if candidate.is_open if place < 0 else place in candidate.chosen:
                continue
            now = -(self._head_worth(candidate) if place < 0 else self._worth(candidate, place))
            if queue and now > queue[0][0] + 1e-9:
                heapq.heappush(queue, (now, number, place))
            elif now < 0:
                self._take(queue, candidate, number, place)

    def _take(self, queue: list[tuple[float, int, int]], candidate: Candidate, number: int, place: int) -> None:
        was_open = candidate.is_open
        if place < 0:
            if not self.open(candidate):
                return
            self.taken.append((candidate, HEAD))
        elif not self._show(candidate, place):
            return
        again: Iterable[int] = (place - 2, place - 1, place + 1, place + 2)
        if not was_open:
            again = range(len(candidate.lines))
        for other in again:
            if 0 <= other < len(candidate.lines) and other not in candidate.chosen:
                heapq.heappush(queue, (-self._worth(candidate, other), number, other))

    def _show(self, candidate: Candidate, place: int) -> bool:
        """Show a line; a lone one with the better of its neighbours, as a passage, or not at all."""
        neighbours = candidate.neighbours(place)
        if not neighbours or candidate.tells_alone(place) or any(other in candidate.chosen for other in neighbours):
            return self._show_line(candidate, place)
        free = [other for other in neighbours if bare_line(candidate.lines[other].text) not in self.shown]
        if not free:
            return False
        partner = max(free, key=lambda other: self._worth(candidate, other))
        if self._cost(candidate, place) + candidate.weighed[partner].cost > self.budget:
            return False
        return self._show_line(candidate, place) and self._show_line(candidate, partner)

    def _show_line(self, candidate: Candidate, place: int) -> bool:
        """Show a line and, before it, the name of the file that it is from."""
        if self._cost(candidate, place) > self.budget or self._is_twice(candidate, place):
            return False
        for each in dict.fromkeys((candidate.file_of.get(place, place), place)):
            if each not in candidate.chosen:
                self._put(candidate, each)
        return True

    def _is_twice(self, candidate: Candidate, place: int) -> bool:
        """Whether a line is shown elsewhere; a short one may be, within a passage that would have a gap without it."""
        line = bare_line(candidate.lines[place].text)
        if line not in self.shown:
            return False
        return len(line) > SHORT_CHARS or not any(other in candidate.chosen for other in candidate.neighbours(place))

    def _put(self, candidate: Candidate, place: int) -> None:
        line = candidate.lines[place]
        cost = self._cost(candidate, place)
        names = candidate.weighed[place].names
        gained = NEIGHBOUR * self._names_worth(names)
        if not candidate.is_open:
            candidate.is_open = True
            self._note(candidate.head_names)
        self.budget -= cost
        candidate.chosen[place] = line
        candidate.errors += candidate.weighed[place].is_error
        self.taken.append((candidate, place))
        self.shown.add(bare_line(line.text))
        self._note(names)
        for other in candidate.neighbours(place):
            candidate.gains[other] = candidate.gains.get(other, 0.0) + gained

    def give_back(self, tokens: float) -> bool:
        """Drop the least important lines and heads that cost this much; False if there are none."""
        is_any = bool(self.taken)
        while tokens > 0 and self.taken:
            candidate, place = self.taken.pop()
            if place == HEAD and candidate.is_open and not candidate.chosen:
                candidate.is_open = False
                tokens -= candidate.head_cost
            if place not in candidate.chosen:
                continue
            for each in candidate.without(place):
                del candidate.chosen[each]
                candidate.errors -= candidate.weighed[each].is_error
                tokens -= candidate.weighed[each].cost
            candidate.is_open = candidate.is_open and (bool(candidate.chosen) or candidate.head.kind is not Kind.SAID)
        return is_any

    def _note(self, names: Iterable[str]) -> None:
        for name in names:
            times = self.there[name] = self.there.get(name, 0) + 1
            if name in self._left:
                self._left[name] = self.weights[name] * _again(times)

    def _cost(self, candidate: Candidate, place: int) -> int:
        """What showing a line costs, with its head, the name of its file, and the mark of a gap."""
        cost = candidate.weighed[place].cost + (0 if candidate.is_open else candidate.head_cost)
        line = candidate.lines[place]
        file = candidate.file_of.get(place, place)
        if file != place and file not in candidate.chosen:
            cost += candidate.weighed[file].cost
        if line.is_name or line.after == FIRST or any(each in candidate.chosen for each in candidate.neighbours(place)):
            return cost
        return cost + GAP_COST

    def _names_worth(self, names: Iterable[str]) -> float:
        return sum(map(self._left.get, names, repeat(0.0)))

    def _worth(self, candidate: Candidate, place: int) -> float:
        _, names, is_notable, is_error = candidate.weighed[place]
        worth = self._names_worth(names) + candidate.gains.get(place, 0.0)
        if candidate.head.kind is Kind.SAID and (place == 0 or is_notable):
            worth += CONCLUSION_WEIGHT
        if is_error and candidate.role not in _READ:
            worth += ERROR_WEIGHT * _again(candidate.errors)
        if not candidate.is_open:
            worth += self._names_worth(candidate.head_names)
        if self.focus and not self.focus.isdisjoint(_words(candidate.lines[place].text)):
            worth += FOCUS_WEIGHT
        worth *= candidate.weight_of(place) * (NOTABLE if is_notable else 1.0)
        if candidate.lines[place].text.lstrip()[:1] in OF_A_MAP:
            worth *= MAP_WEIGHT
        return worth / self._cost(candidate, place)

    def _head_worth(self, candidate: Candidate) -> float:
        alone = FAILED_STEP_WEIGHT if candidate.head.outcome or candidate.role in _TELLING else STEP_WEIGHT
        if candidate.role is Role.ANSWERED:
            alone = ANSWER_WEIGHT
        if self.focus and not self.focus.isdisjoint(_words(candidate.head.text)):
            alone += FOCUS_WEIGHT
        return (self._names_worth(candidate.head_names) + alone) / max(1, candidate.head_cost)


def _callers(lines: Sequence[str]) -> Iterator[int]:
    """The places of the lines of each traceback before its last frames."""
    frames: list[int] = []
    for place, line in enumerate(lines):
        if _FRAME.match(line):
            frames.append(place)
        elif frames and place > frames[-1] + 1:
            yield from range(frames[0], frames[-FRAMES:][0])
            frames = []
    if frames:
        yield from range(frames[0], frames[-FRAMES:][0])


def focus_words(focus: str) -> frozenset[str]:
    """The words of what the user asked to keep, but for those that every sentence has; short ones in capitals."""
    short = frozenset(word.lower() for word in re.findall(r"\b[A-Z]{2}\b", focus))
    words = (word for word in _words(focus) if word in short or not word.isascii() or len(word) > 2)
    return frozenset(word for word in words if word not in _COMMON)


def _words(text: str) -> frozenset[str]:
    """The words in a text and in its names, in lower case, without the ending of a plural; of a writing without blanks
    each two characters."""
    found: set[str] = set()
    for match in _WORD.finditer(text):
        if match[1]:
            found.update(map("".join, pairwise(match[1])))
        else:
            found.add(match[0].lower().removesuffix("s"))
    return frozenset(found)


def _again(times: int) -> float:
    """The factor for a name that is already present `times` times."""
    return AGAIN[times] if times < len(AGAIN) else AGAIN[-1]


def _tells_little(name: str, listed: Sequence[str]) -> bool:
    """Whether a name is a hash, a line range, a time, a part of one that is listed, or ends as one does."""
    pieces, last = (f".{name}", f"{name}.", f"/{name}"), name.rpartition(".")[2]
    is_ending = _ENDING.fullmatch(last) is not None
    return (
        len(listed) >= MOST_LISTED
        or _NO_NAME.fullmatch(name) is not None
        or (not name[0].isalnum() and name[0] not in "_/~@#")
        or any(piece in each for each in listed for piece in pieces)
        or (not is_ending and any(each.rpartition(".")[2] == last for each in listed))
    )


def bare_names(
    weights: Mapping[str, float], there: Mapping[str, int], places: Mapping[str, Place], budget: float
) -> dict[Place, list[str]]:
    """The heaviest names that nothing shows, within the budget, by the step that used them last."""
    found: dict[Place, list[str]] = {}
    for name in weights:  # heaviest first
        if name in there or name not in places or _tells_little(name, found.get(places[name], ())):
            continue
        if (cost := estimate_text(name) + 1) > budget:
            break
        budget -= cost
        found.setdefault(places[name], []).append(name)
    return found
