"""Compare a session that is stored here with what its file says now."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import takewhile
from typing import Any, NamedTuple

from co_tui.events import (
    CompactionComplete,
    DelegationEnd,
    DelegationStart,
    Event,
    Fact,
    Message,
    Pin,
    Ref,
    Rewind,
    SessionEnd,
    SessionRename,
    UsageInfo,
)
from co_tui.events.facts.context import BY_IMPORT
from co_tui.exchange.importers.message_identity import identity, is_begun_in
from co_tui.store.sync.branches import CONVERSATION, renumbered


class Change(Enum):
    """What became of a file since its session was stored."""

    NONE = "none"
    """All of the file is here; there may be more here."""
    GREW = "grew"
    """All that was said here is in the file, and the file has more."""
    DIVERGED = "diverged"
    """Both have something that the other does not have."""


class Reading(Enum):
    """What a newer reader makes of a session that an older one imported."""

    SAME = "same"
    """It reads the same, or the session was imported by this version."""
    BETTER = "better"
    """It reads something else, which can replace what is stored."""
    AGAIN = "again"
    """The same, and it replaces it."""
    CONTINUED = "continued"
    """It reads something else, but the session was continued here: it stays as it is."""


class Growth(NamedTuple):
    """The difference between a stored session and its file."""

    change: Change
    tail: tuple[Event, ...] = ()
    """What to append to the stored session, with its seqs and the file's times."""
    shared_seq: int = 0
    """The last stored event that both have in common."""
    reading: Reading = Reading.SAME


class _Step(NamedTuple):
    """One change of the history, and what makes it the same in two logs."""

    event: Event
    key: tuple[Any, ...]

    @property
    def seq(self) -> int:
        return self.event.seq or 0


def foreign_growth(stored: Sequence[Event], log: Sequence[Event], *, again: bool = False) -> Growth:
    """What another program added to a session since it was imported, and what a newer reader reads differently.

    With `again` it replaces what an older reader imported; without, only where the file has grown since.
    """
    here, there = _steps(stored), _steps(log)
    if not _has_ids(here):  # imported by a version that kept no ids
        here, there = _without_ids(here), _without_ids(there)
    shared = len(list(takewhile(lambda pair: pair[0].key == pair[1].key, zip(here, there, strict=False))))
    last = here[shared - 1].seq if shared else 0
    if shared == len(there):
        renamed = _renamed(stored, log) if shared == len(here) else ()
        return Growth(Change.GREW, _numbered(stored, (*renamed, *log[-1:])), last) if renamed else Growth(Change.NONE)
    is_read_differently = shared < len(here) and _reader(stored) < _reader(log)
    has_grown = _said_until(there) > _imported_until(stored)
    is_continued = is_read_differently and _is_continued(stored)
    if is_read_differently and is_continued and not has_grown:
        return Growth(Change.NONE, reading=Reading.CONTINUED)
    if is_read_differently and not is_continued and not has_grown and _is_cut(here, there):
        return Growth(Change.NONE)
    if is_read_differently and not (again or has_grown):
        return Growth(Change.NONE, reading=Reading.BETTER)
    replaces = is_read_differently and not is_continued
    imported = _last_import(stored)
    # A branch that was chosen when the file was read is chosen again by what follows.
    own = [step for step in here[shared:] if not (isinstance(step.event.fact, Rewind) and step.seq < imported)]
    if not replaces and not _is_in(own, there[shared:]):
        return Growth(Change.DIVERGED, shared_seq=last)
    while 0 < shared < len(here) and _agent(there[shared - 1].event.fact):
        shared -= 1  # an agent's task is added again as a whole
    added = _added(stored, log, here, there, shared)
    kept = (*_pinned(stored, log, here[shared:], there[shared:]), *_renamed(stored, log))
    tail = _numbered(stored, (*added, *kept, *log[-1:]), here, there, shared)
    return Growth(Change.GREW, tail, last, Reading.AGAIN if replaces else Reading.SAME)


def _steps(log: Sequence[Event]) -> list[_Step]:
    """The changes of the history in order. A compaction that replaced nothing is only a note."""
    numbers: dict[int, int] = {}
    found: list[_Step] = []
    for event in log:
        if isinstance(event.fact, Rewind) and event.fact.by == BY_IMPORT:
            found = [step for step in found if step.seq <= event.fact.to_seq]
        elif isinstance(event.fact, CONVERSATION) and not _is_note(event.fact):
            numbers[event.seq or 0] = len(found)
            found.append(_Step(event, _key(event.fact, numbers)))
    return found


def _agent(fact: Fact) -> str:
    return fact.agent if isinstance(fact, Message) else ""


def _is_note(fact: Fact) -> bool:
    return isinstance(fact, CompactionComplete) and not (fact.success and fact.replaced)


def _key(fact: Fact, numbers: Mapping[int, int]) -> tuple[Any, ...]:
    match fact:
        case Message():
            return ("message", *identity(fact.message))
        case CompactionComplete():
            return (fact.TYPE, fact.summary, len(fact.replaced), len(fact.replacement))
        case Rewind():
            return (fact.TYPE, *(numbers.get(seq, -1) for seq, _ in fact.history))
        case _:
            return (type(fact),)


def _has_ids(steps: Sequence[_Step]) -> bool:
    return any(isinstance(step.event.fact, Message) and step.key[1] for step in steps[:1])


def _without_ids(steps: Sequence[_Step]) -> list[_Step]:
    return [step._replace(key=("message", "", step.key[2])) if step.key[0] == "message" else step for step in steps]


def _is_in(here: Sequence[_Step], there: Sequence[_Step]) -> bool:
    """Whether all that is here is there too, in order: the file has only more between it. What was said in tasks may
    have moved: which call a task belongs to is often known only at its end."""
    rest = iter(there)
    return all(any(_is_same(step, other) for other in rest) for step in here if not _agent(step.event.fact))


def _is_same(step: _Step, other: _Step) -> bool:
    mine, theirs = step.event.fact, other.event.fact
    if step.key == other.key:
        return True
    return isinstance(mine, Message) and isinstance(theirs, Message) and is_begun_in(mine.message, theirs.message)


def _imported_until(stored: Sequence[Event]) -> str:
    return "".join(event.timestamp for event in _imports(stored)[-1:])


def _said_until(steps: Sequence[_Step]) -> str:
    """When something was last said in the conversation itself; tasks may end later, and older readers left them out."""
    return max((step.event.timestamp for step in steps if not _agent(step.event.fact)), default="")


def _is_cut(here: Sequence[_Step], there: Sequence[_Step]) -> bool:
    """Whether the file no longer has what was said last: it would be lost."""
    ids = [step.key[1] for step in here if isinstance(step.event.fact, Message) and not _agent(step.event.fact)][-1:]
    known = {step.key[1] for step in there if isinstance(step.event.fact, Message)}
    return _said_until(there) < _said_until(here) and not known.issuperset(ids)


def _imports(log: Sequence[Event]) -> list[Event]:
    """The ends of what was imported."""
    return [event for event in log if _is_import(event.fact)]


def _reader(log: Sequence[Event]) -> int:
    """Which version read it last."""
    return next((event.fact.reader for event in _imports(log)[-1:] if isinstance(event.fact, SessionEnd)), 0)


def _is_continued(stored: Sequence[Event]) -> bool:
    """Whether something was said, compacted or taken back here since it was imported."""
    last = _last_import(stored)
    return any((event.seq or 0) > last and isinstance(event.fact, CONVERSATION) for event in stored)


def _last_import(stored: Sequence[Event]) -> int:
    return max((event.seq or 0 for event in _imports(stored)), default=0)


def _is_import(fact: Fact) -> bool:
    return isinstance(fact, SessionEnd) and bool(fact.program)


def _added(
    stored: Sequence[Event], log: Sequence[Event], here: Sequence[_Step], there: Sequence[_Step], shared: int
) -> Iterator[Event]:
    """The file's new events; where they are not all at the end, the session is first rewound to before them."""
    last_here = here[shared - 1].seq if shared else 0
    last_there = there[shared - 1].seq if shared else 0
    if shared < len(here):
        again = sum(isinstance(step.event.fact, Message) for step in here[shared:])
        history = tuple(_history(there[:shared]))
        compacted = sum(isinstance(step.event.fact, CompactionComplete) for step in here[shared:])
        back = Rewind(
            to_seq=last_there, history=history, by=BY_IMPORT, messages_again=again, compactions_again=compacted
        )
        yield there[shared].event.but(fact=back, seq=0)
    # Reports about the last shared message that came after the import.
    reported = Counter(event.type for event in stored if (event.seq or 0) > last_here and _is_report(event.fact))
    if shared < len(here):  # a task begins again
        del reported[DelegationStart.TYPE]
    for event in log:
        if (event.seq or 0) <= last_there or not (_is_report(event.fact) or isinstance(event.fact, CONVERSATION)):
            continue
        if (event.seq or 0) < there[shared].seq and reported[event.type]:
            reported[event.type] -= 1
            continue
        yield event


def _is_report(fact: Fact) -> bool:
    return isinstance(fact, UsageInfo | DelegationStart | DelegationEnd) or _is_note(fact)


def _history(steps: Sequence[_Step]) -> list[Ref]:
    """The messages that a model would get after these steps."""
    refs: list[Ref] = []
    for step in steps:
        match fact := step.event.fact:
            case Message():
                refs += [] if fact.agent else [(step.seq, 0)]
            case CompactionComplete():
                gone = set(fact.replaced)
                place = next((number for number, ref in enumerate(refs) if ref in gone), len(refs))
                new = [(step.seq, number) for number in range(len(fact.replacement))]
                refs = [*refs[:place], *new, *(ref for ref in refs[place:] if ref not in gone)]
            case Rewind():
                refs = list(fact.history)
            case _:
                pass
    return refs


def _pinned(
    stored: Sequence[Event], log: Sequence[Event], here: Sequence[_Step], there: Sequence[_Step]
) -> tuple[Event, ...]:
    """The pins of messages that are read again, for the same ones of the file."""
    pins: set[Ref] = set()
    for fact in (event.fact for event in stored if isinstance(event.fact, Pin)):
        pins = pins | {*fact.messages} if fact.pinned else pins - {*fact.messages}
    wanted = {_name(step) for step in here if (step.seq, 0) in pins}
    found = tuple((step.seq, 0) for step in there if wanted and _name(step) in wanted and _name(step)[1])
    return (log[-1].but(fact=Pin(messages=found), seq=0),) if found else ()


def _name(step: _Step) -> tuple[str, str]:
    """Who said it, and the file's id for it."""
    fact = step.event.fact
    return (str(fact.message.get("kind")), step.key[1]) if isinstance(fact, Message) else ("", "")


def _renamed(stored: Sequence[Event], log: Sequence[Event]) -> tuple[Event, ...]:
    """The file's new title, unless the session has one of the user's own here."""
    named = next((event for event in log if isinstance(event.fact, SessionRename)), None)
    titles = [event.fact.title for event in stored if isinstance(event.fact, SessionRename)]
    before = _imported_title(stored)
    if named is None or not isinstance(named.fact, SessionRename) or named.fact.title == before:
        return ()
    return (named.but(timestamp=log[-1].timestamp),) if (titles[-1] if titles else "") == before else ()


def _imported_title(stored: Sequence[Event]) -> str:
    """The last one that came from the file: at its start, or right before an import's end."""
    title = ""
    for event, following in zip(stored, [*stored[1:], None], strict=True):
        if isinstance(event.fact, SessionRename):
            comes_from_file = (event.seq or 0) <= 2 or (following is not None and _is_import(following.fact))
            title = event.fact.title if comes_from_file else title
    return title


def _numbered(
    stored: Sequence[Event],
    events: Sequence[Event],
    here: Sequence[_Step] = (),
    there: Sequence[_Step] = (),
    shared: int = 0,
) -> tuple[Event, ...]:
    """The events behind the stored ones; what they refer to is meant as it is stored here."""
    seqs = {theirs.seq: mine.seq for mine, theirs in zip(here[:shared], there[:shared], strict=True)}
    return renumbered(events, stored[-1].seq or 0, stored[-1].session_id, seqs)
