"""Which sessions were deleted, and which came back: the latest decision counts on every machine."""

import sqlite3
from typing import Final

from co_tui.store.stored_values import Deletion
from co_tui.store.timestamps import now

_DELETION: Final = "SELECT session_id, at, seq, deleted FROM deletions"



def deletions(connection: sqlite3.Connection) -> list[Deletion]:
    return [Deletion(id_, at, seq, bool(deleted)) for id_, at, seq, deleted in connection.execute(_DELETION)]


def record_deletion(connection: sqlite3.Connection, deletion: Deletion) -> bool:
    """The latest decision counts; of two at the same moment, that to delete."""
    known = connection.execute(f"{_DELETION} WHERE session_id = ?", (deletion.session_id,)).fetchone()
    if known is not None and (known[1], known[3]) >= (deletion.at, deletion.is_deleted):
        return False
    connection.execute("INSERT OR REPLACE INTO deletions VALUES(?, ?, ?, ?)", deletion)
    return True


def decide(connection: sqlite3.Connection, session_id: str, seq: int, *, is_deleted: bool) -> None:
    """Remember a decision of this moment, later than any that is known, whatever the clocks say."""
    known = connection.execute("SELECT at, deleted FROM deletions WHERE session_id = ?", (session_id,)).fetchone()
    if known is None and not is_deleted or known is not None and bool(known[1]) == is_deleted:
        return
    at = now()
    if known is not None and known[0] >= at:
        at = f"{known[0]}+"  # sorts right after it
    connection.execute("INSERT OR REPLACE INTO deletions VALUES(?, ?, ?, ?)", (session_id, at, seq, is_deleted))
