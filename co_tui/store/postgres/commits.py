"""Transactions that are made exactly once, although a connection may be lost while one is committed.

Each writer has a row with the number of its last transaction, which every transaction raises. After a connection was
lost, that number says whether the commit happened; reading it waits for a transaction that the server still works on.
"""

import contextlib
from collections.abc import Callable
from typing import Any, Final

import psycopg

from co_tui.store.postgres.migrations import migrate
from co_tui.store.postgres.postgres_failures import explained, is_lost
from co_tui.store.postgres.server import PROGRAM, Server
from co_tui.store.store_errors import StoreError

_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
"""What is acknowledged survives the server's death, whatever its usual setting."""
_REGISTER: Final = "INSERT INTO writers(id) VALUES(%s) ON CONFLICT (id) DO NOTHING"
_LAST: Final = "SELECT number FROM writers WHERE id = %s FOR UPDATE"
_END_LOST: Final = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name = %s AND usename = current_user AND pid <> pg_backend_pid()"
)
_RAISE: Final = "UPDATE writers SET number = %s, seen = now() WHERE id = %s"
FORGET_WRITERS: Final = "DELETE FROM writers WHERE seen < now() - interval '90 days'"


class CommitInDoubt(Exception):
    """The connection was lost before the answer to a commit came."""

    def __init__(self, number: int, reason: StoreError) -> None:
        super().__init__(str(reason))
        self.number, self.reason = number, reason


class Commits:
    """The writing connection, opened again whenever it was lost."""

    def __init__(self, server: Server, writer: str) -> None:
        self._server = server
        self._writer, self._name = writer, f"{PROGRAM} {writer}"
        self._was_connected = False
        self._connection: psycopg.Connection[Any] | None = None
        self._number = 0

    def connected(self) -> None:
        """Connect if there is no connection. Raises `StoreError`."""
        if self._connection is not None and not self._connection.closed:
            return
        connection = self._server.connect(name=self._name)
        try:
            migrate(connection, self._server.location)
            self._end_lost(connection)
            connection.execute(_DURABLE)
            connection.execute(_REGISTER, (self._writer,))
            self._number = connection.execute(_LAST, (self._writer,)).fetchone()[0]  # type: ignore[index]
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.Error):
                raise explained(error, self._server.location) from error
            raise
        self._connection = connection

    def _end_lost(self, connection: psycopg.Connection[Any]) -> None:
        """End this writer's earlier connection, if the server does not know that it is lost: in the middle of a
        transaction it would hold its locks for hours. Not on CockroachDB."""
        if self._was_connected:
            with contextlib.suppress(psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFunction):
                connection.execute(_END_LOST, (self._name,))
        self._was_connected = True

    def is_committed(self, number: int) -> bool:
        """Whether a transaction that was in doubt has happened; known once connected again."""
        return self._number >= number

    def make(self, work: Callable[[psycopg.Connection[Any]], None]) -> None:
        """Do the work in a transaction, sent in as few round trips as it has questions.

        Raises `CommitInDoubt` when the connection is lost, `psycopg.Error` when nothing was done.
        """
        self.connected()
        connection = self._connection
        assert connection is not None
        number = self._number + 1
        try:
            with connection.pipeline():
                connection.execute("BEGIN")
                connection.execute(_RAISE, (number, self._writer))
                work(connection)
                done = connection.execute("COMMIT")
            if done.statusmessage != "COMMIT":
                raise psycopg.OperationalError(f"the server answered {done.statusmessage} to COMMIT")
        except BaseException as error:
            self._undo(connection)
            if isinstance(error, psycopg.Error) and is_lost(error, connection):
                raise CommitInDoubt(number, explained(error, self._server.location)) from error
            raise
        self._number = number

    def ask(self, question: Callable[[psycopg.Connection[Any]], None]) -> None:
        """Run a statement outside of the numbered transactions. Raises `StoreError`."""
        self.connected()
        assert self._connection is not None
        try:
            question(self._connection)
        except psycopg.Error as error:
            self._undo(self._connection)
            raise explained(error, self._server.location) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _undo(self, connection: psycopg.Connection[Any]) -> None:
        """After a failure: back to no transaction, or without the connection."""
        try:
            if not connection.closed:
                connection.execute("ROLLBACK")
                connection.execute("DEALLOCATE ALL")  # some were never prepared, as psycopg believes
        except psycopg.Error:
            connection.close()
        if connection.closed:
            self._connection = None
