"""Compare two copies of a session's log, and make one log or two of them.

Logs only grow, and times are exact: an event is the same in two copies if its seq, type and time are. Everything here
is a pure function of the logs, so that all machines make the same of the same copies.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

from co_tui.events import (
    ApprovalDecided,
    Clear,
    CompactionComplete,
    CompactionUndone,
    Event,
    Fact,
    Message,
    Pin,
    Ref,
    Rewind,
    SessionFork,
    SessionRename,
    SessionResume,
    SessionStart,
)
from co_tui.events.decisions import BY_BORDER
from co_tui.events.facts import BY_TYPE
from co_tui.inert import one_line
from co_tui.store.session_counts import SessionCounters
from co_tui.store.session_ids import stable_id

REWRITES: Final = (CompactionComplete, CompactionUndone, Clear, Rewind)
CONVERSATION: Final = (Message, *REWRITES)
"""What changes the history. All else (names, pins, the trash, being opened) leaves a conversation as it is."""
SEQ_FIELDS: Final = frozenset(
    name
    for kind in BY_TYPE.values()
    for name, hint in kind.FIELDS.items()
    if hint == tuple[Ref, ...] or name in ("to_seq", "compaction_seq")
)
"""The fields of facts that refer to other events of the log."""
FORKS: Final = "co-tui"
"""What the ids of forks begin with that were made where a session was continued twice."""
HOST_CHARS: Final = 60
UNKNOWN_HOST: Final = "another machine"


class Merged(NamedTuple):
    """One log of two copies."""

    tail: tuple[Event, ...]
    """All events after the shared ones."""
    added: tuple[Event, ...]
    """Those of them that only the other copy had."""


def is_same(mine: Event, theirs: Event) -> bool:
    """Whether two copies have the same event at the same place."""
    return mine.seq == theirs.seq and _key(mine) == _key(theirs)


def shared_seq(mine: Sequence[Event], theirs: Sequence[Event]) -> int:
    """The last seq up to which two logs that begin with the same one are equal; that before the first for none."""
    shared = sum(1 for _ in takewhile(lambda pair: is_same(*pair), zip(mine, theirs, strict=False)))
    first = (*mine[:1], *theirs[:1])
    return (first[0].seq or 1) - 1 + shared if first else 0


def has_conversation(events: Iterable[Event]) -> bool:
    return any(isinstance(event.fact, CONVERSATION) for event in events)


def branch_id(session_id: str, first: Event) -> str:
    """The id of the fork that a branch of a session becomes; `first` is its first event that others do not have."""
    return stable_id(FORKS, session_id, f"{first.seq} {first.type} {first.timestamp}")


def forked(log: Sequence[Event], shared: int) -> tuple[Event, ...]:
    """The log of the fork that a branch becomes, given its whole log and the last seq that it shares.

    When the branch grows, its fork grows by the same. Of a log whose start is lost, the rest becomes the fork.
    """
    before, tail = log[:shared], log[shared:]
    source, first = tail[0].session_id, tail[0]
    fork = branch_id(source, first)
    lost = dict.fromkeys(range(shared + 1, first.seq or 0), 0)
    facts: tuple[Fact, ...] = (
        SessionFork(source_session_id=source, source_seq=shared),
        SessionRename(title=f"{_title(before) or _title(_begun(tail))} (from {_host((*before, first))})".strip()),
    )
    return (
        *(event.but(session_id=fork) for event in before),
        *(
            Event(session_id=fork, seq=shared + number, timestamp=first.timestamp, fact=fact)
            for number, fact in enumerate(facts, 1)
        ),
        *renumbered(tail, shared + len(facts), fork, lost),
    )


def missing(mine: Iterable[Event], theirs: Iterable[Event]) -> tuple[Event, ...]:
    """What only the first of two tails has, at any place; without the refusals that an import adds."""
    known = _places(theirs)
    return tuple(event for event in mine if not (_taken(known, event) or is_refused_by_import(event)))


def rebased(mine_tail: Sequence[Event], theirs_tail: Sequence[Event], last_seq_of_theirs: int) -> tuple[Event, ...]:
    """What only the first of two tails has, numbered to follow the second."""
    known, seqs = _places(theirs_tail), dict[int, int]()
    for event in mine_tail:
        if place := _taken(known, event):
            seqs[event.seq or 0] = place
    session_id = mine_tail[0].session_id if mine_tail else ""
    rest = missing(mine_tail, theirs_tail)
    if any(isinstance(event.fact, REWRITES) for event in theirs_tail):
        rest = tuple(map(_without_history, rest))
    return renumbered(rest, last_seq_of_theirs, session_id, seqs)


def _without_history(event: Event) -> Event:
    """A message that a pin brought back stays out of a history that was rewritten elsewhere; the pin holds."""
    return event.but(fact=event.fact.but(history=())) if isinstance(event.fact, Pin) else event


def merged(
    mine_tail: Sequence[Event], theirs_tail: Sequence[Event], shared: int, *, keeps_id: bool | None
) -> Merged | None:
    """One tail with all of both, where at most one has conversation that the other has not; None where both have.

    With `keeps_id` theirs stay as they are, and what only mine has follows; with False the other way around. With None,
    it is the same on all machines that have these two.
    """
    mine, theirs = missing(mine_tail, theirs_tail), missing(theirs_tail, mine_tail)
    if has_conversation(mine) and has_conversation(theirs):
        return None
    if keeps_id is None:
        keeps_id = not mine or (bool(theirs) and _comes_first(theirs_tail, theirs, mine_tail, mine))
    first, second = (theirs_tail, mine_tail) if keeps_id else (mine_tail, theirs_tail)
    rest = rebased(second, first, (first[-1].seq or 0) if first else shared)
    return Merged((*first, *rest), theirs)


def is_first(mine: Event, theirs: Event) -> bool:
    """Which of two branches keeps the id where nothing else decides: the one that began first."""
    return (mine.timestamp, mine.type) < (theirs.timestamp, theirs.type)


def renumbered(events: Sequence[Event], after: int, session_id: str, seqs: Mapping[int, int]) -> tuple[Event, ...]:
    """The events with the seqs from just after one, and all references to the events of `seqs` or to each other."""
    moved = dict(seqs)
    moved |= {event.seq: after + number for number, event in enumerate(events, 1) if event.seq}
    return tuple(
        event.but(session_id=session_id, seq=after + number, fact=_moved(event.fact, moved))
        for number, event in enumerate(events, 1)
    )


def _moved(fact: Fact, seqs: Mapping[int, int]) -> Fact:
    if all(old == new for old, new in seqs.items()):
        return fact
    changes = {name: _moved_value(getattr(fact, name), seqs) for name in fact.FIELDS.keys() & SEQ_FIELDS}
    return fact.but(**changes) if changes else fact


def _moved_value(value: Any, seqs: Mapping[int, int]) -> Any:
    """A seq or references to messages; what else has such a name stays."""
    if isinstance(value, int):
        return seqs.get(value, value)
    refs = isinstance(value, tuple) and all(isinstance(each, tuple) for each in value)
    return tuple((seqs.get(seq, seq), number) for seq, number in value) if refs else value


def _key(event: Event) -> tuple[str, str]:
    return event.type, event.timestamp


def _places(events: Iterable[Event]) -> dict[tuple[str, str], deque[int]]:
    """The seqs of all events, by what makes them the same at any place."""
    places: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
    for event in events:
        places[_key(event)].append(event.seq or 0)
    return places


def _taken(places: dict[tuple[str, str], deque[int]], event: Event) -> int:
    """Take the next place of an event; 0 when there is none left."""
    left = places.get(_key(event))
    return left.popleft() if left else 0


def is_refused_by_import(event: Event) -> bool:
    """Whether an import added it, since the log left a question open."""
    return isinstance(event.fact, ApprovalDecided) and event.fact.by == BY_BORDER


def _comes_first(
    theirs_tail: Sequence[Event], theirs: Sequence[Event], mine_tail: Sequence[Event], mine: Sequence[Event]
) -> bool:
    """Conversation stays where it is; without any, the tail that began first does."""
    said = has_conversation(theirs), has_conversation(mine)
    return said[0] if said[0] != said[1] else is_first(theirs_tail[0], mine_tail[0])


def _title(log: Iterable[Event]) -> str:
    counters = SessionCounters()
    for event in log:
        counters.count(event)
    return counters.title


def _begun(log: Iterable[Event]) -> Iterator[Event]:
    """Up to its first words: what follows would give a fork another name when it grows."""
    for event in log:
        yield event
        if has_conversation([event]):
            return


def _host(log: Iterable[Event]) -> str:
    """The machine that a session was last opened on."""
    opened = [event.fact for event in log if isinstance(event.fact, SessionStart | SessionResume | SessionFork)]
    hosts = (one_line(fact.host, HOST_CHARS) for fact in reversed(opened))
    return next(filter(None, hosts), UNKNOWN_HOST)
