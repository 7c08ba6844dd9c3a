"""What an earlier version kept in files of its own while the server was away: taken into the store once."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.events import Event
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.lock import SessionLockFile
from co_tui.store.sqlite.reader import Reader
from co_tui.store.store_errors import SessionBusy

SUFFIX: Final = ".db"


class KeptSession(NamedTuple):
    """The part of a session that is only here."""

    session_id: str
    base: int
    """The last seq that the server has; 0 for a session that is here as a whole."""
    events: list[Event]
    reply: list[str]
    """The pieces of a reply that was being written."""


@contextmanager
def kept_sessions(folder: Path, location: str) -> Iterator[list[KeptSession]]:
    """What is kept for a server. The files are removed at the end, unless something is raised."""
    folder = folder / hashlib.sha256(location.encode()).hexdigest()[:16]
    locks: list[SessionLockFile] = []
    paths: list[Path] = []
    try:
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            lock = SessionLockFile(folder, path.stem)
            with suppress(SessionBusy):  # an earlier version is still running
                lock.acquire()
                locks.append(lock)
                paths.append(path)
        yield [session for path in paths for session in _read(path)]
        for path in paths:
            for each in folder.glob(f"{path.name}*"):  # with SQLite's own files
                each.unlink(missing_ok=True)
    finally:
        for lock in locks:
            lock.release()


def _read(path: Path) -> list[KeptSession]:
    with closing(connect_for_writing(path)) as connection:
        try:
            kept = connection.execute("SELECT session_id, base FROM kept ORDER BY rowid").fetchall()
        except sqlite3.OperationalError:  # it was never begun
            return []
    with Reader(path) as reading:
        return [
            KeptSession(session_id, base, list(reading.events(session_id)), reading.partial_reply(session_id))
            for session_id, base in kept
        ]
