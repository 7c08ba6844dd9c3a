"""Sessions that are being written or removed: what they hold above a seq is not to be seen."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from co_tui.store.store_errors import StoreError
from co_tui.store.timestamps import now, written

ABANDONED_AFTER = timedelta(minutes=10)
"""Since the last step of a process; its number may belong to another one by then."""

_at_work: set[str] = set()
"""The sessions that this process writes or removes now."""


class Unfinished(NamedTuple):
    """What one process writes or removes."""

    session_id: str
    after_seq: int
    """The last event that counts; 0 for none."""
    owner: str
    touched: str

    @property
    def is_abandoned(self) -> bool:
        """Whether no process continues it."""
        if self.owner == str(os.getpid()):
            return self.session_id not in _at_work
        return self.touched < written(datetime.now(UTC) - ABANDONED_AFTER) or not _is_alive(int(self.owner))


@contextmanager
def at_work(session_id: str) -> Iterator[None]:
    """Until the end of the block, this process goes on with the session."""
    _at_work.add(session_id)
    try:
        yield
    finally:
        _at_work.discard(session_id)


def find(connection: sqlite3.Connection, session_id: str) -> Unfinished | None:
    row = connection.execute("SELECT * FROM unfinished WHERE session_id = ?", (session_id,)).fetchone()
    return Unfinished(*row) if row else None


def abandoned(connection: sqlite3.Connection) -> list[Unfinished]:
    rows = connection.execute("SELECT * FROM unfinished").fetchall()
    return [each for row in rows if (each := Unfinished(*row)).is_abandoned]


def refuse_if_written(each: Unfinished) -> None:
    """Raises `StoreError` while a process is at it."""
    if not each.is_abandoned:
        raise StoreError(
            f"Session {each.session_id} is being written by another co-tui (process {each.owner}). "
            "Try again when it is done."
        )


def claim(connection: sqlite3.Connection, session_id: str, after_seq: int) -> None:
    """Hide what is above a seq from now on. The caller holds the transaction, as in all that follows."""
    connection.execute(
        "INSERT OR REPLACE INTO unfinished(session_id, after_seq, owner, touched) VALUES(?, ?, ?, ?)",
        (session_id, after_seq, str(os.getpid()), now()),
    )


def touch(connection: sqlite3.Connection, session_id: str) -> None:
    """Raises `StoreError` when another process has taken it over."""
    updated = connection.execute(
        "UPDATE unfinished SET touched = ? WHERE session_id = ? AND owner = ?", (now(), session_id, str(os.getpid()))
    )
    if updated.rowcount == 0:
        raise StoreError(f"Session {session_id} was changed by another co-tui. Try again.")


def release(connection: sqlite3.Connection, session_id: str) -> None:
    connection.execute("DELETE FROM unfinished WHERE session_id = ?", (session_id,))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
