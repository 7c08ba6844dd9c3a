"""The entries of a journal: what was done, what came of it, and passages of the original lines."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from co_tui.context.journal.command_runs import INSTALLERS
from co_tui.context.journal.shown_lines import FIRST, ShownLine, indentation, safe
from co_tui.inert import one_line

GAP: Final = "…"
ALSO: Final = "also: "
CAME: Final = "→"
"""Before what came of a step."""
WORDS_OF_A_FOLD: Final = 4
"""How many kinds of steps a folded line names."""
FILES_OF_A_FOLD: Final = 2
FOLDED_CHARS: Final = 30
VALUES_OF_A_FOLD: Final = 4
VALUE_CHARS: Final = 16
"""Of calls that are alike: longer values are not named."""
_FILE: Final = re.compile(r"(?<![\w.-])(?:[\w.-]+/)*([\w-][\w.-]*\.[A-Za-z]\w{0,5})(?![\w/])")
"""The last name of the path of a file."""

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
    answer: str = ""
    """What came of it, in a few words."""
    gist: str = ""
    """The same at more length, for an entry without lines."""

    @property
    def line(self) -> str:
        if self.kind is Kind.CALL:
            again = f" (again{f', time {self.time}' if self.time > 2 else ''})" if self.time > 1 else ""
            return f"- {self.text}{again}{f' {CAME} {self.outcome}' if self.outcome else ''}"
        return f"{self.kind}: {self.text}".rstrip()

    @property
    def came(self) -> str:
        """What came of it in the words of the tool, on a line of its own: one that is not indented is always ours."""
        text = self.answer or self.gist
        if "\n" in text:  # the lines of a change
            return "\n".join(f"    {safe(line)}" for line in text.split("\n"))
        return f"    {CAME} {safe(text)}" if text else ""


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
            if self.head.came and (not self.lines or self._has_own_answer):
                yield self.head.came
            yield from (f"    {line}" for line in passages(self.lines))
            if self.names:
                yield f"    {ALSO}{', '.join(self.names)}"

    @property
    def _has_own_answer(self) -> bool:
        """Whether a result of a few words is not among the lines."""
        return bool(self.head.answer) and all(line.text.strip() != self.head.answer for line in self.lines)

    def as_json(self) -> list[Any]:
        head = self.head
        lines = [line.as_json() for line in self.lines]
        return [*head.at, str(head.kind), head.text, head.verb, head.outcome, head.time, head.answer, head.gist, lines]

    @classmethod
    def from_json(cls, value: Any) -> "Entry | None":
        """The stored entry; None if it is invalid."""
        match value:
            case [
                int(message),
                int(part),
                str(kind),
                str(text),
                str(verb),
                str(outcome),
                int(time),
                *came,
                list(lines),
            ] if kind in list(Kind):
                read = map(ShownLine.from_json, lines)
                head = Head((message, part), Kind(kind), text, verb, outcome, time, *filter(_is_text, came[:2]))
                return cls(head, tuple(line for line in read if line is not None))
        return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


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


def folded(heads: Sequence[Head], names: Sequence[str] = ()) -> str:
    """Steps without an entry on one line: what was done to which files, and what failed."""
    by_verb: dict[str, list[Head]] = {}
    for head in heads:
        by_verb.setdefault(head.verb, []).append(head)
    most = sorted(by_verb.items(), key=lambda each: -len(each[1]))
    named_kinds = [*most[:WORDS_OF_A_FOLD], *(kind for kind in most[WORDS_OF_A_FOLD:] if kind[0] in INSTALLERS)]
    shown = [_of_a_kind(verb, alike) for verb, alike in named_kinds]
    if len(most) > len(named_kinds):
        shown.append("others")
    named = f"; {ALSO}{', '.join(names)}" if names else ""
    return f"({len(heads)} more step{'s' if len(heads) != 1 else ''}: {', '.join(shown)}{named})"


def _of_a_kind(verb: str, heads: Sequence[Head]) -> str:
    """Steps of one verb: how many, their files or else the words of a single one, and how many failed."""
    many = f" ×{len(heads)}" if len(heads) > 1 else ""
    files = [*dict.fromkeys(name for head in heads for name in _FILE.findall(head.text))]
    named = (one_line(name, FOLDED_CHARS) for name in files[:FILES_OF_A_FOLD])
    about = " ".join((*named, *([GAP] if len(files) > FILES_OF_A_FOLD else ())))
    if not files and not many:
        about = one_line(_after_verb(heads[0]), FOLDED_CHARS)
    elif not files and (values := _values(heads)):
        about = ", ".join(values)
    elif not files and verb in INSTALLERS:
        words = (word for head in heads for word in _after_verb(head).split() if not word.startswith("-"))
        about = one_line(" ".join(dict.fromkeys(words)), 2 * FOLDED_CHARS)
    ends = Counter(head.outcome.partition(" (")[0] for head in heads if head.outcome)
    how = "".join(f" ({f'{count} ' if many else ''}{end})" for end, count in ends.items())
    return f"{verb}{many}{f' {about}' if about else ''}{how}"


def _values(heads: Sequence[Head]) -> list[str]:
    """What calls of a tool were about, if it is short: the last value of each."""
    found = [*dict.fromkeys(_after_verb(head) for head in heads if not head.text.startswith("$ "))]
    return found if len(found) <= VALUES_OF_A_FOLD and all(0 < len(each) <= VALUE_CHARS for each in found) else []


def _after_verb(head: Head) -> str:
    words = head.text.removeprefix("$ ")
    if head.text.startswith("$ "):
        return words.partition(head.verb)[2].strip()
    return words.partition("(")[2].rpartition(": ")[2].rstrip(")")


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
            if head.kind is not Kind.USER or texts[-1:] != [entry.text]:  # a prompt that is repeated is shown once
                texts.append(entry.text)
        elif head.kind is Kind.CALL:
            run.append(head)
    fold()
    return texts
