"""What this machine knows of the files in a database: which version each copy is of, and what was not sent yet."""

import contextlib
import hashlib
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.paths import ensure_file
from co_tui.store.sync.files.synced_file import SyncedFile

BUSY_S: Final = 5.0
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS known(
    name TEXT, place TEXT, version INTEGER, digest TEXT, changed_ns INTEGER, size INTEGER, body BLOB,
    PRIMARY KEY (name, place)
);
CREATE TABLE IF NOT EXISTS unsent(
    name TEXT, path TEXT, kind TEXT, key TEXT, session_id TEXT, joins INTEGER, PRIMARY KEY (name, path, key)
);
"""


class FileStatus(NamedTuple):
    """Of a file here: it changes whenever the file is written. Zeros if there is none."""

    changed_ns: int = 0
    size: int = 0


class KnownFile(NamedTuple):
    """A copy as it was when it was equal to the database."""

    version: int
    digest: str
    """Of the shared part, without secrets."""
    status: FileStatus


class EqualFile(NamedTuple):
    """A copy that is equal to the database now."""

    file: SyncedFile
    version: int
    body: str
    """The shared part, without secrets; empty if there is none."""
    status: FileStatus


class KnownFiles:
    """A small SQLite file, shared by the processes of this machine. What cannot be kept is found out again: a copy of
    an unknown version is merged."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def under(self, file: SyncedFile) -> dict[str, KnownFile]:
        """By name: of a file itself, or of those in a folder."""
        place = _place(file)
        query = "SELECT name, version, digest, changed_ns, size FROM known WHERE "
        if file.is_folder:
            rows = self._rows(
                f"{query} name >= ? AND name < ? AND place >= ? AND place < ?",
                (file.name, _after(file.name), f"{place}{os.sep}", _after(f"{place}{os.sep}")),
            )
        else:
            rows = self._rows(f"{query} name = ? AND place = ?", (file.name, place))
        return {name: KnownFile(version, digest, FileStatus(*status)) for name, version, digest, *status in rows}

    def body(self, file: SyncedFile) -> str:
        """The text of a file when it was equal; empty for one that only one machine at a time changes."""
        rows = self._rows("SELECT body FROM known WHERE name = ? AND place = ?", (file.name, _place(file)))
        return zlib.decompress(rows[0][0]).decode() if rows else ""

    def record(self, equal: Iterable[EqualFile]) -> None:
        rows = [
            (file.name, _place(file), version, digest(body), *status, _packed(file, body))
            for file, version, body, status in equal
        ]
        self._change("INSERT OR REPLACE INTO known VALUES(?, ?, ?, ?, ?, ?, ?)", *rows)

    def add_unsent(self, file: SyncedFile) -> None:
        self._change("INSERT OR REPLACE INTO unsent VALUES(?, ?, ?, ?, ?, ?)", (file.name, str(file.path), *file[2:]))

    def unsent(self) -> list[SyncedFile]:
        """All that was changed here and is not in the database as far as is known, by any process."""
        if not self._file.exists():
            return []
        rows = self._rows("SELECT name, path, kind, key, session_id, joins FROM unsent ORDER BY rowid", ())
        return [SyncedFile(name, Path(path), kind, key, id_, bool(joins)) for name, path, kind, key, id_, joins in rows]

    def sent(self, file: SyncedFile) -> None:
        values = (file.name, str(file.path), file.key)
        self._change("DELETE FROM unsent WHERE name = ? AND path = ? AND key = ?", values)

    def forget(self, session_id: str) -> None:
        """A session was deleted."""
        draft, prefix = f"drafts/{session_id}", f"sessions/{session_id}/"
        self._change("DELETE FROM unsent WHERE session_id = ? OR name = ?", (session_id, draft))
        self._change("DELETE FROM known WHERE name >= ? AND name < ? OR name = ?", (prefix, _after(prefix), draft))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with contextlib.suppress(sqlite3.Error, OSError), self._lock:
            return self._open().execute(query, values).fetchall()
        return []

    def _change(self, statement: str, *values: tuple[object, ...]) -> None:
        with contextlib.suppress(sqlite3.Error, OSError), self._lock, self._open() as connection:
            connection.executemany(statement, values)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(
                ensure_file(self._file), timeout=BUSY_S, check_same_thread=False, isolation_level="IMMEDIATE"
            )
            # A power cut may lose what was known, never what was written: that is found by looking at the files.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)
            self._connection = connection
        return self._connection


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _packed(file: SyncedFile, body: str) -> bytes:
    return zlib.compress(b"" if file.session_id else body.encode(), 1)


def _place(file: SyncedFile) -> str:
    return f"{file.path}\n{file.key}" if file.key else str(file.path)


def _after(prefix: str) -> str:
    """The first text after all that begin with a prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
