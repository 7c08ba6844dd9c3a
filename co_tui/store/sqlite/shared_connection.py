"""The one connection of a store in memory."""

import sqlite3
import threading


class SharedConnection:
    """One connection to a database in memory, which its readers and its writer use in turn, each holding `lock`.

    The first write opens it; until then there is nothing to read.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def current(self) -> sqlite3.Connection | None:
        """None before the first write."""
        return self._connection

    def opened(self) -> sqlite3.Connection:
        from co_tui.store.sqlite.connect import connect_in_memory

        with self.lock:
            if (connection := self.current()) is None:
                connection = self._connection = connect_in_memory()
            return connection

    def __del__(self) -> None:
        # Not when the store is closed: what was written can still be read then, as with a file.
        if self._connection is not None:
            self._connection.close()
