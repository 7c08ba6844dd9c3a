"""Adding many events to a session: parts of them in one transaction each, seen when all are there."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from co_tui.events import Event, Fact, SessionFork, SessionTrashed
from co_tui.events.event import stored
from co_tui.store.event_rows import EventRow, check_durable, check_first_event, check_follows
from co_tui.store.session_counts import SessionCounters
from co_tui.store.sqlite import log
from co_tui.store.sqlite.bulk import unfinished
from co_tui.store.sqlite.bulk.removal import discard_remains
from co_tui.store.sqlite.deletions import decide
from co_tui.store.sqlite.log import TextPlaces
from co_tui.store.sqlite.schema import ALL_SEQS
from co_tui.store.sqlite.transaction import STEP_CHARS, Steps, transaction
from co_tui.store.store_errors import SessionNotFound, StoreError
from co_tui.store.stored_values import ImportOutcome
from co_tui.store.timestamps import now

T = TypeVar("T")
Part: TypeAlias = Callable[[sqlite3.Connection], None]
"""Writes some events, within a transaction of the caller."""

EVENTS_AT_ONCE = 250


def append(
    connection: sqlite3.Connection, session_id: str, facts: Sequence[Fact], *, ends_draft: bool
) -> Steps[tuple[Event, ...]]:
    """Add facts at the end of a session's log, all or none, however many."""
    check_durable(facts)
    yield from discard_remains(connection, session_id)
    timestamp, known = now(), log.counters_of(connection, session_id)
    if known is None:
        check_first_event(session_id, facts)
    counters = known or SessionCounters(updated=timestamp)
    after_seq = counters.last_seq
    events = tuple(
        Event(session_id=session_id, seq=seq, timestamp=timestamp, fact=fact)
        for seq, fact in enumerate(facts, after_seq + 1)
    )

    def finish(connection: sqlite3.Connection) -> tuple[Event, ...]:
        if known is None:
            log.create(connection, session_id, timestamp)
        log.save(connection, session_id, counters)
        if ends_draft:
            log.drop_reply(connection, session_id)
        return events

    return (yield from _added(connection, session_id, after_seq, _parts_of(events, counters), finish))


def import_log(
    connection: sqlite3.Connection, events: Sequence[Event], *, keeps_age: bool, keeps_trash: bool = False
) -> Steps[ImportOutcome]:
    """Begin a session with a log from elsewhere, or continue one with the rest of its log; seqs and times as they are.

    A whole log of one that is there already changes nothing, but brings it out of the trash unless `keeps_trash`.
    """
    session_id, after_seq = events[0].session_id, (events[0].seq or 1) - 1
    yield from discard_remains(connection, session_id)
    known = log.counters_of(connection, session_id)
    if after_seq == 0 and known is not None:
        return ImportOutcome.KNOWN if keeps_trash else _restored(connection, session_id)
    if after_seq:
        check_follows(session_id, after_seq, known.last_seq if known else None)
    counters = known or SessionCounters(updated=events[0].timestamp)

    def finish(connection: sqlite3.Connection) -> ImportOutcome:
        if known is None:
            log.create(connection, session_id, events[0].timestamp)
            decide(connection, session_id, is_deleted=False)
        log.save(connection, session_id, counters)
        if not keeps_age:
            connection.execute("UPDATE sessions SET came_in = ? WHERE id = ?", (now(), session_id))
        if counters.trashed and not keeps_trash:
            log.append(connection, session_id, [SessionTrashed(trashed=False)])
        return ImportOutcome.CONTINUED if after_seq else ImportOutcome.NEW

    return (yield from _added(connection, session_id, after_seq, _parts_of(events, counters), finish))


def _restored(connection: sqlite3.Connection, session_id: str) -> ImportOutcome:
    with transaction(connection):
        known = log.counters_of(connection, session_id)
        if known is None or not known.trashed:
            return ImportOutcome.KNOWN
        log.append(connection, session_id, [SessionTrashed(trashed=False)])
        return ImportOutcome.RESTORED


def fork(
    connection: sqlite3.Connection, source: str, target: str, upto: int | None, fact: SessionFork
) -> Steps[tuple[Event, ...]]:
    """Begin `target` with all that `source` holds up to a seq, under the same seqs, so that references stay true.

    The copied events keep their times; only the fork itself is new.
    """
    yield from discard_remains(connection, target)
    half_written = unfinished.find(connection, source)
    last = min(upto if upto is not None else ALL_SEQS, half_written.after_seq if half_written else ALL_SEQS)
    timestamp = now()
    counters = SessionCounters(updated=timestamp)

    def finish(connection: sqlite3.Connection) -> tuple[Event, ...]:
        log.create(connection, target, timestamp)
        log.save(connection, target, counters)
        # What other programs may have written stays suspect in a copy.
        copied = "UPDATE sessions SET pulled = (SELECT s.pulled FROM sessions s WHERE s.id = ?) WHERE id = ?"
        connection.execute(copied, (source, target))
        return log.append(connection, target, (fact,))

    return (yield from _added(connection, target, 0, _copied(connection, source, target, last, counters), finish))


def _added(
    connection: sqlite3.Connection,
    session_id: str,
    after_seq: int,
    parts: Iterator[Part],
    finish: Callable[[sqlite3.Connection], T],
) -> Steps[T]:
    """Write the parts, then `finish`: only then are they seen. What a failure leaves is removed."""
    part, following = next(parts), next(parts, None)
    if following is None:
        with transaction(connection):
            _check_unchanged(connection, session_id, after_seq)
            part(connection)
            return finish(connection)
    try:
        with unfinished.at_work(session_id):
            with transaction(connection):
                _check_unchanged(connection, session_id, after_seq)
                unfinished.claim(connection, session_id, after_seq)
                part(connection)
            for part in chain([following], parts):
                yield
                with transaction(connection):
                    unfinished.touch(connection, session_id)
                    part(connection)
            yield
            with transaction(connection):
                unfinished.touch(connection, session_id)
                _check_unchanged(connection, session_id, after_seq)
                unfinished.release(connection, session_id)
                return finish(connection)
    except Exception:
        yield from _give_up(connection, session_id)
        raise


def _give_up(connection: sqlite3.Connection, session_id: str) -> Steps[None]:
    try:
        yield from discard_remains(connection, session_id)
    except (sqlite3.Error, StoreError):
        return  # as with a full disk: it stays hidden, and upkeep removes it


def _check_unchanged(connection: sqlite3.Connection, session_id: str, after_seq: int) -> None:
    known = log.counters_of(connection, session_id)
    if (known.last_seq if known else 0) != after_seq:
        raise StoreError(f"Session {session_id} was changed by another co-tui. Try again.")


def _parts_of(events: Iterable[Event], counters: SessionCounters) -> Iterator[Part]:
    """What is costly happens here, outside of transactions."""
    rows: list[EventRow] = []
    places, chars = TextPlaces(), 0
    for event in events:
        row = EventRow.of(event)
        counters.count(event)
        rows.append(row)
        chars += row.chars
        if chars >= STEP_CHARS or len(rows) >= EVENTS_AT_ONCE:
            yield _writing(rows, places)
            rows, chars = [], 0
    if rows:
        yield _writing(rows, places)


def _writing(rows: list[EventRow], places: TextPlaces) -> Part:
    def write(connection: sqlite3.Connection) -> None:
        for row in rows:
            log.insert(connection, row, places)

    return write


def _copied(
    connection: sqlite3.Connection, source: str, target: str, upto: int, counters: SessionCounters
) -> Iterator[Part]:
    after, is_first = 0, True
    places = TextPlaces()
    while rows := _some_events(connection, source, after, upto):
        for row in rows:
            counters.count(stored(target, *row))
        yield _copying(source, target, after, rows[-1][0], places)
        after, is_first = rows[-1][0], False
    if is_first:
        raise SessionNotFound(f"No session {source}.")


def _some_events(connection: sqlite3.Connection, source: str, after: int, upto: int) -> list[Any]:
    rows = connection.execute(
        "SELECT seq, type, timestamp, version, payload FROM events"
        " WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (source, after, upto, EVENTS_AT_ONCE),
    ).fetchall()
    chars = 0
    for count, row in enumerate(rows, 1):
        chars += len(row[-1])
        if chars >= STEP_CHARS:
            return rows[:count]
    return rows


def _copying(source: str, target: str, after: int, upto: int, places: TextPlaces) -> Part:
    def copy(connection: sqlite3.Connection) -> None:
        some = (target, source, after, upto)
        connection.execute(
            "INSERT INTO events(session_id, seq, type, timestamp, version, payload)"
            " SELECT ?, seq, type, timestamp, version, payload FROM events"
            " WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq",
            some,
        )
        texts = connection.execute(
            "SELECT id FROM message_texts WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq, id", some[1:]
        ).fetchall()
        for (id_,) in texts:
            connection.execute(
                "INSERT INTO message_texts(id, session_id, seq, role, tool, text)"
                " SELECT ?, ?, seq, role, tool, text FROM message_texts WHERE id = ?",
                (places.next(connection, target, id_), target, id_),
            )

    return copy
