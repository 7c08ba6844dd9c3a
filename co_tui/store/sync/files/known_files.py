"""What this machine knows of the files in a database: which version each copy is of, and what was not sent yet."""

import contextlib
import hashlib
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from co_tui.paths import ensure_file
from co_tui.store.sync.files.synced_file import SyncedFile

if TYPE_CHECKING:
    from sqlite_utils import Database

BUSY_S: Final = 5.0
_KNOWN: Final = {
    "name": str, "place": str, "version": int, "digest": str, "changed_ns": int, "size": int, "body": bytes
}  # fmt: skip
_STATE: Final = ("name", "version", "digest", "changed_ns", "size")
_UNSENT: Final = {"name": str, "path": str, "kind": str, "key": str, "session_id": str, "joins": int}


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
        self._database: Database | None = None

    def under(self, file: SyncedFile) -> dict[str, KnownFile]:
        """By name: of a file itself, or of those in a folder."""
        place = _place(file)
        if file.is_folder:
            bounds = (file.name, _after(file.name), f"{place}{os.sep}", _after(f"{place}{os.sep}"))
            rows = self._rows("known", _STATE, "name >= ? AND name < ? AND place >= ? AND place < ?", bounds)
        else:
            rows = self._rows("known", _STATE, "name = ? AND place = ?", (file.name, place))
        return {name: KnownFile(version, digest, FileStatus(*status)) for name, version, digest, *status in rows}

    def body(self, file: SyncedFile) -> str:
        """The text of a file when it was equal; empty for one that only one machine at a time changes."""
        rows = self._rows("known", ("body",), "name = ? AND place = ?", (file.name, _place(file)))
        with contextlib.suppress(zlib.error, TypeError, ValueError):  # damaged
            return zlib.decompress(rows[0][0]).decode() if rows else ""
        return ""

    def record(self, equal: Iterable[EqualFile]) -> None:
        rows = [
            (file.name, _place(file), version, digest(body), *status, _packed(file, body))
            for file, version, body, status in equal
        ]
        named = [dict(zip(_KNOWN, row, strict=True)) for row in rows]
        self._change(lambda database: database.table("known").insert_all(named, replace=True))

    def add_unsent(self, file: SyncedFile) -> None:
        row = dict(zip(_UNSENT, (file.name, str(file.path), *file[2:]), strict=True))
        self._change(lambda database: database.table("unsent").insert(row, replace=True))

    def unsent(self) -> list[SyncedFile]:
        """All that was changed here and is not in the database as far as is known, by any process."""
        if not self._file.exists():
            return []
        rows = self._rows("unsent", tuple(_UNSENT))
        return [SyncedFile(name, Path(path), kind, key, id_, bool(joins)) for name, path, kind, key, id_, joins in rows]

    def sent(self, file: SyncedFile) -> None:
        named = (file.name, str(file.path), file.key)
        where = "name = ? AND path = ? AND key = ?"
        self._change(lambda database: database.table("unsent").delete_where(where, named))

    def forget(self, session_id: str) -> None:
        """A session was deleted."""
        draft, prefix = f"drafts/{session_id}", f"sessions/{session_id}/"

        def delete(database: "Database") -> None:
            database.table("unsent").delete_where("session_id = ? OR name = ?", (session_id, draft))
            named = (prefix, _after(prefix), draft)
            database.table("known").delete_where("name >= ? AND name < ? OR name = ?", named)

        self._change(delete)

    def open(self) -> None:
        """Open the file now, in this thread: the library that it needs takes a moment to load."""
        with contextlib.suppress(sqlite3.Error, OSError, UnicodeError), self._lock:
            self._opened()

    def close(self) -> None:
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _rows(
        self, table: str, columns: Sequence[str], where: str | None = None, values: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:
        """The columns of the rows, oldest first."""
        with contextlib.suppress(sqlite3.Error, OSError, UnicodeError), self._lock:
            found = self._opened().table(table).rows_where(where, values, select=", ".join(columns), order_by="rowid")
            return [tuple(row.values()) for row in found]
        return []

    def _change(self, work: "Callable[[Database], object]") -> None:
        """Do it in a transaction that waits for other processes before it reads anything."""
        with contextlib.suppress(sqlite3.Error, OSError, UnicodeError), self._lock:
            database = self._opened()
            database.conn.execute("BEGIN IMMEDIATE")
            with database.conn:
                work(database)

    def _opened(self) -> "Database":
        if self._database is None:
            from sqlite_utils import Database  # slow to import, and only needed with a server

            connection = sqlite3.connect(
                ensure_file(self._file), timeout=BUSY_S, check_same_thread=False, isolation_level=None
            )
            # A power cut may lose what was known, never what was written: that is found by looking at the files.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = WAL")
            database = Database(connection, execute_plugins=False)
            database.table("known").create(_KNOWN, pk=("name", "place"), if_not_exists=True)
            database.table("unsent").create(_UNSENT, pk=("name", "path", "key"), if_not_exists=True)
            self._database = database
        return self._database


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _packed(file: SyncedFile, body: str) -> bytes:
    return zlib.compress(b"" if file.session_id else body.encode(), 1)


def _place(file: SyncedFile) -> str:
    return f"{file.path}\n{file.key}" if file.key else str(file.path)


def _after(prefix: str) -> str:
    """The first text after all that begin with a prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
