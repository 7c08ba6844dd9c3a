"""Which sessions were deleted, and which came back: the latest decision counts on every machine."""

import sqlite3
from typing import Final

from co_tui.store.stored_values import Deletion
from co_tui.store.sync.deleted_words import SAID_TYPES, digests
from co_tui.store.timestamps import now

_DELETION: Final = "SELECT session_id, at, seq, deleted, said FROM deletions"
_PUT: Final = "INSERT OR REPLACE INTO deletions(session_id, at, seq, deleted, said) VALUES(?, ?, ?, ?, ?)"
_SAID: Final = (
    "SELECT seq, type, timestamp FROM events"
    f" WHERE session_id = ? AND (seq = 1 OR type IN ({', '.join('?' * len(SAID_TYPES))})) ORDER BY seq"
)


def deletions(connection: sqlite3.Connection) -> list[Deletion]:
    return [_read(row) for row in connection.execute(_DELETION)]


def deletion_of(connection: sqlite3.Connection, session_id: str) -> Deletion | None:
    row = connection.execute(f"{_DELETION} WHERE session_id = ?", (session_id,)).fetchone()
    return _read(row) if row else None


def record_deletion(connection: sqlite3.Connection, deletion: Deletion) -> bool:
    """The latest decision counts; of two at the same moment, that to delete."""
    known = deletion_of(connection, deletion.session_id)
    if known is not None and known.age >= deletion.age:
        return False
    connection.execute(_PUT, deletion)
    return True


def decide(connection: sqlite3.Connection, session_id: str, *, is_deleted: bool) -> None:
    """Remember a decision of this moment, later than any that is known, whatever the clocks say."""
    known = deletion_of(connection, session_id)
    if not is_deleted if known is None else known.is_deleted == is_deleted:
        return
    at = now()
    if known is not None and known.at >= at:
        at = f"{known.at}+"  # sorts right after it
    # What comes after the last words, as the trash or the end, has other seqs elsewhere than what was said there.
    said = connection.execute(_SAID, (session_id, *SAID_TYPES)).fetchall()
    seq = max((seq for seq, kind, _ in said if kind in SAID_TYPES), default=0)
    connection.execute(_PUT, (session_id, at, seq, is_deleted, digests(said)))


def _read(row: tuple[str, str, int, int, str]) -> Deletion:
    return Deletion(*row[:3], is_deleted=bool(row[3]), said=row[4])
