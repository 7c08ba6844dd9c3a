"""The entries of a journal: what was done, what came of it, and passages of the original lines."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from co_tui.context.journal.shown_lines import FIRST, ShownLine, indentation, safe

GAP: Final = "…"
ALSO: Final = "also: "
WORDS_OF_A_FOLD: Final = 5
"""How many kinds of steps a folded line names."""

Place = tuple[int, int]
"""The number of a message in the conversation, and that of a part in it."""


class Kind(StrEnum):
    CALL = "call"
    SAID = "assistant"
    USER = "user"
    NOTE = "note"


class Head(NamedTuple):
    """What an entry is about."""

    at: Place
    kind: Kind
    text: str
    """In original words, on one line; empty for what the assistant said."""
    verb: str = ""
    """Names the step when it is folded."""
    outcome: str = ""
    """How it ended, if not well."""
    time: int = 1
    """Which of the steps with the same words it is."""

    @property
    def line(self) -> str:
        if self.kind is Kind.CALL:
            again = f" (time {self.time})" if self.time > 1 else ""
            return f"- {self.text}{again}{f' → {self.outcome}' if self.outcome else ''}"
        return f"{self.kind}: {self.text}".rstrip()


class Entry(NamedTuple):
    """One step as shown."""

    head: Head
    lines: tuple[ShownLine, ...] = ()
    """In order."""
    names: tuple[str, ...] = ()
    """What else it named."""

    @property
    def text(self) -> str:
        return "\n".join(self._rendered())

    def _rendered(self) -> Iterator[str]:
        if self.head.kind is Kind.SAID:
            yield from _said(self)
        else:
            yield self.head.line
            yield from (f"    {line}" for line in passages(self.lines))
            if self.names:
                yield f"    {ALSO}{', '.join(self.names)}"

    def as_json(self) -> list[Any]:
        head = self.head
        lines = [line.as_json() for line in self.lines]
        return [*head.at, str(head.kind), head.text, head.verb, head.outcome, head.time, lines]

    @classmethod
    def from_json(cls, value: Any) -> "Entry | None":
        """The stored entry; None if it is invalid."""
        match value:
            case [int(message), int(part), str(kind), str(text), str(verb), str(outcome), int(time), list(lines)] if (
                kind in list(Kind)
            ):
                read = map(ShownLine.from_json, lines)
                head = Head((message, part), Kind(kind), text, verb, outcome, time)
                return cls(head, tuple(line for line in read if line is not None))
        return None


def _said(entry: Entry) -> Iterator[str]:
    first, *rest = passages(entry.lines) or [GAP]
    yield f"{entry.head.kind}: {first.lstrip()}"
    yield from (f"  {line}" for line in rest)
    if entry.names:
        yield f"  {ALSO}{', '.join(entry.names)}"


def passages(lines: Sequence[ShownLine]) -> list[str]:
    """The lines with `…` where something is left out; the names of a listing on one line."""
    result: list[str] = []
    part: list[ShownLine] = []
    for line in lines:
        if part and line.position[:2] != part[0].position[:2]:
            result += _passage(part, result)
            part = []
        part.append(line)
    return result + _passage(part, result)


def _passage(lines: Sequence[ShownLine], before: Sequence[str]) -> list[str]:
    """The shown lines of one part of a message."""
    if not lines:
        return []
    if lines[0].is_name:
        return [f"names: {', '.join(line.text for line in lines)}"]
    blanks = len(indentation(line.text for line in lines))
    result: list[str] = []
    last: ShownLine | None = None
    for line in lines:
        is_joined = line.after == FIRST if last is None else line.follows(last)
        if not is_joined and (result or not before or before[-1] != GAP):
            result.append(GAP)
        result.append(safe(line.text[blanks:]))
        last = line
    return result if lines[-1].is_last else [*result, GAP]


def folded(heads: Iterable[Head], names: Sequence[str] = ()) -> str:
    """Steps without an entry on one line."""
    verbs = Counter(head.verb for head in heads)
    shown = [f"{verb} ×{count}" if count > 1 else verb for verb, count in verbs.most_common(WORDS_OF_A_FOLD)]
    if len(verbs) > WORDS_OF_A_FOLD:
        shown.append("others")
    count = verbs.total()
    named = f"; {ALSO}{', '.join(names)}" if names else ""
    return f"({count} more step{'s' if count != 1 else ''}: {', '.join(shown)}{named})"


def rendered(heads: Sequence[Head], entries: Mapping[Place, Entry], names: Mapping[Place, Sequence[str]]) -> list[str]:
    """The journal of these steps, a text for each entry; steps without one are folded. `names` are those of folded
    steps."""
    texts: list[str] = []
    run: list[Head] = []

    def fold() -> None:
        if run:
            texts.append(folded(run, [name for head in run for name in names.get(head.at, ())]))
            run.clear()

    for head in heads:
        if (entry := entries.get(head.at)) is not None:
            fold()
            texts.append(entry.text)
        elif head.kind is Kind.CALL:
            run.append(head)
    fold()
    return texts
