"""Read-only access to SQLite databases of other programs."""

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from co_tui.exchange.importers.imported import ImportRefused

MAX_VALUE_BYTES: Final = 64_000_000
BUSY_TIMEOUT_S: Final = 5.0

Row = dict[str, Any]
"""Values by their columns."""


class Database:
    """A read-only view; writes no files next to it unless another process has it open."""

    def __init__(self, path: Path) -> None:
        """Raises `ImportRefused`."""
        self._path = path
        self.modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        # Changes in a write-ahead log next to it belong to it.
        log = path.with_name(f"{path.name}-wal")
        mode = "ro" if log.exists() and log.stat().st_size else "ro&immutable=1"
        try:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=BUSY_TIMEOUT_S
            )
        except sqlite3.Error as error:
            raise self._damaged(error) from None
        self._connection.row_factory = sqlite3.Row
        self._connection.text_factory = lambda text: text.decode(errors="replace")
        with contextlib.suppress(sqlite3.Error):
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        self._connection.execute("PRAGMA trusted_schema=OFF")
        self._columns: dict[str, frozenset[str]] = {}

    def columns(self, table: str) -> frozenset[str]:
        """Of a table; none when there is no such table. Views are ignored: they run code."""
        if table not in self._columns:
            is_table = list(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table))
            found = self.rows("SELECT name FROM pragma_table_info(?)", table) if is_table else ()
            self._columns[table] = frozenset(str(row["name"]) for row in found)
        return self._columns[table]

    def rows(self, sql: str, *values: Any) -> Iterator[Row]:
        """Raises `ImportRefused` when the database is damaged."""
        try:
            for row in self._connection.execute(sql, values):
                yield dict(row)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for the names of columns
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> ImportRefused:
        return ImportRefused(f"Cannot read database {self._path}: {error}.")

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
