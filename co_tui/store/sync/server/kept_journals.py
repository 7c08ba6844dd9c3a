"""What an earlier version kept in files of its own while the server was away: taken into the store once."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.events import Event
from co_tui.events.decisions import Source, without_decisions
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.lock import SessionLockFile
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.schema import OF_REPLY, REPLY_SLOT, REPLY_SLOTS
from co_tui.store.store_errors import SessionBusy
from co_tui.store.sync.branches import forked
from co_tui.store.sync.server import server_rows
from co_tui.store.sync.server.checked_rows import BadRows
from co_tui.store.sync.server.server import Connection

SUFFIX: Final = ".db"


class KeptSession(NamedTuple):
    """The part of a session that is only here."""

    session_id: str
    base: int
    """The last seq that the server has; 0 for a session that is here as a whole."""
    events: list[Event]
    reply: dict[int, str]
    """The pieces of a reply that was being written, by number; earlier ones are on the server."""
    ends_reply: bool
    """Whether the reply that the server has a part of is over."""


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


def whole_log(connection: Connection, kept: KeptSession) -> list[Event]:
    """What was kept, behind what the server has of the session. If that is gone, what was kept is a fork; empty if
    nothing was."""
    try:
        before = server_rows.events(connection, kept.session_id, 0, kept.base) if kept.base else []
    except BadRows:
        before = []
    if len(before) == kept.base:
        return [*before, *kept.events]
    return list(without_decisions(forked(kept.events, 0), Source.OWN)) if kept.events else []


def _read(path: Path) -> list[KeptSession]:
    with closing(connect_for_writing(path)) as connection:
        try:
            kept = connection.execute("SELECT session_id, base, ends_reply FROM kept ORDER BY rowid").fetchall()
        except sqlite3.OperationalError:  # it was never begun
            return []
        with Reader(path) as reading:
            return [
                KeptSession(
                    session_id, base, list(reading.events(session_id)), _reply(connection, session_id), bool(ends_reply)
                )
                for session_id, base, ends_reply in kept
            ]


def _reply(connection: sqlite3.Connection, session_id: str) -> dict[int, str]:
    rows = connection.execute(f"SELECT slot, body FROM drafts WHERE {OF_REPLY}", (session_id, *REPLY_SLOTS))
    return {int(slot.removeprefix(REPLY_SLOT).lstrip("#") or 0): body for slot, body in rows}
