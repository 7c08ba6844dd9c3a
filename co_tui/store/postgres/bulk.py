"""Whole sessions: forks, imports, deletion; each one transaction, which neither readers nor other sessions notice."""

from collections.abc import Iterator, Sequence
from typing import Final

from co_tui.events import Event, SessionFork, SessionTrashed
from co_tui.events.event import stored
from co_tui.store.event_rows import check_follows
from co_tui.store.postgres import log
from co_tui.store.postgres.files import file_rows
from co_tui.store.postgres.leases import Leases
from co_tui.store.postgres.log import Connection, Known
from co_tui.store.postgres.ownership import check_readable
from co_tui.store.postgres.text_index import session_number
from co_tui.store.session_counts import SessionCounters
from co_tui.store.store_errors import SessionNotFound, StoreError
from co_tui.store.stored_values import ImportOutcome
from co_tui.store.timestamps import now

ALL_SEQS: Final = 1 << 62
EVENTS_AT_ONCE: Final = 2_000
_SOME_EVENTS: Final = (
    "SELECT seq, type, timestamp, version, payload FROM events"
    " WHERE session_id = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
)
_COPY_EVENTS: Final = (
    "INSERT INTO events(session_id, seq, type, timestamp, version, payload, cost)"
    " SELECT %s, seq, type, timestamp, version, payload, cost FROM events WHERE session_id = %s AND seq <= %s"
)
_COPY_TEXTS: Final = (
    "INSERT INTO message_texts(session_id, seq, part, id, role, tool, text, grams)"
    " SELECT %s, seq, part, id + %s, role, tool, text, grams FROM message_texts WHERE session_id = %s AND seq <= %s"
)


def fork(
    connection: Connection, source: str, target: str, upto: int | None, fact: SessionFork, leases: Leases
) -> tuple[Event, ...]:
    """Begin `target` with all that `source` holds up to a seq, under the same seqs, so that references stay true."""
    timestamp = now()
    if log.locked(connection, target, leases) is not None:
        raise StoreError(f"Session {target} exists already.")
    check_readable(connection, source)
    known = copied(connection, source, target, ALL_SEQS if upto is None else upto, timestamp)
    if not known.counters.last_seq:
        raise SessionNotFound(f"No session {source}.")
    return log.add(connection, target, (fact,), known, timestamp)


def copied(connection: Connection, source: str, target: str, upto: int, timestamp: str) -> Known:
    """Copy events up to a seq, and their texts, on the server; what is known of the copy. Nothing without a source."""
    counters = _counted(connection, source, target, upto, timestamp)
    if not counters.last_seq:
        return Known(counters, 0)
    log.create(connection, target, timestamp)
    connection.execute(_COPY_EVENTS, (target, source, counters.last_seq))
    connection.execute(_COPY_TEXTS, (target, session_number(target), source, counters.last_seq))
    latest = connection.execute("SELECT coalesce(max(id), 0) FROM message_texts WHERE session_id = %s", (target,))
    row = latest.fetchone()
    return Known(counters, row[0] if row else 0)


def _counted(connection: Connection, source: str, target: str, upto: int, timestamp: str) -> SessionCounters:
    """The counters of a session at a seq. At its end its row has them, so that no event is sent here."""
    row = log.row_of(connection, source)
    if row is not None and row.counters.last_seq <= upto:
        row.counters.updated = timestamp
        return row.counters
    counters = SessionCounters(updated=timestamp)
    for event in _events(connection, source, target, upto):
        counters.count(event)
    return counters


def _events(connection: Connection, source: str, target: str, upto: int) -> Iterator[Event]:
    after = 0
    while rows := connection.execute(_SOME_EVENTS, (source, after, upto, EVENTS_AT_ONCE)).fetchall():
        yield from (stored(target, *row) for row in rows)
        after = rows[-1][0]


def import_log(
    connection: Connection, events: Sequence[Event], keeps_age: bool, leases: Leases, keeps_trash: bool = False
) -> ImportOutcome:
    """Begin a session with a log from elsewhere, or continue one with the rest of its log; seqs and times as they are.

    A whole log of one that is there already changes nothing, but brings it out of the trash unless `keeps_trash`.
    """
    session_id, after_seq = events[0].session_id, (events[0].seq or 1) - 1
    known = log.locked(connection, session_id, leases)
    if after_seq == 0 and known is not None:
        if keeps_trash or not known.counters.trashed:
            return ImportOutcome.KNOWN
        log.add(connection, session_id, [SessionTrashed(trashed=False)], known, now())
        return ImportOutcome.RESTORED
    if after_seq:
        check_follows(session_id, after_seq, known.counters.last_seq if known else None)
    if known is None:
        log.create(connection, session_id, events[0].timestamp)
        known = Known(SessionCounters(updated=events[0].timestamp), 0)
    known = log.write(connection, events, known)
    if not keeps_age:
        connection.execute("UPDATE sessions SET came_in = %s WHERE id = %s", (now(), session_id))
    restored = [SessionTrashed(trashed=False)] if known.counters.trashed and not keeps_trash else []
    log.add(connection, session_id, restored, known, now())
    return ImportOutcome.CONTINUED if after_seq else ImportOutcome.NEW


def delete(connection: Connection, session_id: str, leases: Leases) -> None:
    """Remove a session and all that belongs to it."""
    if log.locked(connection, session_id, leases) is None:
        raise SessionNotFound(f"No session {session_id}.")
    remove(connection, session_id)


def remove(connection: Connection, session_id: str) -> None:
    connection.execute("DELETE FROM sessions WHERE id = %s", (session_id,))
    for table in ("drafts", "message_texts", "events"):
        connection.execute(f"DELETE FROM {table} WHERE session_id = %s", (session_id,))
    file_rows.delete(connection, session_id)
