"""Store a session of a file: new, continued where it grew, or as a fork where both sides went on."""

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from co_tui.events import Event, Message, SessionFork, SessionRename, SessionTrashed
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused
from co_tui.exchange.importers.programs.co_tui_log import NAME as CO_TUI
from co_tui.exchange.intake.growth import Change, Growth, Reading, foreign_growth
from co_tui.store.port import Reading as StoreReading
from co_tui.store.port import Store
from co_tui.store.session_ids import stable_id
from co_tui.store.store_errors import SessionBusy
from co_tui.store.stored_values import ImportOutcome
from co_tui.store.sync import placing
from co_tui.store.sync.branches import CONVERSATION
from co_tui.store.sync.placing import Carry, Placed, is_known, place, planned

MAX_FORKS: Final = 8
"""Of one session of another program's file."""


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
    deleted: bool = False
    """It was deleted, and stays so."""
    reading: Reading = Reading.SAME
    """What a newer reader made of one that an older one imported."""


class _Plan(NamedTuple):
    taken: TakenIn
    growth: Growth = Growth(Change.NONE)


def take_in(
    store: Store,
    session: ImportedSession,
    *,
    from_folder: bool = False,
    carry: Carry | None = None,
    again: bool = False,
) -> TakenIn:
    """Store what is not stored yet. Raises `ImportRefused` with a sentence.

    One of ours that was deleted or trashed is restored, unless it comes `from_folder`: such a folder is shared by
    machines, and what was last decided on any of them counts. `carry` copies the files of one that becomes a fork.
    With `again` a session that an older reader imported is replaced by what this one reads, unless it was continued.
    """
    with store.importing():
        if session.source == CO_TUI:
            return _take_in_own(store, session, from_folder, carry)
        with store.reading() as reading:
            plan = _planned_foreign(reading, session, again=again)
        try:
            _store_foreign(store, session, plan)
        except SessionBusy:
            raise _open_elsewhere(plan.taken.session_id) from None
        return plan.taken


def look_up(store: Store, session: ImportedSession, *, from_folder: bool = False, again: bool = False) -> TakenIn:
    """What `take_in` would do; writes nothing."""
    with store.reading() as reading:
        if session.source != CO_TUI:
            return _planned_foreign(reading, session, again=again).taken
        keeps_id = _keeps_id(store, from_folder=from_folder)
        taken = _taken(planned(reading, session.log, keeps_id=keeps_id, revives=not from_folder).placed)
        return taken if from_folder else _with_trash(reading, taken)


def import_unchanged(store: Store, log: Sequence[Event]) -> TakenIn:
    """Store what is not stored yet of a log of ours, as it is: what it allows, its pin and its place in the trash hold.

    It may be only the end of one that is stored. Only for the user's own logs. Raises `ImportRefused` with a sentence.
    """
    with store.importing():
        with store.reading() as reading:
            if known := _known_end(reading, log):
                return known
        try:
            return _taken(place(store, log, keeps_id=False, revives=True))
        except SessionBusy:
            raise _open_elsewhere(log[0].session_id) from None


def look_up_exactly(reading: StoreReading, log: Sequence[Event]) -> TakenIn:
    """What `import_unchanged` would do; writes nothing."""
    return _known_end(reading, log) or _taken(planned(reading, log, keeps_id=False, revives=True).placed)


def _known_end(reading: StoreReading, log: Sequence[Event]) -> TakenIn | None:
    """That the end of a log is stored; None for a whole log."""
    if log[0].seq == 1:
        return None
    if not is_known(reading, log):
        raise ImportRefused(f"Session {log[0].session_id} has just changed. Try again.")
    return TakenIn(Outcome.KNOWN, log[0].session_id)


def _open_elsewhere(session_id: str) -> ImportRefused:
    return ImportRefused(f"Session {session_id} has grown, but is open. Close it, then try again.")


# Our own logs


def _take_in_own(store: Store, session: ImportedSession, from_folder: bool, carry: Carry | None) -> TakenIn:
    try:
        keeps_id = _keeps_id(store, from_folder=from_folder)
        taken = _taken(place(store, session.log, keeps_id=keeps_id, revives=not from_folder, carry=carry))
        if from_folder or taken.outcome is Outcome.FORKED:
            return taken
        with store.reading() as reading:
            taken = _with_trash(reading, taken)
        if taken.restored:
            with store.claim(taken.session_id):
                store.writing().append(taken.session_id, [SessionTrashed(trashed=False)]).result()
        return taken
    except SessionBusy:
        raise _open_elsewhere(session.session_id) from None


def _keeps_id(store: Store, *, from_folder: bool) -> bool | None:
    """Which side keeps its id where both went on: the one here, unless a folder brings it and no server decides."""
    return None if from_folder and not store.sync.server else False


def _with_trash(reading: StoreReading, taken: TakenIn) -> TakenIn:
    is_here = bool(reading.last_events(taken.session_id, 1))
    return taken._replace(restored=is_here and bool(reading.session(taken.session_id).trashed))


def _taken(placed: Placed) -> TakenIn:
    match placed.outcome:
        case placing.Outcome.NEW:
            return TakenIn(Outcome.NEW, placed.session_id)
        case placing.Outcome.FORKED:
            return TakenIn(Outcome.FORKED, placed.fork_id, fork_of=placed.fork_of)
        case placing.Outcome.CONTINUED | placing.Outcome.REBASED if placed.added:
            return _grown(placed.session_id, placed.added)
        case outcome:
            return TakenIn(Outcome.KNOWN, placed.session_id, deleted=outcome is placing.Outcome.DELETED)


def _grown(session_id: str, added: Sequence[Event]) -> TakenIn:
    titles = [event.fact.title for event in added if isinstance(event.fact, SessionRename)]
    trash = [event.fact.trashed for event in added if isinstance(event.fact, SessionTrashed)]
    changes = [event.type for event in added if isinstance(event.fact, CONVERSATION)]
    messages = changes.count(Message.TYPE)
    return TakenIn(
        Outcome.CONTINUED,
        session_id,
        added=messages,
        rewrites=len(changes) - messages,
        added_events=len(added),
        renamed="".join(titles[-1:]),
        trashed=trash[-1:] == [True],
    )


# Other programs' sessions


def _planned_foreign(reading: StoreReading, session: ImportedSession, *, again: bool) -> _Plan:
    """By its own id, then by those of its forks, which are numbered."""
    grown: _Plan | None = None
    kept: _Plan | None = None
    diverged: Growth | None = None
    free = ""
    forks = [stable_id(session.source, session.session_id, f"fork {number}") for number in range(1, MAX_FORKS + 1)]
    for session_id in (session.session_id, *forks):
        if not reading.last_events(session_id, 1):
            free = free or session_id
            continue
        growth = foreign_growth(list(reading.events(session_id)), session.log, again=again)
        if growth.change is Change.NONE and growth.reading is Reading.SAME:
            return _plan_for(reading, session_id, growth)
        if growth.change is Change.NONE:
            kept = kept or _plan_for(reading, session_id, growth)
        elif growth.change is Change.GREW:
            grown = grown or _plan_for(reading, session_id, growth)
        else:
            diverged = diverged or growth
    if known := grown or kept:
        return known
    if diverged is None:
        return _Plan(TakenIn(Outcome.NEW, session.session_id))
    if not free:
        raise ImportRefused(f"Session {session.session_id} has {MAX_FORKS} forks here already. Delete one.")
    return _Plan(TakenIn(Outcome.FORKED, free, fork_of=session.session_id), diverged)


def _plan_for(reading: StoreReading, session_id: str, growth: Growth) -> _Plan:
    known = TakenIn(Outcome.KNOWN, session_id)
    taken = _grown(session_id, growth.tail) if growth.change is Change.GREW else known
    return _Plan(_with_trash(reading, taken)._replace(reading=growth.reading), growth)


def _store_foreign(store: Store, session: ImportedSession, plan: _Plan) -> None:
    bring = store.writing().import_log
    taken = plan.taken
    log = [event.but(session_id=taken.session_id) for event in session.log]
    match taken.outcome:
        case Outcome.NEW:
            bring(log).result()
        case Outcome.FORKED:
            fork = SessionFork(source_session_id=taken.fork_of, source_seq=plan.growth.shared_seq)
            log.append(log[-1].but(seq=(log[-1].seq or 0) + 1, fact=fork, extra={}))
            bring(log).result()
        case Outcome.CONTINUED:
            with store.claim(taken.session_id):
                done = bring(plan.growth.tail).result()
            assert done is ImportOutcome.CONTINUED
        case Outcome.KNOWN if taken.restored and taken.reading is not Reading.SAME:
            with store.claim(taken.session_id):
                store.writing().append(taken.session_id, [SessionTrashed(trashed=False)]).result()
        case Outcome.KNOWN if taken.restored:
            with store.claim(taken.session_id):
                bring(log).result()
        case Outcome.KNOWN:
            pass
