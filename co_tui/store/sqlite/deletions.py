"""Which sessions were deleted, and which came back: the latest decision counts on every machine."""

import sqlite3
from typing import Final

from co_tui.store.stored_values import Deletion
from co_tui.store.sync.branches import CONVERSATION
from co_tui.store.timestamps import now

_DELETION: Final = "SELECT session_id, at, seq, deleted FROM deletions"
_LAST_SAID: Final = (
    f"SELECT seq FROM events WHERE session_id = ? AND type IN ({', '.join('?' * len(CONVERSATION))})"
    " ORDER BY seq DESC LIMIT 1"
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
    connection.execute("INSERT OR REPLACE INTO deletions VALUES(?, ?, ?, ?)", deletion)
    return True


def decide(connection: sqlite3.Connection, session_id: str, seq: int, *, is_deleted: bool) -> None:
    """Remember a decision of this moment, later than any that is known, whatever the clocks say."""
    known = deletion_of(connection, session_id)
    if not is_deleted if known is None else known.is_deleted == is_deleted:
        return
    at = now()
    if known is not None and known.at >= at:
        at = f"{known.at}+"  # sorts right after it
    connection.execute("INSERT OR REPLACE INTO deletions VALUES(?, ?, ?, ?)", (session_id, at, seq, is_deleted))


def last_said(connection: sqlite3.Connection, session_id: str) -> int:
    """The last event of a session's conversation; 0 without any.

    What comes after it, as the trash or the end, has other seqs elsewhere than what was said there.
    """
    row = connection.execute(_LAST_SAID, (session_id, *(kind.TYPE for kind in CONVERSATION))).fetchone()
    return int(row[0]) if row else 0


def _read(row: tuple[str, str, int, int]) -> Deletion:
    return Deletion(*row[:3], is_deleted=bool(row[3]))
