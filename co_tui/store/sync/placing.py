"""Store the log of a session from elsewhere: new, continued, or as a fork where both sides went on.

A fork is stored before anything is replaced, so that what was cut off is completed by doing it again.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeAlias

from co_tui.events import Event
from co_tui.events.decisions import Source, without_decisions
from co_tui.paths import Paths
from co_tui.store.port import Reading, Store
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import Deletion
from co_tui.store.sync.branches import (
    branch_id,
    forked,
    has_conversation,
    is_refused_by_import,
    is_same,
    merged,
    shared_seq,
)
from co_tui.store.sync.deleted_words import deleted_upto, tips_of

Claim: TypeAlias = Callable[[str], AbstractContextManager[object]]
"""The right to write a session. Raises `SessionBusy`."""
Carry: TypeAlias = Callable[[str, str], None]
"""Copies the files of a session to a fork of it."""


class OtherSession(StoreError):
    """A deletion is about another session than the one here with its ID."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"A deletion of session {session_id} is ignored: it is about another session with this ID.")


class Outcome(Enum):
    """What becomes of a log from elsewhere."""

    NEW = "new"
    KNOWN = "known"
    """All of it is here."""
    CONTINUED = "continued"
    """The rest of it was added to what was here."""
    REBASED = "rebased"
    """One side only renamed, pinned or opened the session: that follows what the other said."""
    FORKED = "forked"
    """Both sides went on: one of them is a session of its own now."""
    DELETED = "deleted"
    """The session was deleted, and nothing was said in it since."""


class Placed(NamedTuple):
    """Where a log from elsewhere is stored."""

    outcome: Outcome
    session_id: str
    """Where what it says is."""
    added: tuple[Event, ...] = ()
    """What a session that was here did not have."""
    fork_id: str = ""
    """The fork that was made, of this log or of what was here."""
    fork_of: str = ""


class Plan(NamedTuple):
    """What is to be done, and what comes of it."""

    placed: Placed
    log: tuple[Event, ...] = ()
    """A whole log to store."""
    shared: int = 0
    tail: tuple[Event, ...] = ()
    """What follows the shared events in the session from now on."""
    fork: tuple[Event, ...] = ()
    """The whole log of the fork that the session here becomes, before its tail is replaced."""


def place(
    store: Store,
    log: Sequence[Event],
    *,
    keeps_id: bool | None = None,
    revives: bool = False,
    claim: Claim | None = None,
    carry: Carry | None = None,
) -> Placed:
    """Store what is not stored yet of a whole log.

    Where both sides went on, the log keeps the session's id with `keeps_id`; with False, the one here does. With None,
    the branch that is not known as a fork anywhere, or else the one that began first: the same on all machines.
    `revives` stores a session that was deleted. Raises `SessionBusy` for one that is open, and changes nothing then.
    """
    claim = claim or store.claim

    def plan() -> Plan:
        with store.reading() as reading:
            return planned(reading, log, keeps_id=keeps_id, revives=revives)

    # Below, only what is the same everywhere decides, or else what is here.
    place_fork = partial(place, store, keeps_id=None if keeps_id is None else False, claim=claim, carry=carry)
    first = plan()
    if not first.tail:
        return _performed(store, log, first, place_fork, carry)
    with claim(log[0].session_id):
        return _performed(store, log, plan(), place_fork, carry)


def _performed(
    store: Store, log: Sequence[Event], plan: Plan, place_fork: Callable[[Sequence[Event]], Placed], carry: Carry | None
) -> Placed:
    placed, writing = plan.placed, store.writing()
    if plan.log and plan.log[0].session_id != log[0].session_id:
        return _as_fork(log, place_fork(plan.log))
    if plan.log:
        writing.import_log(plan.log, keeps_age=True, keeps_trash=True).result()
    if plan.fork:
        placed = placed._replace(fork_id=place_fork(plan.fork).session_id)
        _carry_all(store, placed.session_id, placed.fork_id, carry)
    if placed.outcome is Outcome.CONTINUED and plan.tail:
        writing.import_log(plan.tail, keeps_age=True, keeps_trash=True).result()
    elif plan.tail:
        writing.replace_tail(placed.session_id, plan.shared, plan.tail).result()
    return placed


def planned(reading: Reading, log: Sequence[Event], *, keeps_id: bool | None = None, revives: bool = False) -> Plan:
    """What `place` would do; writes nothing."""
    session_id = log[0].session_id
    here = reading.last_events(session_id, 1)
    if not here:
        return _absent(reading, log, revives=revives)
    if is_known(reading, log):
        return Plan(Placed(Outcome.KNOWN, session_id))
    end = here[0].seq or 0
    if end < len(log) and is_known(reading, log[:end]):
        return _continued(session_id, end, tuple(log[end:]))
    return _merged(reading, list(reading.events(session_id)), log, keeps_id)


def carry_files(paths: Paths) -> Carry:
    """Copies what is kept in the folders of a session to those of its fork."""

    def carry(source: str, target: str) -> None:
        for folder in (paths.session, paths.snapshots):
            with suppress(OSError, shutil.Error):  # without them, it can still be continued
                shutil.copytree(folder(source), folder(target), symlinks=True, dirs_exist_ok=True)

    return carry


def _carry_all(store: Store, source: str, target: str, carry: Carry | None) -> None:
    """Copy the files of a session to its fork, and the reply that it was about to get."""
    with store.reading() as reading:
        pieces = reading.partial_reply(source)
        ends = [(last.type, last.timestamp) for each in (source, target) for last in reading.last_events(each, 1)]
    if len(ends) < 2:
        return  # the fork was deleted
    if ends[0] == ends[1]:
        for number, piece in enumerate(pieces):
            store.writing().save_reply(target, number, piece).result()
    if carry is not None:
        carry(source, target)


def _continued(session_id: str, end: int, tail: tuple[Event, ...]) -> Plan:
    if all(map(is_refused_by_import, tail)):
        return Plan(Placed(Outcome.KNOWN, session_id))
    return Plan(Placed(Outcome.CONTINUED, session_id, tail), shared=end, tail=tail)


def is_known(reading: Reading, log: Sequence[Event]) -> bool:
    """Whether the end of a log, from its last message on, is here at its place: then all that was said before is, too.

    Names and pins alone say nothing: they are moved behind what was said.
    """
    said = max((number for number, event in enumerate(log) if has_conversation([event])), default=0)
    end = log[said:]
    here = list(reading.events(end[0].session_id, (end[0].seq or 1) - 1, end[-1].seq))
    return len(here) == len(end) and all(map(is_same, here, end))


def delete_elsewhere(
    store: Store,
    deletion: Deletion,
    *,
    claim: Claim | None = None,
    carry: Carry | None = None,
    shared: int | None = None,
) -> str:
    """Do here what was decided elsewhere about a session, unless a later decision is known.

    What was said here since is stored as a fork, whose id is returned. `shared` is the last event that is known to be
    the same elsewhere, for a decision that does not say what it is about. Raises `SessionBusy` for a session that is
    open, and `OtherSession` for a decision about another one; nothing is changed then.
    """
    session_id = deletion.session_id
    with store.reading() as reading:
        known = reading.deletion(session_id)
        is_here = bool(reading.last_events(session_id, 1))
    if known is not None and known.age >= deletion.age:
        return ""
    if not (deletion.is_deleted and is_here):
        store.writing().record_deletion(deletion).result()
        return ""
    claim = claim or store.claim
    with claim(session_id):
        with store.reading() as reading:
            log = list(reading.events(session_id))
            upto = deleted_upto(deletion, tips_of(log))
            if upto is None:
                raise OtherSession(session_id)
            if not deletion.said and shared is not None:
                upto = min(upto, shared)
            fork = _fork_of(reading, log, upto)
        fork_id = ""
        if fork:
            fork_id = place(store, fork, keeps_id=False, claim=claim, carry=carry).session_id
            _carry_all(store, session_id, fork_id, carry)
        store.delete(session_id, deletion)
    return fork_id


def _absent(reading: Reading, log: Sequence[Event], *, revives: bool) -> Plan:
    deletion = reading.deletion(log[0].session_id)
    if revives or deletion is None or not deletion.is_deleted:
        return Plan(Placed(Outcome.NEW, log[0].session_id), log=tuple(log))
    upto = deleted_upto(deletion, tips_of(log))
    if upto is None:
        return Plan(Placed(Outcome.NEW, log[0].session_id), log=tuple(log))
    if not has_conversation(log[upto:]):
        return Plan(Placed(Outcome.DELETED, log[0].session_id))
    return _theirs_forked(reading, log, upto, None)


def _merged(reading: Reading, mine: Sequence[Event], theirs: Sequence[Event], keeps_id: bool | None) -> Plan:
    session_id, shared = theirs[0].session_id, shared_seq(mine, theirs)
    one = merged(mine[shared:], theirs[shared:], shared, keeps_id=keeps_id)
    if one is not None:
        is_changed = bool(one.added) or len(one.tail) < len(mine) - shared or not _starts(one.tail, mine[shared:])
        placed = Placed(Outcome.REBASED if is_changed else Outcome.KNOWN, session_id, one.added)
        return Plan(placed, shared=shared, tail=one.tail if is_changed else ())
    if keeps_id is None:
        keeps_id = _rank(reading, theirs[shared]) < _rank(reading, mine[shared])
    if not keeps_id:
        return _theirs_forked(reading, theirs, shared, keeps_id)
    fork, tail = _fork_of(reading, mine, shared), tuple(theirs[shared:])
    placed = Placed(Outcome.FORKED, session_id, tail, fork[0].session_id, session_id)
    return Plan(placed, shared=shared, tail=tail, fork=fork)


def _starts(tail: Sequence[Event], mine: Sequence[Event]) -> bool:
    return all(map(is_same, tail, mine))


def _rank(reading: Reading, first: Event) -> tuple[bool, str, str]:
    """The lowest keeps the id. A branch that is a fork somewhere has lost it there."""
    fork = branch_id(first.session_id, first)
    has_lost = bool(reading.last_events(fork, 1)) or reading.deletion(fork) is not None
    return has_lost, first.timestamp, first.type


def _theirs_forked(reading: Reading, theirs: Sequence[Event], shared: int, keeps_id: bool | None) -> Plan:
    """The log from elsewhere becomes a fork, which may be here already."""
    fork = tuple(without_decisions(forked(theirs, shared), Source.OWN))
    placed = _as_fork(theirs, planned(reading, fork, keeps_id=keeps_id).placed)
    return Plan(placed, log=() if placed.outcome in (Outcome.KNOWN, Outcome.DELETED) else fork)


def _as_fork(log: Sequence[Event], placed: Placed) -> Placed:
    """What became of a log, given what became of its fork."""
    if placed.outcome is Outcome.NEW:
        return Placed(Outcome.FORKED, placed.session_id, (), placed.session_id, log[0].session_id)
    return placed


def _fork_of(reading: Reading, mine: Sequence[Event], shared: int) -> tuple[Event, ...]:
    """What was said here after a seq, as a fork; empty if nothing was. Its marks do not count under another id."""
    if not has_conversation(mine[shared:]):
        return ()
    fork = forked(mine, shared)
    is_from_elsewhere = reading.is_from_elsewhere(mine[0].session_id)
    return tuple(without_decisions(fork, Source.OWN)) if is_from_elsewhere else fork
