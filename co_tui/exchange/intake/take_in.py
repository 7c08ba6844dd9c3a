"""Store a session of a file: new, continued where it grew, or as a fork where both sides went on."""

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from co_tui.events import SessionFork
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused, stable_id
from co_tui.exchange.importers.programs.co_tui_log import NAME as CO_TUI
from co_tui.exchange.intake.growth import Change, Growth, foreign_growth
from co_tui.exchange.intake.own_growth import own_growth
from co_tui.store.port import Reading, Store
from co_tui.store.store_errors import SessionBusy
from co_tui.store.stored_values import ImportOutcome

MAX_FORKS: Final = 8
"""Of one session of a file."""


class Outcome(Enum):
    """What becomes of a session of a file."""

    NEW = "new"
    KNOWN = "known"
    CONTINUED = "continued"
    FORKED = "forked"


class TakenIn(NamedTuple):
    """Where a session of a file is stored, and what that took."""

    outcome: Outcome
    session_id: str
    added: int = 0
    """Messages that were appended to a stored session."""
    restored: bool = False
    """It was in the trash."""
    fork_of: str = ""


class _Plan(NamedTuple):
    taken: TakenIn
    growth: Growth = Growth(Change.NONE)


def take_in(store: Store, session: ImportedSession) -> TakenIn:
    """Store what is not stored yet. Raises `ImportRefused` with a sentence."""
    with store.reading() as reading:
        plan = _planned(reading, session)
    try:
        _store(store, session, plan)
    except SessionBusy:
        raise ImportRefused(
            f"Session {plan.taken.session_id} has grown, but is open. Close it, then import it again."
        ) from None
    return plan.taken


def look_up(reading: Reading, session: ImportedSession) -> TakenIn:
    """What `take_in` would do; writes nothing."""
    return _planned(reading, session).taken


def _planned(reading: Reading, session: ImportedSession) -> _Plan:
    grown: _Plan | None = None
    diverged = Growth(Change.NONE)
    is_here, free = False, ""
    for session_id in _ids(session):
        if not reading.last_events(session_id, 1):
            free = free or session_id
            continue
        is_here = True
        growth = _growth(reading, session_id, session)
        if growth.change is Change.DIVERGED:
            diverged = growth
            continue
        plan = _plan_for(reading, session_id, growth)
        if growth.change is Change.NONE:
            return plan
        grown = grown or plan
    if grown is not None:
        return grown
    if not is_here:
        return _Plan(TakenIn(Outcome.NEW, session.session_id))
    if not free:
        raise ImportRefused(f"Session {session.session_id} has {MAX_FORKS} forks here already. Delete one.")
    return _Plan(TakenIn(Outcome.FORKED, free, fork_of=session.session_id), diverged)


def _ids(session: ImportedSession) -> Iterator[str]:
    """Under which it may be stored: its own, then those of its forks."""
    yield session.session_id
    for number in range(1, MAX_FORKS + 1):
        yield stable_id(session.source, session.session_id, f"fork {number}")


def _growth(reading: Reading, session_id: str, session: ImportedSession) -> Growth:
    stored = list(reading.events(session_id))
    return (own_growth if session.source == CO_TUI else foreign_growth)(stored, session.log)


def _plan_for(reading: Reading, session_id: str, growth: Growth) -> _Plan:
    restored = bool(reading.session(session_id).trashed)
    outcome = Outcome.CONTINUED if growth.change is Change.GREW else Outcome.KNOWN
    return _Plan(TakenIn(outcome, session_id, growth.messages, restored), growth)


def _store(store: Store, session: ImportedSession, plan: _Plan) -> None:
    # A session of ours that moves here is as old as it is; what others kept comes in new.
    keeps_age = session.source == CO_TUI
    outcome, session_id, _, restored, fork_of = plan.taken
    log = [event.but(session_id=session_id) for event in session.log]
    match outcome:
        case Outcome.NEW:
            store.writing().import_log(log, keeps_age=keeps_age).result()
        case Outcome.FORKED:
            fork = SessionFork(source_session_id=fork_of, source_seq=plan.growth.shared_seq)
            log.append(log[-1].but(seq=(log[-1].seq or 0) + 1, fact=fork, extra={}))
            store.writing().import_log(log, keeps_age=keeps_age).result()
        case Outcome.CONTINUED:
            with store.claim(session_id):
                done = store.writing().import_log(plan.growth.tail, keeps_age=keeps_age).result()
            assert done is ImportOutcome.CONTINUED
        case Outcome.KNOWN if restored:
            with store.claim(session_id):
                store.writing().import_log(log, keeps_age=keeps_age).result()
        case Outcome.KNOWN:
            pass
