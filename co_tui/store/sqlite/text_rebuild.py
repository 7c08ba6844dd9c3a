"""Writing the searchable texts of all messages again, after a change of what they contain.

Goes through the log in short steps while nothing else is requested. Any process continues where the last one was,
also after a crash. Until it is done, searches miss older messages.
"""

import sqlite3
import time
from contextlib import closing
from typing import Any, NamedTuple

from co_tui.events import Message
from co_tui.events.event import stored
from co_tui.store.search.searchable_text import SearchableText, searchable
from co_tui.store.sqlite.message_index import free_id, last_id, seconds_of
from co_tui.store.sqlite.schema import TEXTS_ARE_REBUILT, lacks_texts
from co_tui.store.sqlite.transaction import A_MOMENT_S, STEP_S, transaction

EVENTS_AT_ONCE = 5_000
_LACKS_TEXTS = (
    "SELECT 1 FROM events WHERE session_id = :session_id AND seq = :seq"
    " AND NOT EXISTS (SELECT 1 FROM message_texts WHERE session_id = :session_id AND seq = :seq)"
)
"""Another process may have deleted the event, or added it with its texts."""


class _Found(NamedTuple):
    """The texts of one event."""

    session_id: str
    seq: int
    timestamp: str
    texts: tuple[SearchableText, ...]


def request(connection: sqlite3.Connection) -> None:
    """From now on, the texts are to be rebuilt. The caller holds the transaction."""
    connection.execute("CREATE TABLE text_rebuild(done INTEGER NOT NULL)")
    connection.execute("INSERT INTO text_rebuild(done) VALUES(0)")
    connection.execute(f"PRAGMA application_id={TEXTS_ARE_REBUILT}")


def rebuild_some(connection: sqlite3.Connection) -> bool:
    """Write some of the texts that are missing; returns whether there are more.

    Raises `sqlite3.OperationalError` when another process does not let go.
    """
    if not lacks_texts(connection):
        return False
    # Outside of the transaction: it is most of the work.
    found, done = _read_some(connection)
    with transaction(connection, A_MOMENT_S):
        if not lacks_texts(connection):  # another process was faster
            return False
        for each in found:
            _insert(connection, each)
        connection.execute("UPDATE text_rebuild SET done = max(done, ?)", (done,))
        # New ones may have come: a fork copies what is not rebuilt yet.
        if done < _last_event(connection):
            return True
        connection.execute("DROP TABLE text_rebuild")
        connection.execute("PRAGMA application_id=0")
    return False


def _last_event(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(rowid), 0) FROM events").fetchone()[0])


def _read_some(connection: sqlite3.Connection) -> tuple[list[_Found], int]:
    """The texts of the next events, as many as can be read in a moment, and the last event that was read."""
    (after,) = connection.execute("SELECT done FROM text_rebuild").fetchone()
    upto, found = min(after + EVENTS_AT_ONCE, _last_event(connection)), []
    until = time.thread_time() + STEP_S / 2
    rows = connection.execute(
        "SELECT rowid, session_id, seq, type, timestamp, version, payload FROM events"
        " WHERE rowid > ? AND rowid <= ? AND type = ? ORDER BY rowid",
        (after, upto, Message.TYPE),
    )
    with closing(rows):
        for number, *row in rows:
            found.append(_Found(row[0], row[1], row[3], _texts_of(row)))
            if time.thread_time() > until:
                return found, number
    return found, upto


def _texts_of(row: list[Any]) -> tuple[SearchableText, ...]:
    fact = stored(*row).fact
    return tuple(searchable(fact)) if isinstance(fact, Message) else ()


def _insert(connection: sqlite3.Connection, found: _Found) -> None:
    event = {"session_id": found.session_id, "seq": found.seq}
    if not found.texts or not connection.execute(_LACKS_TEXTS, event).fetchone():
        return
    place = last_id(connection, found.session_id, found.seq)
    for text in found.texts:
        place = free_id(connection, max(seconds_of(found.timestamp), place + 1))
        connection.execute(
            "INSERT INTO message_texts(id, session_id, seq, role, tool, text) VALUES(?, ?, ?, ?, ?, ?)",
            (place, found.session_id, found.seq, *text),
        )
