"""Choose original lines to represent messages that left the context: the most important names per token (C14).

The choice is greedy; names already present count little. Lines chosen earlier compete again.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, groupby, repeat
from typing import Any, Final, NamedTuple

from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.ledger import NOTABLE_LINE, Ledger
from co_tui.context.memory.names import names_in, names_in_line
from co_tui.context.memory.transcript_lines import MODEL, SUMMARY_SAID, Excerpt, LinePosition, bare_line, bare_lines

AGAIN: Final = (1.0, 0.1, 0.03)
"""Factor for a name that is present not yet, once, or more often."""
NAMES_SHARE: Final = 0.1
"""Of the budget: for names listed without a line."""
NAMES_A_TOKEN: Final = 1.5
LEAST_NAMES, MOST_NAMES = 200, 3_000
"""How many of the most important names are considered; grows with the budget."""
SPENT: Final = 0.02
"""Of the budget: stop when less than this is left."""
LINE_COST: Final = 1
NOTABLE: Final = 1.3
NOTABLE_ALONE: Final = 1.0
WRITTEN_ALONE: Final = 200.0
"""For lines of a written summary, which come first."""


class Sources(NamedTuple):
    """Where lines come from: the ledger of the whole transcript, and which messages left the history."""

    ledger: Ledger
    gone: frozenset[int]
    """The numbers of the messages that left the context."""


class Excerpts(NamedTuple):
    """The chosen lines, in transcript order."""

    lines: tuple[Excerpt, ...] = ()
    names: tuple[str, ...] = ()
    """Important names without a line."""

    @property
    def text(self) -> str:
        blocks = [
            f"[{by}]\n" + "\n".join(excerpt.shown for excerpt in said)
            for by, said in groupby(self.lines, key=lambda excerpt: excerpt.by)
        ]
        if self.names:
            blocks.append("[also named]\n" + ", ".join(self.names))
        return "\n".join(blocks)

    def as_json(self) -> dict[str, Any]:
        return {"lines": [excerpt.as_json() for excerpt in self.lines], "names": list(self.names)}

    @classmethod
    def from_json(cls, value: Any) -> "Excerpts":
        """The valid part of stored excerpts."""
        if not isinstance(value, Mapping):
            return cls()
        lines, names = value.get("lines"), value.get("names")
        read = map(Excerpt.from_json, lines if isinstance(lines, list) else ())
        return cls(
            tuple(excerpt for excerpt in read if excerpt is not None),
            tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else (),
        )


NO_EXCERPTS: Final = Excerpts()


class Line(NamedTuple):
    """A candidate line."""

    excerpt: Excerpt
    names: tuple[str, ...]
    cost: int
    bonus: float
    """Factor on its value: higher for decisions, errors and open tasks."""
    alone: float
    """Its value apart from the names in it."""


@dataclass(slots=True)
class Chooser:
    """Chooses lines by the weight of the names they add."""

    weights: Mapping[str, float]
    there: dict[str, int] = field(default_factory=dict)
    """How often each name is already present."""
    chosen: list[Excerpt] = field(default_factory=list)
    _left: dict[str, float] = field(default_factory=dict)
    """The value of one more line with each name."""
    _headings: dict[int, set[str]] = field(default_factory=dict)
    """Message number → headings under which lines are chosen."""

    def choose(self, lines: Sequence[Line], budget: float) -> None:
        """Choose lines until none fits or adds value."""
        self._left = {name: weight * _again(self.there.get(name, 0)) for name, weight in self.weights.items()}
        queue = [(-self._worth(line), number) for number, line in enumerate(lines)]
        heapq.heapify(queue)
        texts = {bare_line(excerpt.text) for excerpt in self.chosen}
        spent = SPENT * budget
        while queue and budget > spent:
            worth, number = heapq.heappop(queue)
            line = lines[number]
            text = bare_line(line.excerpt.text)
            if line.cost > budget or worth >= 0 or text in texts:
                continue
            now = -self._worth(line)
            if queue and now > queue[0][0]:
                heapq.heappush(queue, (now, number))
                continue
            heading = self._heading_cost(line.excerpt)
            if line.cost + heading > budget:
                continue
            budget -= line.cost + heading
            self._headings.setdefault(line.excerpt.position.message, set()).add(line.excerpt.by)
            self.chosen.append(line.excerpt)
            texts.add(text)
            self._note(line.names)

    def _note(self, names: Iterable[str]) -> None:
        for name in names:
            times = self.there[name] = self.there.get(name, 0) + 1
            if name in self._left:
                self._left[name] = self.weights[name] * _again(times)

    def _heading_cost(self, excerpt: Excerpt) -> int:
        """The cost of its heading; 0 if its message already has it."""
        known = self._headings.get(excerpt.position.message, ())
        return 0 if excerpt.by in known else estimate_text(f"[{excerpt.by}]") + LINE_COST

    def _worth(self, line: Line) -> float:
        return (sum(map(self._left.get, line.names, repeat(0.0))) + line.alone) * line.bonus / line.cost


def _again(times: int) -> float:
    """The factor for a name that is already present `times` times."""
    return AGAIN[times] if times < len(AGAIN) else AGAIN[-1]


def choose_excerpts(
    sources: Sources, budget_tokens: float, *, carried: Iterable[Excerpt] = (), standing: str = ""
) -> Excerpts:
    """The most important lines of messages that left, within the budget; `standing` is the text shown with them."""
    with sources.ledger.lock:
        return _chosen(sources, budget_tokens, carried, standing)


def _chosen(sources: Sources, budget_tokens: float, carried: Iterable[Excerpt], standing: str) -> Excerpts:
    ledger, gone = sources
    weights = _heaviest(ledger, min(MOST_NAMES, LEAST_NAMES + int(NAMES_A_TOKEN * budget_tokens)))
    there = names_there(ledger, gone)
    for name in names_in(standing):
        there[name] = there.get(name, 0) + 1
    notable = (excerpt for excerpt in ledger.notable if excerpt.position.message in gone)
    known: dict[tuple[LinePosition, str], Excerpt] = {}
    for each in (*lines_with(sources, weights), *notable, *carried):
        known.setdefault((each.position, each.text), each)
    shown = bare_lines(standing)
    lines = [weighed_line(excerpt) for excerpt in known.values() if bare_line(excerpt.text) not in shown]
    chooser = Chooser(weights, there)
    chooser.choose(lines, budget_tokens * (1 - NAMES_SHARE))
    names = _bare_names(weights, there, budget_tokens * NAMES_SHARE)
    return Excerpts(tuple(sorted(chooser.chosen)), names)


def _heaviest(ledger: Ledger, most: int) -> dict[str, float]:
    weighed = ((detail.weight(ledger.tokens), name) for name, detail in ledger.details.items())
    return {name: weight for weight, name in heapq.nlargest(most, weighed)}


def names_there(ledger: Ledger, gone: Collection[int]) -> dict[str, int]:
    """The names in messages still in the context."""
    kept = (names for number, names in enumerate(ledger.names) if number not in gone)
    return dict.fromkeys(chain.from_iterable(kept), 1)


def lines_with(sources: Sources, names: Iterable[str]) -> list[Excerpt]:
    """The latest lines with these names, in messages that left the context."""
    ledger, details = sources.ledger, sources.ledger.details
    said = {excerpt.position: excerpt for name in names for excerpt in details[name].latest}
    return [ledger.as_it_ended(excerpt) for position, excerpt in said.items() if position.message in sources.gone]


@lru_cache(maxsize=32_768)
def weighed_line(excerpt: Excerpt) -> Line:
    """The line with its names, its cost, and a bonus for decisions, errors and open tasks."""
    is_notable = excerpt.position.line == 0 or bool(NOTABLE_LINE.search(excerpt.text))
    return Line(
        excerpt,
        tuple(names_in_line(excerpt.text)),
        estimate_text(excerpt.text) + LINE_COST,
        NOTABLE if is_notable else 1.0,
        WRITTEN_ALONE if excerpt.by == SUMMARY_SAID else NOTABLE_ALONE if is_notable and excerpt.by == MODEL else 0.0,
    )


def _bare_names(weights: Mapping[str, float], there: Mapping[str, int], budget: float) -> tuple[str, ...]:
    names: list[str] = []
    for name in weights:  # heaviest first
        if name in there:
            continue
        if (cost := estimate_text(name) + 1) > budget:
            break
        budget -= cost
        names.append(name)
    return tuple(names)
