"""What a process keeps here while the server is away: a SQLite file with our own store's tables, for its owner only.

A file has one owner, which holds a lock; the next process finds those of processes that ended.
"""

import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.events import Event, Fact
from co_tui.store.event_rows import EventRow
from co_tui.store.sqlite import log
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.lock import SessionLockFile
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.schema import REPLY_SLOT, REPLY_SLOTS
from co_tui.store.sqlite.sqlite_failures import explained
from co_tui.store.sqlite.transaction import transaction
from co_tui.store.timestamps import now

SUFFIX: Final = ".db"
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS kept(session_id TEXT PRIMARY KEY, base INTEGER NOT NULL, lease INTEGER NOT NULL,"
    " ends_reply INTEGER NOT NULL, fork_id TEXT NOT NULL)"
)
_KEPT: Final = "SELECT session_id, base, lease, ends_reply, fork_id FROM kept"
_REPLY: Final = "SELECT slot, body FROM drafts WHERE session_id = ? AND (slot = ? OR slot GLOB ?) ORDER BY slot"


class KeptSession(NamedTuple):
    """The part of a session that is only here."""

    session_id: str
    base: int
    """The last seq that the server has; 0 for a session that is here as a whole."""
    lease: int
    """The number of the lease it was written under; 0 without one."""
    ends_reply: bool
    """Whether the partial reply on the server is over."""
    fork_id: str
    """What the session it may become is called; fixed, so that there is never a second one."""


class KeptReply(NamedTuple):
    """A piece of a partial reply."""

    number: int
    body: str


class Journal:
    """The file of one process. Used by one thread; readers open the file themselves."""

    def __init__(self, folder: Path, name: str = "") -> None:
        """Begin a file, or take the one that another process left. Raises `SessionBusy` when it is in use."""
        name = name or uuid.uuid4().hex
        self.path = folder / f"{name}{SUFFIX}"
        self._lock = SessionLockFile(folder, name)
        self._lock.acquire()
        try:
            self._connection = connect_for_writing(self.path)
            self._rows(_TABLE)
        except BaseException:
            self._lock.release()
            raise

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Everything inside is durable at the end, or undone. Raises `StoreError`."""
        try:
            with transaction(self._connection):
                yield
        except sqlite3.Error as error:
            raise explained(error, self.path) from error

    def sessions(self) -> list[KeptSession]:
        return [self._made(row) for row in self._rows(f"{_KEPT} ORDER BY rowid")]

    def find(self, session_id: str) -> KeptSession | None:
        rows = self._rows(f"{_KEPT} WHERE session_id = ?", session_id)
        return self._made(rows[0]) if rows else None

    def _rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise explained(error, self.path) from error

    def _made(self, row: tuple[Any, ...]) -> KeptSession:
        session_id, base, lease, ends_reply, fork_id = row
        return KeptSession(session_id, base, lease, bool(ends_reply), fork_id)

    def begin(self, session_id: str, base: int, lease: int, fork_id: str) -> None:
        """Keep what follows a seq of a session."""
        log.create(self._connection, session_id, now())
        self._connection.execute("UPDATE sessions SET last_seq = ? WHERE id = ?", (base, session_id))
        self._connection.execute("INSERT INTO kept VALUES(?, ?, ?, 0, ?)", (session_id, base, lease, fork_id))

    def append(self, session_id: str, facts: Sequence[Fact]) -> tuple[Event, ...]:
        return log.append(self._connection, session_id, facts)

    def put(self, session_id: str, events: Sequence[Event]) -> None:
        """Keep events that the server may have, too: their numbers and times stay as they are."""
        counters, places = log.counters_of(self._connection, session_id), log.TextPlaces()
        assert counters is not None
        for event in events:
            log.insert(self._connection, EventRow.of(event), places)
            counters.count(event)
        log.save(self._connection, session_id, counters)

    def save_reply(self, session_id: str, number: int, body: str) -> None:
        if number == 0:
            self.end_reply(session_id)
        log.save_reply(self._connection, session_id, number, body)

    def end_reply(self, session_id: str) -> None:
        log.drop_reply(self._connection, session_id)
        self._connection.execute("UPDATE kept SET ends_reply = 1 WHERE session_id = ?", (session_id,))

    def recover(self, session_id: str) -> tuple[Event, ...]:
        events = log.recover(self._connection, session_id)
        self.end_reply(session_id)
        return events

    def events(self, session_id: str) -> list[Event]:
        with Reader(self.path) as reading:
            return list(reading.events(session_id))

    def reply(self, session_id: str) -> list[KeptReply]:
        rows = self._rows(_REPLY, session_id, *REPLY_SLOTS)
        return [KeptReply(int(slot.removeprefix(REPLY_SLOT).lstrip("#") or 0), body) for slot, body in rows]

    def remove(self, session_id: str) -> None:
        """The server has all of it."""
        with self.changing():
            self._connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
            for table in ("kept", "events", "drafts", "message_texts"):
                self._connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))

    def close(self) -> None:
        """Leave the file to the next process, unless nothing is in it."""
        try:
            is_empty = not self.sessions()
            self._connection.close()
            if is_empty:
                for path in self.path.parent.glob(f"{self.path.name}*"):  # with SQLite's own files
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise explained(error, self.path) from error
        finally:
            self._lock.release()
