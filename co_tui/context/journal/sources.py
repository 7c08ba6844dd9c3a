"""Where a journal's entries come from: the conversation's names, its steps, and the messages that left."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from pydantic_ai.messages import ModelMessage

from co_tui.context.journal.answers import Answer, only_confirms
from co_tui.context.journal.calls import PLAN, Role
from co_tui.context.journal.choose_lines import Candidate
from co_tui.context.journal.conclusions import STRONG, announces, strength_of
from co_tui.context.journal.entries import Entry, Head, Kind, Place
from co_tui.context.journal.shown_lines import (
    FIRST,
    ShownLine,
    bare_code,
    bare_line,
    clean,
    is_empty,
    is_in_head,
    is_single_word,
    shown_lines,
)
from co_tui.context.journal.work_record import UNDONE_LATER, Call, WorkRecord
from co_tui.context.journal.work_state import without_folder
from co_tui.context.memory.ledger import Ledger, names_of
from co_tui.context.memory.transcript_lines import (
    MODEL,
    USER,
    LinePosition,
    TranscriptPart,
    lines_of,
    transcript_parts,
)
from co_tui.events.recorded import ChangedFile
from co_tui.inert import one_line

_TELLING: Final = re.compile(r"[^\W\d][\w-]*[._/:@][^\W\d]|[^\W\d_]\d|\d[^\W\d_]|_|[a-z][A-Z]")
"""Names of a tool's output that are more than a plain word, a number or a date."""
LATEST_CALLS: Final = 12
FINDING: Final = -1
"""In the place of a part of a message: what the message concluded."""
PROMPT_CHARS: Final = 50
"""How much of a prompt marks its place; the user's words are quoted elsewhere."""
TRIED_CHARS: Final = 100
"""Of what an edit had changed that was undone."""


@dataclass(slots=True)
class Sources:
    """The whole conversation, and which of its messages left the context."""

    ledger: Ledger
    work: WorkRecord
    gone: frozenset[int]
    read: Callable[[Sequence[int]], Iterable[ModelMessage]]
    """Reads messages by their numbers."""
    files: Mapping[str, ChangedFile] = field(default_factory=dict)
    """Those that the session changed, as recorded."""
    left_out: str = ""
    """How commands begin that are shown without it, since the text next to the journal says so."""

    def shown_with(self, standing: str) -> "Sources":
        """The same for a journal next to a text, which may say what is left out before commands."""
        said = self.work.left_out
        return replace(self, left_out=said.words if said.line and said.line in standing.splitlines() else "")

    def names_there(self) -> dict[str, int]:
        """The names in messages still in the context."""
        kept = sorted(frozenset(range(len(self.ledger.names))) - self.gone)
        return dict.fromkeys(chain.from_iterable(map(self.names_in, kept)), 1)

    def lines_there(self) -> set[str]:
        """The lines of messages still in the context."""
        kept = sorted(frozenset(range(len(self.ledger.names))) - self.gone)
        texts = (said.text for message in self.read(kept) for said in transcript_parts(message))
        return {bare_line(clean(line)) for text in texts for line in lines_of(text)}

    def names_in(self, number: int) -> tuple[str, ...]:
        """The names in a message."""
        known = self.ledger.names[number]
        return known if known is not None else names_of(*self.read([number]))

    def last_place(self, name: str) -> Place | None:
        """The step that used a name last, if it left the context and the name tells something by itself."""
        detail = self.ledger.details[name]
        if not _TELLING.search(name):
            return None
        place = detail.lines[-1][:2]
        if place[0] not in self.gone:
            return None
        head = self._call_head(place)
        return head.at if head is not None else place

    def head_of(self, place: Place, by: str, text: str = "") -> Head:
        """What a part of a message belongs to; `text` is its text, where the user speaks."""
        if (head := self._call_head(place)) is not None:
            return head
        if by == MODEL:
            calls = (call.call_at[1] for call in self.work.calls_of(place[0]))
            return Head((place[0], max((part + 1 for part in calls if part < place[1]), default=0)), Kind.SAID, "")
        return Head(place, Kind.USER, one_line(text, PROMPT_CHARS)) if by == USER else Head(place, Kind.NOTE, by)

    def _call_head(self, place: Place) -> Head | None:
        """The call that a part of a message is, or is the result of."""
        if (found := self.work.answered_by(place)) is not None:
            return self._head(found)
        return next((self._head(call) for call in self.work.calls_of(place[0]) if call.call_at == place), None)

    def current(self, head: Head) -> Head:
        """What is known now of the step of an entry that was written before."""
        return (self._call_head(head.at) if head.kind is Kind.CALL else None) or head

    def candidate(self, head: Head, lines: list[ShownLine]) -> Candidate:
        """A step with these lines."""
        calls = self.work.calls_of(head.at[0]) if head.kind in (Kind.CALL, Kind.SAID) else ()
        if head.kind is Kind.CALL:
            calls = tuple(call for call in calls if call.call_at == head.at)
        if any(call.is_undone(self.files) for call in calls):
            return Candidate(head, lines, Role.UNDONE)
        if any(self.work.is_outdated(call) for call in calls):
            return Candidate(head, lines, Role.OUTDATED)
        if removed := {line for call in calls for line in self.work.removed_since(call)}:
            lines = [line for line in lines if removed.isdisjoint(bare_code(line.text))]
        return Candidate(head, lines, calls[0].role if calls and head.kind is Kind.CALL else Role.SAID)

    def is_result_in(self, head: Head, number: int) -> bool:
        """Whether a head shows all that a service answered in a message."""
        return bool(head.answer) and number != head.at[0] and self.candidate(head, []).role is Role.ANSWERED

    def calls(self, number: int) -> list[Head]:
        """The calls in a message, in order; the state has the plan, so that those that write it are left out."""
        return [self._head(call) for call in self.work.calls_of(number) if call.verb != PLAN]

    def _head(self, call: Call) -> Head:
        text = without_folder(call.head, self.left_out)
        if call.is_undone(self.files):
            came, outcome = Answer(gist=_tried(call.answer.gist)), UNDONE_LATER
        else:
            came, outcome = call.answer, call.outcome
        return Head(call.call_at, Kind.CALL, text, call.verb, outcome, call.time, *came)


def fresh_candidates(sources: Sources, numbers: Sequence[int]) -> list[Candidate]:
    """Every step in these messages, with all lines that may be shown."""
    found: dict[Place, Candidate] = {}
    for number, message in zip(numbers, sources.read(numbers), strict=True):
        for part, said in enumerate(transcript_parts(message)):
            head = sources.head_of((number, part), said.by, said.text)
            if head.verb == PLAN:
                continue  # the state has the plan as it is now
            text = "" if sources.is_result_in(head, number) else said.text
            is_left_out = announces if head.kind is Kind.SAID else None
            lines = shown_lines(number, part, text, in_head=f"{head.text}\n{head.answer}", is_left_out=is_left_out)
            if head.at in found:
                step = found[head.at]
                if step.role is Role.EDITED and (step.lines or head.answer) and only_confirms(said.text):
                    continue  # its head or its lines say what changed
                found[head.at] = sources.candidate(head, [*step.lines, *lines])
            elif lines or head.kind is not Kind.SAID:
                found[head.at] = sources.candidate(head, lines)
        for head in sources.calls(number):
            found.setdefault(head.at, Candidate(head, []))
    candidates = [found[place] for place in sorted(found)]
    for each in [each for each in candidates if each.head.kind is Kind.CALL][-LATEST_CALLS:]:
        each.role = Role.READ_LAST if each.role is Role.READ else each.role
    return candidates


def findings(sources: Sources, standing: str) -> list[Candidate]:
    """What the assistant found out in messages that left and nothing else says, the strongest and newest first."""
    latest = {step.concluded: step.number for step in sources.work.conclusions(sources.gone, sources.files)}
    strong = {text: strength for text in latest if text not in standing and (strength := strength_of(text)) >= STRONG}
    return [
        Candidate(
            Head((latest[text], FINDING), Kind.SAID, ""),
            [ShownLine(LinePosition(latest[text], FINDING, 0), text, FIRST, is_last=True)],
        )
        for text in sorted(strong, key=lambda text: (strong[text], latest[text]), reverse=True)
    ]


def as_cut_now(sources: Sources, entries: Sequence[Entry]) -> list[Candidate]:
    """Entries that were written before, without lines that are no longer where they were: older versions cut long lines
    differently."""
    texts = _texts(sources, entries)
    lines = {place: lines_of(said.text) for place, said in texts.items()}
    return [
        sources.candidate(sources.current(each.head), [line for line in each.lines if _is_at_its_place(line, lines)])
        for each in entries
    ]


def _is_at_its_place(line: ShownLine, lines: Mapping[Place, Sequence[str]]) -> bool:
    now = lines.get(line.position[:2], ())
    return line.is_name or (line.position.line < len(now) and clean(now[line.position.line]) == line.text)


def _texts(sources: Sources, steps: Sequence[Candidate | Entry]) -> dict[Place, TranscriptPart]:
    """The parts of messages that lines of these steps are from, and the other parts of those messages."""
    numbers = sorted({line.position.message for each in steps for line in each.lines} & sources.gone)
    return {
        (number, part): said
        for number, message in zip(numbers, sources.read(numbers), strict=True)
        for part, said in enumerate(transcript_parts(message))
    }


def with_neighbours(sources: Sources, candidates: Sequence[Candidate], around: int = 1) -> list[Candidate]:
    """Remembered lines with as many of those that stood before and after them, which are read again."""
    texts = _texts(sources, candidates)
    return [replace(each, lines=_widened(each.lines, texts, each.head.text, around)) for each in candidates]


def _widened(
    lines: Sequence[ShownLine], texts: Mapping[Place, TranscriptPart], in_head: str, around: int
) -> list[ShownLine]:
    found: dict[LinePosition, ShownLine] = {line.position: line for line in lines}
    for place in dict.fromkeys(line.position[:2] for line in lines):
        all_lines = shown_lines(*place, texts[place].text, in_head=in_head) if place in texts else []
        at = {line.position: number for number, line in enumerate(all_lines)}
        for line in lines:
            number = at.get(line.position)
            for near in all_lines[max(0, number - around) : number + around + 1] if number is not None else ():
                found[near.position] = near
    return sorted(found.values())


def remembered(sources: Sources, names: Iterable[str], but: Collection[int] = ()) -> list[Candidate]:
    """The latest lines with these names in messages that left, except some messages."""
    details, gone = sources.ledger.details, sources.gone
    latest = {excerpt.position: excerpt for name in names for excerpt in details[name].latest}
    found: dict[Place, list[ShownLine]] = {}
    heads: dict[Place, Head] = {}
    for position in sorted(latest):
        excerpt = latest[position]
        if position.message not in gone or position.message in but:
            continue
        text = clean(excerpt.text)
        head = sources.head_of(position[:2], excerpt.by, excerpt.text)
        if is_empty(text) or is_single_word(text) or (head.kind is Kind.SAID and announces(text)):
            continue
        is_confirmation = head.kind is Kind.CALL and position[:2] != head.at and only_confirms(text)
        if not is_confirmation and not is_in_head(text, head.text):
            heads[head.at] = head
            found.setdefault(head.at, []).append(ShownLine(position, text))
    return [sources.candidate(heads[place], lines) for place, lines in sorted(found.items())]


def merged(one: Sequence[Candidate], other: Sequence[Candidate]) -> list[Candidate]:
    """Both, with the lines of each step together; the first knows more of a line they share."""
    found = {each.head.at: each for each in one}
    for each in other:
        known = found.get(each.head.at)
        if known is None:
            found[each.head.at] = each
            continue
        positions = {line.position for line in known.lines}
        more = [line for line in each.lines if line.position not in positions]
        if more:
            found[each.head.at] = replace(known, lines=sorted((*known.lines, *more)))
    return [found[place] for place in sorted(found)]


def _tried(changed: str) -> str:
    """What an edit that was undone had changed, on a short line."""
    return one_line(f"tried: {changed}", TRIED_CHARS) if changed else ""
