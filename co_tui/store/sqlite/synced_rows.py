"""The SQL of what other machines have to do with: how far each session is pushed, and whose it is."""

import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from co_tui.events import Event
from co_tui.events.event import stored
from co_tui.store.event_rows import EventRow
from co_tui.store.search.session_filter import filter_text
from co_tui.store.session_counts import SessionCounters
from co_tui.store.sqlite import index_queue, log
from co_tui.store.sqlite.log import TextPlaces
from co_tui.store.store_errors import SessionNotFound
from co_tui.store.stored_values import SessionRow

_UNPUSHED: Final = (
    "SELECT s.id FROM sessions s LEFT JOIN pushed p ON p.server = ? AND p.session_id = s.id"
    " WHERE s.owner = '' AND s.last_seq > coalesce(p.seq, 0) ORDER BY s.updated DESC"
)
_HAS_TEXT: Final = "EXISTS (SELECT 1 FROM events e WHERE e.session_id = s.id AND e.seq >= s.last_seq)"


# What is pushed


def unpushed(connection: sqlite3.Connection, server: str) -> list[str]:
    """The user's sessions that a server lacks something of, as far as is known; newest first."""
    return [session_id for (session_id,) in connection.execute(_UNPUSHED, (server,))]


def pushed_seq(connection: sqlite3.Connection, server: str, session_id: str) -> int:
    """The last event that this machine and the server have in common, as far as is known."""
    row = connection.execute(
        "SELECT seq FROM pushed WHERE server = ? AND session_id = ?", (server, session_id)
    ).fetchone()
    return int(row[0]) if row else 0


def pushed_seqs(connection: sqlite3.Connection, server: str) -> dict[str, int]:
    """The same for all sessions."""
    return dict(connection.execute("SELECT session_id, seq FROM pushed WHERE server = ?", (server,)))


def last_events_of_all(connection: sqlite3.Connection) -> dict[str, tuple[int, str]]:
    """Seq and time of the last event of each session of this user."""
    rows = connection.execute(
        "SELECT s.id, s.last_seq, coalesce(e.timestamp, '') FROM sessions s"
        " LEFT JOIN events e ON e.session_id = s.id AND e.seq = s.last_seq WHERE s.owner = ''"
    )
    return {session_id: (seq, time) for session_id, seq, time in rows}


def record_pushed(connection: sqlite3.Connection, server: str, session_id: str, seq: int, *, pulled: bool) -> None:
    """Up to a seq, the server and this machine have the same; `pulled` if some of it came from there."""
    connection.execute("INSERT OR REPLACE INTO pushed VALUES(?, ?, ?)", (server, session_id, seq))
    if pulled:
        connection.execute("UPDATE sessions SET pulled = 1 WHERE id = ?", (session_id,))


def replace_tail(connection: sqlite3.Connection, session_id: str, after: int, events: Sequence[Event]) -> None:
    """Remove the events above a seq, add others, and count the session's row again."""
    row = connection.execute("SELECT created FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(f"No session {session_id}.")
    above = (session_id, after)
    texts = connection.execute("SELECT id FROM message_texts WHERE session_id = ? AND seq > ?", above).fetchall()
    index_queue.remove(connection, [id_ for (id_,) in texts])
    connection.execute("DELETE FROM events WHERE session_id = ? AND seq > ?", above)
    log.drop_reply(connection, session_id)
    counters, places = SessionCounters(updated=row[0]), TextPlaces()
    kept = connection.execute(
        "SELECT seq, type, timestamp, version, payload FROM events WHERE session_id = ? ORDER BY seq", (session_id,)
    )
    for values in kept:
        counters.count(stored(session_id, *values))
    for event in events:
        log.insert(connection, EventRow.of(event), places)
        counters.count(event)
    log.save(connection, session_id, counters)
    connection.execute("UPDATE sessions SET pinned = 0 WHERE id = ? AND owner <> ''", (session_id,))


# Sessions of other users, and those shared with them


def note_shared(connection: sqlite3.Connection, shared: Collection[str]) -> None:
    """The user's sessions that others can read are these now."""
    known = {row[0] for row in connection.execute("SELECT id FROM sessions WHERE shared AND owner = ''")}
    for session_id in known ^ set(shared):
        note_share(connection, session_id, session_id in shared)


def note_share(connection: sqlite3.Connection, session_id: str, shared: bool) -> None:
    connection.execute("UPDATE sessions SET shared = ? WHERE id = ? AND owner = ''", (shared, session_id))


def list_others(
    connection: sqlite3.Connection, rows: Sequence[SessionRow], among: Collection[str] | None = None
) -> None:
    """The sessions that others share are these now, of all or `among` some. Their text is added when it is fetched."""
    known = {
        row[0]: row[1:] for row in connection.execute("SELECT id, owner, last_seq FROM sessions WHERE owner <> ''")
    }
    gone = known.keys() - {row.id for row in rows}
    for session_id in gone if among is None else gone & set(among):
        remove_other(connection, session_id)
    for row in rows:
        if row.id in known:
            if known[row.id] != (row.owner, row.last_seq):
                connection.execute(
                    "UPDATE sessions SET owner = ?, last_seq = ?, title = ?, updated = ?, filter_text = ? WHERE id = ?",
                    (row.owner, row.last_seq, row.title, row.updated, filter_text(row.title, row.cwd), row.id),
                )
        elif connection.execute("SELECT 1 FROM sessions WHERE id = ?", (row.id,)).fetchone() is None:
            _insert(connection, row)


def _insert(connection: sqlite3.Connection, row: SessionRow) -> None:
    log.create(connection, row.id, row.created)
    values = {name: value for name, value in row._asdict().items() if name not in ("id", "created", "share")}
    values |= {"filter_text": filter_text(row.title, row.cwd), "pulled": 1, "shared": True, "pinned": False}
    names = ", ".join(f"{name} = ?" for name in values)
    connection.execute(f"UPDATE sessions SET {names} WHERE id = ?", (*values.values(), row.id))


def remove_other(connection: sqlite3.Connection, session_id: str) -> None:
    """A session is shared no longer: what was fetched of it goes, too."""
    texts = connection.execute("SELECT id FROM message_texts WHERE session_id = ?", (session_id,)).fetchall()
    index_queue.remove(connection, [id_ for (id_,) in texts])
    connection.execute("DELETE FROM events WHERE session_id = ?", (session_id,))
    connection.execute("DELETE FROM sessions WHERE id = ? AND owner <> ''", (session_id,))


def not_fetched(connection: sqlite3.Connection) -> list[str]:
    """The sessions of others whose newest text is not here."""
    found = connection.execute(f"SELECT s.id FROM sessions s WHERE s.owner <> '' AND NOT {_HAS_TEXT}")
    return [session_id for (session_id,) in found]
