"""The SQL about sessions and events on the server. What is read there is checked: any user may have written it, or the
server's owner changed it."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import psycopg

from co_tui.events import Event
from co_tui.events.event import payload_of
from co_tui.events.storable import dump, storable_text
from co_tui.store.store_errors import SessionNotFound
from co_tui.store.stored_values import Deletion, SessionRow
from co_tui.store.sync.deleted_words import SAID_TYPES, deleted_upto
from co_tui.store.sync.files import file_rows
from co_tui.store.sync.server.checked_rows import (
    MOST_TEXT_CHARS,
    BadRows,
    checked_deletion,
    checked_event,
    checked_other,
    checked_own,
)
from co_tui.store.sync.server.leases import FIND_LEASE, Lease, is_dead, lease_in
from co_tui.store.sync.server.policies import OWN, VISIBLE
from co_tui.store.sync.server.redaction import Redaction, redaction_of
from co_tui.store.sync.server.server import Connection

CHANNEL: Final = "co_tui_events"
MOST_OTHERS: Final = 5_000
"""Sessions of other users that are listed."""
Tip = tuple[str, str]
"""Type and timestamp of an event: with its seq, they say whether two copies have the same one."""

_OWN_SESSIONS: Final = (
    "SELECT left(s.id, 1000), s.last_seq, s.shared, (SELECT left(e.timestamp, 100) FROM events e"
    f" WHERE e.session_id = s.id AND e.seq = s.last_seq) FROM sessions s WHERE {OWN}"
)
_SHOWN: Final = {"pinned": "false", "trashed": "''", "shared": "true"}
_OTHERS_COLUMNS: Final = ", ".join(
    f"left(s.{name}, {MOST_TEXT_CHARS})" if kind is str and name != "trashed" else _SHOWN.get(name, f"s.{name}")
    for name, kind in SessionRow.__annotations__.items()
)
_OTHERS: Final = (
    # One user's many sessions do not hide those of the others.
    f"SELECT {_OTHERS_COLUMNS} FROM sessions s WHERE s.shared AND s.trashed = '' AND NOT {OWN}{{of_these}}"
    f" ORDER BY row_number() OVER (PARTITION BY s.owner ORDER BY s.updated DESC) LIMIT {MOST_OTHERS}"
)
# Events above the session's last one are none of it: another user can have left them under its ID.
_IN_LOG: Final = "e.session_id = s.id AND e.seq > %(after)s AND e.seq <= s.last_seq"
_EVENTS: Final = (
    "SELECT s.last_seq, e.seq, e.type, e.timestamp, e.version, e.payload FROM sessions s"
    f" LEFT JOIN events e ON {_IN_LOG} AND e.seq <= %(upto)s WHERE s.id = %(session_id)s AND {VISIBLE} ORDER BY e.seq"
)
_SIZE: Final = (
    "SELECT coalesce(sum(octet_length(e.payload)), 0)::bigint FROM sessions s"
    f" JOIN events e ON {_IN_LOG} WHERE s.id = %(session_id)s AND {VISIBLE}"
)
_TIPS: Final = (
    f"SELECT e.seq, e.type, e.timestamp FROM sessions s JOIN events e ON {_IN_LOG}"
    f" WHERE s.id = %(session_id)s AND {VISIBLE} ORDER BY e.seq"
)
_CREATE: Final = "INSERT INTO sessions(id, created, updated) VALUES(%s, %s, %s) ON CONFLICT (id) DO NOTHING"
_LOCKED: Final = f"SELECT s.last_seq FROM sessions s WHERE s.id = %s AND {OWN} FOR UPDATE"
_INSERT_EVENT: Final = (
    "INSERT INTO events(session_id, seq, type, timestamp, version, payload) VALUES(%s, %s, %s, %s, %s, %s)"
)
_UPDATED: Final = tuple(name for name in SessionRow._fields if name not in ("id", "owner", "shared"))
_UPDATE: Final = f"UPDATE sessions s SET {', '.join(f'{name} = %s' for name in _UPDATED)} WHERE s.id = %s AND {OWN}"
_SHARE: Final = f"UPDATE sessions s SET shared = %s WHERE s.id = %s AND {OWN} RETURNING s.last_seq"
_MINE: Final = "owner = current_user::text"
_DELETION: Final = f"SELECT session_id, at, seq, deleted, said FROM deletions WHERE {_MINE}"
_PUT_DELETION: Final = (
    "INSERT INTO deletions(session_id, at, seq, deleted, said) VALUES(%s, %s, %s, %s, %s)"
    " ON CONFLICT (owner, session_id) DO UPDATE"
    " SET at = excluded.at, seq = excluded.seq, deleted = excluded.deleted, said = excluded.said"
    " WHERE (deletions.at, deletions.deleted) <= (excluded.at, excluded.deleted) RETURNING session_id"
)
_SAID: Final = (
    "SELECT seq, type, timestamp FROM events WHERE session_id = %s AND seq <= %s AND (seq = 1 OR type = ANY(%s))"
    " ORDER BY seq"
)
_REPLIES: Final = f"FROM drafts d JOIN sessions s ON s.id = d.session_id WHERE {OWN}"


class Push(Enum):
    """What became of a change."""

    DONE = "done"
    DIFFERS = "differs"
    """The server has other or more events: nothing was changed."""
    LEASED = "leased"
    """Another process of this user holds the session."""
    TAKEN = "taken"
    """The ID belongs to another user."""
    DELETED = "deleted"
    """The session was deleted."""
    OLDER = "older"
    """The server knows a later decision."""


class Listing(NamedTuple):
    """The sessions on the server."""

    own: dict[str, int]
    """The last seq of each session of this user."""
    times: dict[str, str]
    """When its last event was."""
    shared: frozenset[str]
    """Those of them that others can read."""
    others: list[SessionRow]
    """What other users share."""
    bad: list[str]
    """A sentence for each row that was left out."""


# Reading


def listing(connection: Connection, ids: Sequence[str] | None = None) -> Listing:
    """All sessions, or some, without their text."""
    of_these, values = ("", ()) if ids is None else (" AND s.id = ANY(%s)", (list(ids),))
    with connection.pipeline():
        mine = connection.execute(f"{_OWN_SESSIONS}{of_these}".encode(), values)
        others = connection.execute(_OTHERS.format(of_these=of_these).encode(), values)
    result = Listing({}, {}, frozenset(), [], [])
    shared = set()
    for row in mine.fetchall():
        try:
            session_id, last_seq, is_shared = checked_own(row[:3])
        except BadRows as bad:
            result.bad.append(str(bad))
            continue
        result.own[session_id], result.times[session_id] = last_seq, str(row[3])
        shared |= {session_id} if is_shared else set()
    for row in others.fetchall():
        try:
            result.others.append(checked_other(SessionRow._make(row)))
        except BadRows as bad:
            result.bad.append(str(bad))
    return result._replace(shared=frozenset(shared))


def events(connection: Connection, session_id: str, after: int, upto: int | None = None) -> list[Event]:
    """The log from just after one seq up to and including another, or its end. Raises `BadRows`."""
    asked = {"session_id": session_id, "after": after, "upto": upto if upto is not None else 1 << 62}
    rows = connection.execute(_EVENTS, asked).fetchall()
    found = [checked_event(session_id, seq, row[1:]) for seq, row in enumerate(rows, after + 1) if row[1] is not None]
    last = min(rows[0][0], asked["upto"]) if rows else 0
    if after + len(found) < last:
        raise BadRows(f"The server lacks event {after + len(found) + 1} of session {session_id}.")
    return found


def size(connection: Connection, session_id: str, after: int) -> int:
    """The bytes of a log from just after a seq."""
    row = connection.execute(_SIZE, {"session_id": session_id, "after": after}).fetchone()
    return int(row[0]) if row else 0


def tip(connection: Connection, session_id: str, seq: int) -> Tip | None:
    """Which event has a seq; None for none."""
    asked = {"session_id": session_id, "after": seq - 1}
    row = connection.execute(f"{_TIPS} LIMIT 1".encode(), asked).fetchone()
    return (row[1], row[2]) if row and row[0] == seq else None


def tips(connection: Connection, session_id: str, after: int) -> list[tuple[int, str, str]]:
    """Seq, type and timestamp of each event after a seq."""
    return connection.execute(_TIPS, {"session_id": session_id, "after": after}).fetchall()


# Pushing


def push(
    connection: Connection, row: SessionRow, after: int, after_tip: Tip | None, events: Sequence[Event], leased: int
) -> Push:
    """Add events behind a seq, at which the server must have the event `after_tip`, and bring the session's row up to
    date. Those that are there already are not added again. `leased` is the number of this process's lease, 0 without.
    """
    hidden = redaction_of(connection)
    stored = [_event_row(hidden, event) for event in events]
    values = _row_values(hidden, row._replace(last_seq=after + len(events)))
    mine = [(after, *after_tip)] if after and after_tip else []
    mine += [(event.seq or 0, event.type, event.timestamp) for event in events]
    before = after + len(events) - len(mine)
    with connection.pipeline() as pipeline, connection.transaction() as transaction:
        connection.execute(_CREATE, (row.id, row.created, row.created))
        locked = connection.execute(_LOCKED, (row.id,))
        lease = connection.execute(FIND_LEASE, (row.id,))
        deletion = connection.execute(f"{_DELETION} AND session_id = %s AND deleted".encode(), (row.id,))
        there = connection.execute(_TIPS, {"session_id": row.id, "after": before})
        pipeline.sync()  # only from here on, the server ends a transaction whose client is gone
        last_seq = first[0] if (first := locked.fetchone()) else None
        refusal = _refusal(last_seq, deletion.fetchone(), lease_in(lease.fetchone()), leased)
        if (
            last_seq is not None
            and refusal is None
            and (last_seq < after or there.fetchall() != mine[: last_seq - before])
        ):
            refusal = Push.DIFFERS
        if refusal is not None:
            raise psycopg.Rollback(transaction)
        connection.execute("DELETE FROM events WHERE session_id = %s AND seq > %s", (row.id, last_seq))
        if not last_seq:  # what somebody left under this ID
            drop_partial_reply(connection, row.id)
        connection.cursor().executemany(_INSERT_EVENT, [each for each in stored if each[1] > last_seq])
        connection.execute(_UPDATE.encode(), (*values, row.id))
        _notify(connection, row.id, after + len(events))
    return refusal or Push.DONE


def _refusal(last_seq: int | None, deletion: object, lease: Lease | None, leased: int) -> Push | None:
    if last_seq is None:
        return Push.TAKEN
    if deletion is not None:
        return Push.DELETED
    if lease is not None and lease.is_live and lease.number != leased and not is_dead(lease):
        return Push.LEASED
    return None


def _event_row(hidden: Redaction, event: Event) -> tuple[Any, ...]:
    event = hidden.event(event)
    payload = dump(payload_of(event))
    return event.session_id, event.seq or 0, _plain(event.type), _plain(event.timestamp), event.version, payload


def _row_values(hidden: Redaction, row: SessionRow) -> Iterable[Any]:
    values = (getattr(row, name) for name in _UPDATED)
    return [_plain(hidden.text(value)) if isinstance(value, str) else value for value in values]


def _plain(text: str) -> str:
    """PostgreSQL stores no zero in a text."""
    return storable_text(text).replace("\0", " ")


def share(connection: Connection, session_id: str, shared: bool) -> None:
    """Let the other users read a session, or no longer. Raises `SessionNotFound` unless it is this user's."""
    row = connection.execute(_SHARE, (shared, session_id)).fetchone()
    if row is None:
        raise SessionNotFound(f"No session {session_id} of yours.")
    _notify(connection, session_id, row[0])


# Deletions


def deletions(connection: Connection) -> list[Deletion]:
    """What was decided about sessions of this user. Rows that cannot be read are left out."""
    return [each for row in connection.execute(_DELETION).fetchall() if (each := checked_deletion(row))]


def put_deletion(connection: Connection, deletion: Deletion, known_seq: int = 0) -> Push:
    """Record a decision, unless a later one is known. A deleted session is removed with all that belongs to it, unless
    more was said in it than the deletion is about, beyond `known_seq`: then nothing is changed."""
    session_id = deletion.session_id
    with connection.transaction() as transaction:
        # The row is created first, so that no other process can add it unseen.
        connection.execute(_CREATE, (session_id, deletion.at, deletion.at))
        locked = connection.execute(_LOCKED, (session_id,)).fetchone()
        is_known = connection.execute(_PUT_DELETION, deletion).fetchone() is None
        last_seq = locked[0] if locked else 0
        refusal = Push.OLDER if is_known else None
        if refusal is None and deletion.is_deleted:
            said = connection.execute(_SAID, (session_id, last_seq, list(SAID_TYPES))).fetchall()
            upto = max(deleted_upto(deletion, said) or 0, known_seq)
            refusal = Push.DIFFERS if any(seq > upto for seq, kind, _ in said if kind in SAID_TYPES) else None
        if refusal is not None:
            raise psycopg.Rollback(transaction)
        if locked and (deletion.is_deleted or not last_seq):
            _remove(connection, session_id, with_files=deletion.is_deleted)
        _notify(connection, session_id, last_seq)
    return refusal or Push.DONE


def _remove(connection: Connection, session_id: str, *, with_files: bool) -> None:
    """What belongs to a session goes first: without its row, the server takes it for another user's."""
    for table in ("events", "drafts"):
        connection.execute(f"DELETE FROM {table} WHERE session_id = %s".encode(), (session_id,))
    if with_files:
        file_rows.delete(connection, session_id)
    connection.execute(f"DELETE FROM sessions s WHERE s.id = %s AND {OWN}".encode(), (session_id,))


# Replies that an earlier version was writing when it stopped


def partial_replies(connection: Connection) -> set[str]:
    """The sessions of this user that have one."""
    return {session_id for (session_id,) in connection.execute(f"SELECT DISTINCT d.session_id {_REPLIES}".encode())}


def partial_reply(connection: Connection, session_id: str) -> list[str]:
    """Its pieces, in order."""
    statement = f"SELECT d.body {_REPLIES} AND d.session_id = %s ORDER BY d.number"
    return [body for (body,) in connection.execute(statement.encode(), (session_id,))]


def drop_partial_reply(connection: Connection, session_id: str) -> None:
    own = f"EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id AND {OWN})"
    connection.execute(f"DELETE FROM drafts WHERE session_id = %s AND {own}".encode(), (session_id,))


# Notifications


def can_notify(connection: Connection) -> bool:
    """Whether the server has LISTEN and NOTIFY; known without asking it."""
    reported = connection.info.parameter_status
    return reported("crdb_version") is None and "-YB-" not in (reported("server_version") or "")


def _notify(connection: Connection, session_id: str, seq: int) -> None:
    """Report to all machines that a session changed, when the transaction is committed. Carries no content."""
    if can_notify(connection):
        connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, f"{seq} {session_id}"))
