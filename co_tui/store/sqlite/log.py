"""The SQL of the event log: appending facts, with the session's row and search texts in step."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from co_tui.events import Event, Fact, Message, SessionFork, SessionTrashed, is_durable
from co_tui.events.event import payload_of, stored
from co_tui.events.facts.base import Logged
from co_tui.events.storable import dump, storable_text
from co_tui.store.recovered_reply import recovered
from co_tui.store.search.searchable_text import searchable
from co_tui.store.search.session_filter import filter_text
from co_tui.store.session_counts import SessionCounters
from co_tui.store.sqlite.message_index import free_id, last_id
from co_tui.store.sqlite.schema import ALL_SEQS, OF_REPLY, REPLY_ROWS, REPLY_SLOT, REPLY_SLOTS
from co_tui.store.store_errors import SessionNotFound, StoreError
from co_tui.store.stored_values import ImportOutcome
from co_tui.store.timestamps import now

_COLUMNS = tuple(SessionCounters.__dataclass_fields__)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM sessions WHERE id = ?"
_UPDATE = f"UPDATE sessions SET {', '.join(f'{column} = ?' for column in _COLUMNS)}, filter_text = ? WHERE id = ?"


def append(connection: sqlite3.Connection, session_id: str, facts: Sequence[Fact]) -> tuple[Event, ...]:
    """Add durable facts at the end of a session's log. The caller holds the transaction."""
    timestamp = now()
    known = connection.execute(_SELECT, (session_id,)).fetchone()
    if known is None:
        _check_first_event(session_id, facts)
    counters = SessionCounters(*known) if known else _created(connection, session_id, timestamp)
    events = []
    for fact in facts:
        if not is_durable(fact):
            raise ValueError(f"{fact.TYPE} is announced, never logged")
        event = Event(session_id=session_id, seq=counters.last_seq + 1, timestamp=timestamp, fact=fact)
        connection.execute(
            "INSERT INTO events(session_id, seq, type, timestamp, version, payload) VALUES(?, ?, ?, ?, ?, ?)",
            (session_id, event.seq, event.type, timestamp, event.version, dump(payload_of(event))),
        )
        counters.count(event)
        _index(connection, event)
        events.append(event)
    _save(connection, session_id, counters)
    return tuple(events)


def _check_first_event(session_id: str, facts: Sequence[Fact]) -> None:
    first = facts[0] if facts else None
    if isinstance(first, Logged) and first.NEEDS_SESSION:
        raise SessionNotFound(f"Session {session_id} no longer exists.")


def _save(connection: sqlite3.Connection, session_id: str, counters: SessionCounters) -> None:
    values = (getattr(counters, column) for column in _COLUMNS)
    # A folder's name may hold bytes that are no text.
    plain = (storable_text(value) if isinstance(value, str) else value for value in values)
    connection.execute(_UPDATE, (*plain, filter_text(counters.title, counters.cwd), session_id))


def _created(connection: sqlite3.Connection, session_id: str, timestamp: str) -> SessionCounters:
    connection.execute(
        "INSERT INTO sessions(id, title, created, updated, model, policy, cwd, repository, branch,"
        " last_seq, turns, messages, compactions, cost) VALUES(?, '', ?, ?, '', '', '', '', '', 0, 0, 0, 0, 0.0)",
        (session_id, timestamp, timestamp),
    )
    return SessionCounters(updated=timestamp)


def _index(connection: sqlite3.Connection, event: Event) -> None:
    if not isinstance(event.fact, Message):
        return
    place = last_id(connection, event.session_id)
    for part in searchable(event.fact):
        place = free_id(connection, event.timestamp, place)
        connection.execute(
            "INSERT INTO message_texts(id, session_id, seq, role, tool, text) VALUES(?, ?, ?, ?, ?, ?)",
            (place, event.session_id, event.seq, *part),
        )


def save_reply(connection: sqlite3.Connection, session_id: str, number: int, body: str) -> None:
    """Keep some more of a reply that is not an event yet; number 0 begins a new one."""
    if number == 0:
        drop_reply(connection, session_id)
    slot = f"{REPLY_SLOT}#{number:08}" if number else REPLY_SLOT
    connection.execute("INSERT INTO drafts(session_id, slot, body) VALUES(?, ?, ?)", (session_id, slot, body))


def drop_reply(connection: sqlite3.Connection, session_id: str) -> None:
    connection.execute(f"DELETE FROM drafts WHERE {OF_REPLY}", (session_id, *REPLY_SLOTS))


def recover(connection: sqlite3.Connection, session_id: str) -> tuple[Event, ...]:
    """Log the reply that a crash cut short, as far as it came. The caller owns the session."""
    rows = connection.execute(REPLY_ROWS, (session_id, *REPLY_SLOTS)).fetchall()
    drop_reply(connection, session_id)
    facts = recovered(body for (body,) in rows)
    return append(connection, session_id, facts) if facts else ()


def fork(
    connection: sqlite3.Connection, source: str, target: str, upto: int | None, fact: SessionFork
) -> tuple[Event, ...]:
    """Begin `target` with all that `source` holds up to a seq, under the same seqs, so that references stay true.

    The copied events keep their times; only the fork itself is new.
    """
    rows = connection.execute(
        "SELECT seq, type, timestamp, version, payload FROM events WHERE session_id = ? AND seq <= ? ORDER BY seq",
        (source, upto if upto is not None else ALL_SEQS),
    ).fetchall()
    if not rows:
        raise SessionNotFound(f"No session {source}.")
    counters = _created(connection, target, now())
    for row in rows:
        connection.execute(
            "INSERT INTO events(session_id, seq, type, timestamp, version, payload) VALUES(?, ?, ?, ?, ?, ?)",
            (target, *row),
        )
        event = stored(target, *row)
        counters.count(event)
        _index(connection, event)
    _save(connection, target, counters)
    return append(connection, target, (fact,))


def import_log(connection: sqlite3.Connection, events: Sequence[Event], *, keeps_age: bool) -> ImportOutcome:
    """Begin a session with a log from elsewhere, or continue one with the rest of its log; seqs and times as they are.

    A whole log of one that is there already changes nothing, but brings it out of the trash.
    """
    session_id, first_seq = events[0].session_id, events[0].seq or 1
    known = connection.execute(_SELECT, (session_id,)).fetchone()
    if first_seq > 1:
        outcome, counters = ImportOutcome.CONTINUED, _counters_before(session_id, first_seq, known)
    elif known is None:
        outcome, counters = ImportOutcome.NEW, _created(connection, session_id, events[0].timestamp)
    else:
        counters = SessionCounters(*known)
        outcome = ImportOutcome.RESTORED if counters.trashed else ImportOutcome.KNOWN
    if outcome in (ImportOutcome.NEW, ImportOutcome.CONTINUED):
        _add_from_elsewhere(connection, events, counters)
        if not keeps_age:
            connection.execute("UPDATE sessions SET came_in = ? WHERE id = ?", (now(), session_id))
    if counters.trashed:
        append(connection, session_id, [SessionTrashed(trashed=False)])
    return outcome


def _counters_before(session_id: str, seq: int, known: tuple[Any, ...] | None) -> SessionCounters:
    if known is None:
        raise SessionNotFound(f"No session {session_id} to continue. Import its whole log.")
    counters = SessionCounters(*known)
    if counters.last_seq != seq - 1:
        raise StoreError(
            f"Session {session_id} cannot be continued with event {seq}: its last one here is {counters.last_seq}."
        )
    return counters


def _add_from_elsewhere(connection: sqlite3.Connection, events: Sequence[Event], counters: SessionCounters) -> None:
    session_id = events[0].session_id
    for event in events:
        connection.execute(
            "INSERT INTO events(session_id, seq, type, timestamp, version, payload) VALUES(?, ?, ?, ?, ?, ?)",
            (session_id, event.seq, event.type, event.timestamp, event.version, dump(payload_of(event))),
        )
        counters.count(event)
        _index(connection, event)
    _save(connection, session_id, counters)


def delete(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove a session and all that belongs to it."""
    for table in ("drafts", "message_texts", "events"):
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
    if connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount == 0:
        raise SessionNotFound(f"No session {session_id}.")
