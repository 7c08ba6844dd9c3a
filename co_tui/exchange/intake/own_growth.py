"""Compare a stored session with a log of it that has been elsewhere."""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from co_tui.agent.redact import HIDDEN
from co_tui.events import ApprovalDecided, Event
from co_tui.events.decisions import BY_BORDER, undecided
from co_tui.events.event import payload_of
from co_tui.events.storable import dump
from co_tui.exchange.importers.message_identity import fingerprint
from co_tui.exchange.intake.growth import CONVERSATION, SEQ_FIELDS, Change, Growth, renumbered

_ANY: Final = ""
"""The content of an event in which a key is hidden: it cannot be compared."""


class _Key(NamedTuple):
    """What makes an event the same in two logs; its seq may differ."""

    timestamp: str
    type: str
    content: str


def own_growth(stored: Sequence[Event], log: Sequence[Event]) -> Growth:
    """What was added elsewhere: an exact tail when nothing was added here."""
    here, there = ([event for event in events if isinstance(event.fact, CONVERSATION)] for events in (stored, log))
    pairs = list(takewhile(lambda pair: _is_same(*pair), zip(here, there, strict=False)))
    shared = len(pairs)
    last = (here[shared - 1].seq or 0) if shared else 0
    if shared == len(there) < len(here):
        return Growth(Change.NONE)
    if shared < len(here):
        return Growth(Change.DIVERGED, shared_seq=last, differs_by=event_identity(there[shared]))
    seqs = {theirs.seq or 0: mine.seq or 0 for mine, theirs in pairs}
    added = _unknown(stored, [event for event in log if event.seq not in seqs])
    if all(_is_refused_by_import(event) for event in added):
        return Growth(Change.NONE)
    tail = renumbered(added, stored[-1].seq or 0, stored[-1].session_id, seqs)
    return Growth(Change.GREW, tail, last)


def event_identity(event: Event) -> str:
    """The same in all copies of a log."""
    return " ".join(_key(event))


def _unknown(stored: Sequence[Event], events: Sequence[Event]) -> list[Event]:
    """Those that are not stored yet; names, pins and the like may be in another order here."""
    known = Counter(_key(event) for event in stored if not isinstance(event.fact, CONVERSATION))
    times = {key[:2] for key in known}
    new: list[Event] = []
    for event in events:
        key = _key(event)
        if known[key] > 0:
            known[key] -= 1
        elif key.content or key[:2] not in times:
            new.append(event)
    return new


def _is_refused_by_import(event: Event) -> bool:
    return isinstance(event.fact, ApprovalDecided) and event.fact.by == BY_BORDER


def _is_same(mine: Event, theirs: Event) -> bool:
    here, there = _key(mine), _key(theirs)
    return here == there or (here[:2] == there[:2] and there.content == _ANY)


def _key(event: Event) -> _Key:
    payload = payload_of(event.but(fact=undecided(event.fact)))
    content = {name: value for name, value in payload.items() if name not in SEQ_FIELDS}
    return _Key(event.timestamp, event.type, _ANY if HIDDEN in dump(content) else fingerprint(content))
