"""Opening the database, for reading and for writing."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TypeAlias

from co_tui.paths import ensure_file
from co_tui.store.search.session_filter import has_phrases
from co_tui.store.search.session_words import holds
from co_tui.store.sqlite.schema import SCHEMA_VERSION
from co_tui.store.sqlite.sqlite_failures import explained
from co_tui.store.sqlite.transaction import PATIENCE_S, PatientConnection
from co_tui.store.store_errors import StoreError

BUSY_TIMEOUT_S = 15.0
LARGEST_LOG_BYTES = 16_000_000
"""Size the write-ahead log is truncated to once its content is in the database."""

SessionFilter: TypeAlias = Callable[[str], bool]

_filters: dict[int, SessionFilter] = {}
_numbers = count(1)


def connect_for_writing(
    path: Path, locks: Path | None = None, report: Callable[[str], None] | None = None
) -> PatientConnection:
    """A connection in WAL mode whose commits survive a power cut, on a database of the present schema.

    `report` gets sentences about a long migration.
    """
    try:
        ensure_file(path)
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, factory=PatientConnection
        )
    except (sqlite3.Error, OSError) as error:
        raise explained(error, path) from error
    try:
        if checked_version(connection, path) < SCHEMA_VERSION:
            # Imported here: sqlite-utils takes a seventh of a second, and a current database needs none of it.
            from co_tui.store.sqlite.migrations import migrate

            migrate(connection, path, locks, report)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA busy_timeout={PATIENCE_S * 1000:.0f}")
        connection.execute(f"PRAGMA journal_size_limit={LARGEST_LOG_BYTES}")
    except sqlite3.Error as error:
        connection.close()
        raise explained(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def connect_in_memory() -> sqlite3.Connection:
    """A new database of the present schema that never reaches the disk, for reading and writing."""
    from co_tui.store.sqlite.migrations import create_schema

    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    # Large sorts would otherwise spill into temporary files.
    connection.execute("PRAGMA temp_store=MEMORY")
    _register_functions(connection)
    create_schema(connection)
    return connection


def connect_for_reading(path: Path, locks: Path | None = None) -> sqlite3.Connection | None:
    """A read-only connection; None while there is no database yet."""
    try:
        if not path.exists() or path.stat().st_size == 0:
            return None
    except OSError as error:
        raise explained(error, path) from error
    try:
        connection, version = _opened(path)
    except StoreError as error:
        if not _is_read_only_disk(error, path):
            raise
        connection, version = _opened(path, immutable=True)
    if version == 0:  # another process is creating it at this very moment
        connection.close()
        return None
    if version < SCHEMA_VERSION:
        connection.close()
        _migrate(path, version, locks)
        connection, version = _opened(path)
    return connection


def _migrate(path: Path, version: int, locks: Path | None) -> None:
    try:
        connect_for_writing(path, locks).close()
    except StoreError as error:
        raise StoreError(
            f"Database {path} is from an older co-tui (schema {version}, now {SCHEMA_VERSION}) and cannot be "
            f"upgraded: {error}"
        ) from error


def _opened(path: Path, *, immutable: bool = False) -> tuple[sqlite3.Connection, int]:
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if immutable else ''}"
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    except (sqlite3.Error, OSError) as error:
        raise explained(error, path) from error
    try:
        _register_functions(connection)
        return connection, checked_version(connection, path)
    except BaseException:
        connection.close()
        raise


def _is_read_only_disk(error: StoreError, path: Path) -> bool:
    """Whether reading failed because SQLite may not make its own files there, as on a read-only disk.

    Then no process writes there, and the file can be read as it is. Content of a write-ahead log would be missing:
    that raises `StoreError`.
    """
    cause = error.__cause__
    if getattr(cause, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return False
    left = path.with_name(f"{path.name}-wal")
    if left.exists() and left.stat().st_size:
        raise StoreError(
            f"Database {path} is on a read-only disk, with unsaved changes in {left.name}. "
            "Copy its folder to a writable place and set CO_TUI_HOME to it."
        ) from error
    return True


def checked_version(connection: sqlite3.Connection, path: Path) -> int:
    """The database's schema version, refused when this co-tui is too old for it."""
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise explained(error, path) from error
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"Database {path} is from a newer co-tui (schema {version}, this one knows {SCHEMA_VERSION}). "
            "Upgrade co-tui, or set CO_TUI_HOME to another folder."
        )
    return version


def _register_functions(connection: sqlite3.Connection) -> None:
    """Add the functions that queries call, once per connection: several queries may run on it at a time."""
    connection.create_function("holds", 2, holds, deterministic=True)
    connection.create_function("has_phrases", 2, has_phrases, deterministic=True)
    connection.create_function("passes", 2, lambda number, session_id: _filters[number](session_id))


@contextmanager
def session_filter(passes: SessionFilter) -> Iterator[int]:
    """The number by which a running query refers to the filter."""
    number = next(_numbers)
    _filters[number] = passes
    try:
        yield number
    finally:
        del _filters[number]
