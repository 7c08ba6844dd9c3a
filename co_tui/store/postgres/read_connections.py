"""Connections for reading, kept open for the next reader: opening one takes several round trips."""

import threading
from typing import Final

import psycopg

from co_tui.store.postgres.log import Connection
from co_tui.store.postgres.migrations import migrate
from co_tui.store.postgres.postgres_failures import explained
from co_tui.store.postgres.server import READ_ONLY, Server

MOST_KEPT: Final = 4


class ReadConnections:
    """Those that no reader uses now."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kept: list[Connection] = []
        self._closed = False
        self._is_current = False
        self._lock = threading.Lock()

    @property
    def location(self) -> str:
        return self._server.location

    def take(self) -> Connection:
        """A connection that cannot write. Raises `StoreError`."""
        with self._lock:
            while self._kept:
                connection = self._kept.pop()
                if not connection.closed:
                    return connection
        if self._is_current:
            return self._server.connect(read_only=True)
        connection = self._server.connect()
        try:
            migrate(connection, self.location)
            self._is_current = True
            for name, value in READ_ONLY.items():
                connection.execute(f"SET {name} TO {value}".encode())
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.Error):
                raise explained(error, self.location) from error
            raise
        return connection

    def give_back(self, connection: Connection) -> None:
        with self._lock:
            if not self._closed and not connection.closed and len(self._kept) < MOST_KEPT:
                self._kept.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Keep none from now on; readers that are open can still be used."""
        with self._lock:
            self._closed, kept = True, self._kept
            self._kept = []
        for connection in kept:
            connection.close()
