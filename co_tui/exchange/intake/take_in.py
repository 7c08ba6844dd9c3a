"""Store a session of a file: new, continued where it grew, or as a fork where both sides went on."""

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import partial
from typing import Final, NamedTuple

from co_tui.events import Event, SessionFork, SessionRename, SessionTrashed
from co_tui.events.decisions import without_decisions
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused, stable_id
from co_tui.exchange.importers.programs.co_tui_log import NAME as CO_TUI
from co_tui.exchange.intake.growth import CONVERSATION, Change, Growth, foreign_growth
from co_tui.exchange.intake.own_growth import event_identity, own_growth
from co_tui.store.port import Reading, Store
from co_tui.store.store_errors import SessionBusy
from co_tui.store.stored_values import ImportOutcome

MAX_FORKS: Final = 8
"""Of one session of a file."""
MAX_FORK_PLACES: Final = 300
"""Where a fork is looked for when its original is gone: at so many of the file's last events."""


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
    rewrites: int = 0
    """Compactions, rewinds and the like among what was appended."""
    added_events: int = 0
    """All that was appended."""
    renamed: str = ""
    """The title that the file gave a stored session."""
    trashed: bool = False
    """What was appended moves it to the trash."""
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
        raise _open_elsewhere(plan) from None
    return plan.taken


def take_in_exactly(store: Store, log: Sequence[Event]) -> TakenIn:
    """Store what is not stored yet of a log of ours, as it is: what it allows, its pin and its place in the trash hold.

    It may begin with the last event that is stored. Only for the user's own logs. Raises `ImportRefused` with a
    sentence.
    """
    with store.reading() as reading:
        plan = _planned_exactly(reading, log)
    try:
        _store(store, _session_of(log), plan, as_it_was=True)
    except SessionBusy:
        raise _open_elsewhere(plan) from None
    return plan.taken


def look_up_exactly(reading: Reading, log: Sequence[Event]) -> TakenIn:
    """What `take_in_exactly` would do; writes nothing."""
    return _planned_exactly(reading, log).taken


def look_up(reading: Reading, session: ImportedSession) -> TakenIn:
    """What `take_in` would do; writes nothing."""
    return _planned(reading, session).taken


def is_stored(reading: Reading, event: Event) -> bool:
    """Whether this event is at its place in the stored log, with what it decides or without.

    Logs only grow, and times are exact: then all before it is there, too.
    """
    seq = event.seq or 0
    stored = reading.events(event.session_id, after=seq - 1, upto=seq)
    return list(without_decisions([event])) == list(without_decisions(stored))


def _open_elsewhere(plan: _Plan) -> ImportRefused:
    return ImportRefused(f"Session {plan.taken.session_id} has grown, but is open. Close it, then try again.")


def _session_of(log: Sequence[Event]) -> ImportedSession:
    return ImportedSession(source=CO_TUI, session_id=log[0].session_id, title="", messages=[], log=tuple(log))


def _planned_exactly(reading: Reading, log: Sequence[Event]) -> _Plan:
    session_id = log[0].session_id
    stored = reading.last_events(session_id, 1)
    if not stored:
        return _Plan(TakenIn(Outcome.NEW, session_id))
    seq = min(stored[0].seq or 0, log[-1].seq or 0)
    same = next((event for event in log if event.seq == seq), None)
    if same is not None and is_stored(reading, same):
        tail = tuple(event for event in log if (event.seq or 0) > seq)
        growth = Growth(Change.GREW if tail else Change.NONE, tail, seq)
        trash = [event.fact.trashed for event in tail if isinstance(event.fact, SessionTrashed)]
        return _Plan(_taken(session_id, growth)._replace(trashed=trash[-1:] == [True]), growth)
    if log[0].seq != 1:
        raise ImportRefused(f"Session {session_id} changed meanwhile. Try again.")
    plan = _planned_own(reading, _session_of(log))
    return plan._replace(taken=plan.taken._replace(restored=False))


def _outcome(growth: Growth) -> Outcome:
    return Outcome.CONTINUED if growth.change is Change.GREW else Outcome.KNOWN


def _planned(reading: Reading, session: ImportedSession) -> _Plan:
    return (_planned_own if session.source == CO_TUI else _planned_foreign)(reading, session)


def _planned_foreign(reading: Reading, session: ImportedSession) -> _Plan:
    """By its own id, then by those of its forks, which are numbered."""
    grown: _Plan | None = None
    diverged: Growth | None = None
    free = ""
    for session_id in (session.session_id, *_fork_ids(session.source, session.session_id)):
        if not _exists(reading, session_id):
            free = free or session_id
            continue
        growth = _growth(reading, session_id, session)
        if growth.change is Change.NONE:
            return _plan_for(reading, session_id, growth)
        if growth.change is Change.GREW:
            grown = grown or _plan_for(reading, session_id, growth)
        else:
            diverged = diverged or growth
    if grown is not None:
        return grown
    return _Plan(TakenIn(Outcome.NEW, session.session_id)) if diverged is None else _forked(session, free, diverged)


def _fork_ids(source: str, session_id: str) -> list[str]:
    return [stable_id(source, session_id, f"fork {number}") for number in range(1, MAX_FORKS + 1)]


def _planned_own(reading: Reading, session: ImportedSession) -> _Plan:
    """Forks have the ids of what they differ by: two machines fork each other's, and must not meet in one id."""
    for original in _originals(session):
        if _exists(reading, original) and not _growth(reading, original, session).adds_to_history:
            return _plan_for(reading, original, Growth(Change.NONE))
    session_id, diverged = session.session_id, Growth(Change.NONE)
    tried: set[str] = set()
    while _exists(reading, session_id) and session_id not in tried and len(tried) <= MAX_FORKS:
        tried.add(session_id)
        growth = _growth(reading, session_id, session)
        if growth.change is not Change.DIVERGED:
            return _plan_for(reading, session_id, growth)
        session_id, diverged = stable_id(CO_TUI, session.session_id, growth.differs_by), growth
    if tried:
        return _forked(session, "" if session_id in tried or len(tried) > MAX_FORKS else session_id, diverged)
    return _fork_without_original(reading, session) or _Plan(TakenIn(Outcome.NEW, session_id))


def _originals(session: ImportedSession) -> Iterator[str]:
    """What the session was forked from by an import: that fork may come back to where all of it is from."""
    for event in session.log:
        if isinstance(event.fact, SessionFork):
            source, own = event.fact.source_session_id, session.session_id
            if own.startswith(f"{CO_TUI}-") or own in _fork_ids(own.rpartition("-")[0], source):
                yield source


def _fork_without_original(reading: Reading, session: ImportedSession) -> _Plan | None:
    """The fork that is left of a session whose original was deleted."""
    events = [event for event in session.log if isinstance(event.fact, CONVERSATION)]
    for event in events[-MAX_FORK_PLACES:]:
        fork = stable_id(CO_TUI, session.session_id, event_identity(event))
        if _exists(reading, fork) and (growth := _growth(reading, fork, session)).change is not Change.DIVERGED:
            return _plan_for(reading, fork, growth)
    return None


def _forked(session: ImportedSession, free_id: str, diverged: Growth) -> _Plan:
    if not free_id:
        raise ImportRefused(f"Session {session.session_id} has {MAX_FORKS} forks here already. Delete one.")
    return _Plan(TakenIn(Outcome.FORKED, free_id, fork_of=session.session_id), diverged)


def _exists(reading: Reading, session_id: str) -> bool:
    return bool(reading.last_events(session_id, 1))


def _growth(reading: Reading, session_id: str, session: ImportedSession) -> Growth:
    stored = list(reading.events(session_id))
    return (own_growth if session.source == CO_TUI else foreign_growth)(stored, session.log)


def _plan_for(reading: Reading, session_id: str, growth: Growth) -> _Plan:
    restored = bool(reading.session(session_id).trashed)
    return _Plan(_taken(session_id, growth)._replace(restored=restored), growth)


def _taken(session_id: str, growth: Growth) -> TakenIn:
    titles = [event.fact.title for event in growth.tail if isinstance(event.fact, SessionRename)]
    changes = sum(isinstance(event.fact, CONVERSATION) for event in growth.tail)
    return TakenIn(
        _outcome(growth),
        session_id,
        added=growth.messages,
        rewrites=changes - growth.messages,
        added_events=len(growth.tail),
        renamed="".join(titles[-1:]),
    )


def _store(store: Store, session: ImportedSession, plan: _Plan, *, as_it_was: bool = False) -> None:
    # A session of ours that moves here is as old as it is; what others kept comes in new.
    bring = partial(store.writing().import_log, keeps_age=session.source == CO_TUI, keeps_trash=as_it_was)
    taken = plan.taken
    session_id = taken.session_id
    log = [event.but(session_id=session_id) for event in session.log]
    match taken.outcome:
        case Outcome.NEW:
            bring(log).result()
        case Outcome.FORKED:
            fork = SessionFork(source_session_id=taken.fork_of, source_seq=plan.growth.shared_seq)
            log.append(log[-1].but(seq=(log[-1].seq or 0) + 1, fact=fork, extra={}))
            bring(log).result()
        case Outcome.CONTINUED:
            with store.claim(session_id):
                done = bring(plan.growth.tail).result()
            assert done is ImportOutcome.CONTINUED
        case Outcome.KNOWN if taken.restored:
            with store.claim(session_id):
                bring(log).result()
        case Outcome.KNOWN:
            pass
