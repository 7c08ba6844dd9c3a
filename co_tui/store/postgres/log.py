"""The SQL of the event log: appending facts, with the session's row and search texts in step.

Each change first reads what it depends on and may refuse; only then does it write.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg

from co_tui.events import BoardChanged, CompactionComplete, Event, Fact, SessionRename, UsageInfo
from co_tui.events.storable import storable_text
from co_tui.store.event_rows import EventRow, check_durable, check_first_event
from co_tui.store.postgres.change_listener import notify
from co_tui.store.postgres.leases import Leases, check_own
from co_tui.store.postgres.redaction import redaction_of
from co_tui.store.postgres.text_index import text_rows
from co_tui.store.recovered_reply import recovered
from co_tui.store.search.session_filter import filter_text
from co_tui.store.session_counts import SessionCounters
from co_tui.store.store_errors import SessionNotFound
from co_tui.store.timestamps import now

Connection: TypeAlias = psycopg.Connection[Any]

_COLUMNS: Final = tuple(SessionCounters.__dataclass_fields__)
_SELECT: Final = (
    f"SELECT owner, owner = current_user::text, last_text, {', '.join(_COLUMNS)} FROM sessions WHERE id = %s FOR UPDATE"
)
_SAVED: Final = (*_COLUMNS, "filter_text", "last_text")
_UPDATE: Final = f"UPDATE sessions SET {', '.join(f'{column} = %s' for column in _SAVED)} WHERE id = %s"
_CREATE: Final = "INSERT INTO sessions(id, created, updated) VALUES(%s, %s, %s)"
_INSERT_EVENT: Final = (
    "INSERT INTO events(session_id, seq, type, timestamp, version, payload, cost) VALUES(%s, %s, %s, %s, %s, %s, %s)"
)
_INSERT_TEXT: Final = (
    "INSERT INTO message_texts(session_id, seq, part, id, role, tool, text, grams)"
    " VALUES(%s, %s, %s, %s, %s, %s, %s, %s::integer[])"
)
_SAVE_REPLY: Final = (
    "INSERT INTO drafts(session_id, number, body) VALUES(%s, %s, %s)"
    " ON CONFLICT (session_id, number) DO UPDATE SET body = excluded.body"
)
_ROW: Final = f"SELECT last_text, {', '.join(_COLUMNS)} FROM sessions WHERE id = %s"


class Known(NamedTuple):
    """A session's row, locked until the end of the transaction."""

    counters: SessionCounters
    last_text: int
    """The id of its latest text."""


def locked(connection: Connection, session_id: str, leases: Leases) -> Known | None:
    """The session's row; None when there is none yet. Raises `StoreError` when this process may not write it."""
    lease = leases.find(connection, session_id)
    row = connection.execute(_SELECT, (session_id,))
    leases.check(session_id, lease.fetchone())
    found = row.fetchone()
    if found is None:
        return None
    check_own(session_id, *found[:2])
    return Known(SessionCounters(*found[3:]), found[2])


def append(connection: Connection, session_id: str, facts: Sequence[Fact], leases: Leases) -> tuple[Event, ...]:
    """Add durable facts at the end of a session's log. The caller holds the transaction."""
    check_durable(facts)
    known = locked(connection, session_id, leases)
    timestamp = now()
    if known is None:
        check_first_event(session_id, facts)
        create(connection, session_id, timestamp)
        known = Known(SessionCounters(updated=timestamp), 0)
    return add(connection, session_id, facts, known, timestamp)


def add(
    connection: Connection, session_id: str, facts: Sequence[Fact], known: Known, timestamp: str
) -> tuple[Event, ...]:
    """Write facts behind what is known of a session."""
    first = known.counters.last_seq + 1
    events = tuple(
        Event(session_id=session_id, seq=seq, timestamp=timestamp, fact=fact) for seq, fact in enumerate(facts, first)
    )
    save(connection, session_id, write(connection, events, known))
    notify(connection, session_id, known.counters.last_seq)
    return events


def create(connection: Connection, session_id: str, timestamp: str) -> None:
    connection.execute(_CREATE, (session_id, timestamp, timestamp))


def write(connection: Connection, events: Iterable[Event], known: Known) -> Known:
    """Write events and their texts; returns the row to save, with all of them counted."""
    counters, last_text = known
    rows, texts = [], []
    hidden = redaction_of(connection).event
    for event in map(hidden, events):
        row = EventRow.of(event)
        counters.count(event)
        rows.append((*row[:-1], _cost(event)))
        for text in text_rows(row, last_text):
            texts.append(text)
            last_text = text.id
    with connection.cursor() as cursor:
        if rows:
            cursor.executemany(_INSERT_EVENT, rows)
        if texts:
            cursor.executemany(_INSERT_TEXT, texts)
    return Known(counters, last_text)


def save(connection: Connection, session_id: str, known: Known) -> None:
    """Bring the session's row up to date."""
    counters, last_text = known
    values = (getattr(counters, column) for column in _COLUMNS)
    # A folder's name may hold bytes that are no text.
    plain = (plain_text(value) if isinstance(value, str) else value for value in values)
    text = filter_text(counters.title, counters.cwd)
    connection.execute(_UPDATE, (*plain, text, last_text, session_id))


def save_reply(connection: Connection, session_id: str, number: int, body: str, leases: Leases) -> None:
    """Keep some more of a reply that is not an event yet; number 0 begins a new one."""
    if locked(connection, session_id, leases) is None:
        raise SessionNotFound(f"Session {session_id} no longer exists.")
    if number == 0:
        drop_reply(connection, session_id)
    put_reply(connection, session_id, number, body)


def put_reply(connection: Connection, session_id: str, number: int, body: str) -> None:
    hidden = redaction_of(connection).json_text(body)
    connection.execute(_SAVE_REPLY, (session_id, number, plain_text(hidden)))


def drop_reply(connection: Connection, session_id: str) -> None:
    connection.execute("DELETE FROM drafts WHERE session_id = %s", (session_id,))


def recover(connection: Connection, session_id: str, leases: Leases) -> tuple[Event, ...]:
    """Log the reply that a crash cut short, as far as it came. The caller owns the session."""
    known = locked(connection, session_id, leases)
    rows = connection.execute("SELECT body FROM drafts WHERE session_id = %s ORDER BY number", (session_id,)).fetchall()
    facts = recovered(body for (body,) in rows)
    drop_reply(connection, session_id)
    return add(connection, session_id, facts, known, now()) if facts and known else ()


def row_of(connection: Connection, session_id: str, *, locked: bool = False) -> Known | None:
    """The session's row, without a look at its lease; `locked` until the end of the transaction."""
    found = connection.execute(f"{_ROW}{' FOR UPDATE' if locked else ''}", (session_id,)).fetchone()
    return Known(SessionCounters(*found[1:]), found[0]) if found else None


def plain_text(text: str) -> str:
    """PostgreSQL stores no zero in a text."""
    return storable_text(text).replace("\0", " ")


def _cost(event: Event) -> float | None:
    """What `spent_since` sums."""
    fact = event.fact
    return fact.cost if isinstance(fact, UsageInfo | CompactionComplete | SessionRename | BoardChanged) else None
