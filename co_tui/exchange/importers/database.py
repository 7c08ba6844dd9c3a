"""Read-only access to SQLite databases of other programs.

A schema can run code: views, virtual tables, generated columns. Only ordinary tables are read, column by column, and
what that takes is bounded.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Self

from co_tui.exchange.importers.foreign_files import file_time
from co_tui.exchange.importers.imported import ImportRefused

MAX_VALUE_BYTES: Final = 64_000_000
BUSY_TIMEOUT_S: Final = 5.0
MOST_STEPS: Final = 2_000_000_000
"""Of SQLite's virtual machine, for all queries together: about half a minute."""
STEPS_AT_ONCE: Final = 100_000
LEAST_READ_BYTES: Final = 500_000_000
"""May be read of a database of any size; of a larger one, twice its size. A small file can repeat large values."""
ROW_BYTES: Final = 200
"""Counted for each row: small rows take memory and time, too, and can be read again for each of many sessions."""
MOST_TABLES: Final = 1_000
_GENERATED: Final = (2, 3)

Row = dict[str, Any]
"""Values by their columns."""


class Database:
    """A read-only view; writes no files next to it unless another process has it open."""

    def __init__(self, path: Path) -> None:
        """Raises `ImportRefused`."""
        self._path = path
        self.modified = file_time(path.stat())
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
        size = path.stat().st_size + (log.stat().st_size if log.exists() else 0)
        self._bytes_left = max(LEAST_READ_BYTES, 2 * size)
        self._steps_left = MOST_STEPS
        self._columns: dict[str, frozenset[str]] = {}
        self._connection.set_progress_handler(self._step, STEPS_AT_ONCE)
        try:
            self._columns = dict(self._tables())
        except BaseException:
            self._connection.close()
            raise
        self._connection.set_authorizer(self._authorize)

    def _tables(self) -> Iterator[tuple[str, frozenset[str]]]:
        """The ordinary tables without generated columns, and their columns."""
        # What is not a table has no page of its own; the text is what SQLite goes by, not the type.
        sql = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE%' LIMIT ?"
        )
        for table in [str(row["name"]) for row in self.rows(sql, MOST_TABLES)]:
            found = list(self.rows("SELECT name, hidden FROM pragma_table_xinfo(?)", table))
            if not any(row["hidden"] in _GENERATED for row in found):
                yield table, frozenset(str(row["name"]) for row in found)

    def columns(self, table: str) -> frozenset[str]:
        """Of an ordinary table; none when there is no such table."""
        return self._columns.get(table, frozenset())

    def select(self, table: str, wanted: Iterable[str], rest: str = "", *values: Any) -> Iterator[Row]:
        """The columns of a table that it has, of those that are wanted; nothing when there is no such table."""
        known = self.columns(table)
        named = ", ".join(f'"{name}"' for name in wanted if name in known)
        return self.rows(f'SELECT {named} FROM "{table}" {rest}', *values) if named else iter(())

    def rows(self, sql: str, *values: Any) -> Iterator[Row]:
        """Raises `ImportRefused` when the database is damaged, or reading it takes too much."""
        try:
            for row in self._connection.execute(sql, values):
                self._bytes_left -= ROW_BYTES + sum(len(value) for value in row if isinstance(value, str | bytes))
                if self._bytes_left < 0:
                    raise self._too_much()
                yield dict(row)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for the names of columns
            raise (self._too_much() if self._steps_left < 0 else self._damaged(error)) from None

    def _step(self) -> bool:
        """Whether to stop."""
        self._steps_left -= STEPS_AT_ONCE
        return self._steps_left < 0

    def _authorize(self, action: int, table: str | None, _column: Any, _schema: Any, view: str | None) -> int:
        is_read = action == sqlite3.SQLITE_READ and table in self._columns
        return (
            sqlite3.SQLITE_OK if view is None and (is_read or action == sqlite3.SQLITE_SELECT) else sqlite3.SQLITE_DENY
        )

    def _too_much(self) -> ImportRefused:
        return ImportRefused(f"Cannot read database {self._path}: it takes too long, or holds too much.")

    def _damaged(self, error: Exception) -> ImportRefused:
        return ImportRefused(f"Cannot read database {self._path}: {error}.")

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
