"""The SQL of the event log: appending facts, with the session's row and search texts in step."""

import sqlite3
from collections.abc import Sequence

from co_tui.events import Event, Fact
from co_tui.events.storable import storable_text
from co_tui.store.event_rows import EventRow, check_durable, check_first_event
from co_tui.store.recovered_reply import recovered
from co_tui.store.search.session_filter import filter_text
from co_tui.store.session_counts import SessionCounters
from co_tui.store.sqlite.bulk.removal import discard_at_once
from co_tui.store.sqlite.message_index import free_id, last_id, seconds_of
from co_tui.store.sqlite.schema import OF_REPLY, REPLY_ROWS, REPLY_SLOT, REPLY_SLOTS
from co_tui.store.store_errors import SessionNotFound, SessionOfAnother
from co_tui.store.timestamps import now

_COLUMNS = tuple(SessionCounters.__dataclass_fields__)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM sessions WHERE id = ?"
_UPDATE = f"UPDATE sessions SET {', '.join(f'{column} = ?' for column in _COLUMNS)}, filter_text = ? WHERE id = ?"


class TextPlaces:
    """The ids of the texts of one session, while some are added in order."""

    def __init__(self) -> None:
        self._last: int | None = None

    def next(self, connection: sqlite3.Connection, session_id: str, wanted: int) -> int:
        """The next id that is free, not below the wanted one and above the one before."""
        if self._last is None:
            self._last = last_id(connection, session_id)
        self._last = free_id(connection, max(wanted, self._last + 1))
        return self._last


def append(connection: sqlite3.Connection, session_id: str, facts: Sequence[Fact]) -> tuple[Event, ...]:
    """Add durable facts at the end of a session's log. The caller holds the transaction."""
    check_durable(facts)
    refuse_others(connection, session_id)
    discard_at_once(connection, session_id)
    timestamp, counters = now(), counters_of(connection, session_id)
    if counters is None:
        check_first_event(session_id, facts)
        create(connection, session_id, timestamp)
        counters = SessionCounters(updated=timestamp)
    events, places = [], TextPlaces()
    for fact in facts:
        event = Event(session_id=session_id, seq=counters.last_seq + 1, timestamp=timestamp, fact=fact)
        insert(connection, EventRow.of(event), places)
        counters.count(event)
        events.append(event)
    save(connection, session_id, counters)
    return tuple(events)


def refuse_others(connection: sqlite3.Connection, session_id: str) -> None:
    """Raises `SessionOfAnother` for a session that another user shares."""
    row = connection.execute("SELECT owner FROM sessions WHERE id = ? AND owner <> ''", (session_id,)).fetchone()
    if row is not None:
        raise SessionOfAnother.of(session_id, row[0])


def counters_of(connection: sqlite3.Connection, session_id: str) -> SessionCounters | None:
    known = connection.execute(_SELECT, (session_id,)).fetchone()
    return SessionCounters(*known) if known else None


def insert(connection: sqlite3.Connection, row: EventRow, places: TextPlaces) -> None:
    """Write an event and its texts; the session's row is saved once all are there."""
    connection.execute(
        "INSERT INTO events(session_id, seq, type, timestamp, version, payload) VALUES(?, ?, ?, ?, ?, ?)", row[:-1]
    )
    for text in row.texts:
        place = places.next(connection, row.session_id, seconds_of(row.timestamp))
        connection.execute(
            "INSERT INTO message_texts(id, session_id, seq, role, tool, text) VALUES(?, ?, ?, ?, ?, ?)",
            (place, row.session_id, row.seq, *text),
        )


def save(connection: sqlite3.Connection, session_id: str, counters: SessionCounters) -> None:
    """Bring the session's row up to date."""
    values = (getattr(counters, column) for column in _COLUMNS)
    # A folder's name may hold bytes that are no text.
    plain = (storable_text(value) if isinstance(value, str) else value for value in values)
    connection.execute(_UPDATE, (*plain, filter_text(counters.title, counters.cwd), session_id))


def create(connection: sqlite3.Connection, session_id: str, timestamp: str) -> None:
    """Make the session's row: from now on it is seen."""
    connection.execute(
        "INSERT INTO sessions(id, title, created, updated, model, policy, cwd, repository, branch,"
        " last_seq, turns, messages, compactions, cost) VALUES(?, '', ?, ?, '', '', '', '', '', 0, 0, 0, 0, 0.0)",
        (session_id, timestamp, timestamp),
    )


def save_reply(connection: sqlite3.Connection, session_id: str, number: int, body: str) -> None:
    """Keep some more of a reply that is not an event yet; number 0 begins a new one."""
    if counters_of(connection, session_id) is None:
        raise SessionNotFound(f"Session {session_id} no longer exists.")
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
