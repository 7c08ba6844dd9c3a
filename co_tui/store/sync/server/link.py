"""The connection of the sync's thread."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import psycopg

from co_tui.store.sync.server.checked_rows import is_session_id
from co_tui.store.sync.server.migrations import migrate
from co_tui.store.sync.server.server import Connection, Server
from co_tui.store.sync.server.server_failures import explained, is_lost
from co_tui.store.sync.server.server_rows import CHANNEL, can_notify
from co_tui.store.sync.server.waker import Waker

DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
"""What counts as pushed survives the server's death, whatever its usual setting."""


class Link:
    """Used by one thread."""

    def __init__(self, make_server: Callable[[], Server], waker: Waker) -> None:
        self._make_server, self._waker = make_server, waker
        self._server: Server | None = None
        self._connection: Connection | None = None
        self.can_notify = False

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    @property
    def location(self) -> str:
        return self._server.location if self._server is not None else ""

    @property
    def host(self) -> str:
        return self._opened_server().host

    def redacted(self, text: str) -> str:
        """A text, or the values of one that is JSON, without secrets."""
        return self._opened_server().redaction.get().json_text(text)

    def connected(self) -> tuple[Connection, bool]:
        """The connection, and whether it is a new one. Raises `StoreError`."""
        if self._connection is not None and not self._connection.closed:
            return self._connection, False
        server = self._opened_server()
        connection = server.connect()
        try:
            migrate(connection, server.location)
            connection.execute(DURABLE)
            self.can_notify = can_notify(connection)
            if self.can_notify:
                connection.execute(f"LISTEN {CHANNEL}".encode())
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.Error):
                raise explained(error, server.location) from error
            raise
        self._connection = connection
        return connection, True

    def wait(self, timeout_s: float | None) -> set[str]:
        """Wait; returns the sessions that the server reported as changed. Raises `psycopg.Error`."""
        heard = self._heard()  # came with the answer to something else
        is_sending = self._waker.wait(self._connection, 0.0 if heard else timeout_s)
        return heard | self._heard() if is_sending else heard

    def _heard(self) -> set[str]:
        if self._connection is None:
            return set()
        own = self._connection.info.backend_pid
        heard = {each.payload.partition(" ")[2] for each in self._connection.notifies(timeout=0) if each.pid != own}
        return set(filter(is_session_id, heard))  # any user can send one

    def failed(self, error: psycopg.Error) -> Exception:
        """The sentence for a failure; a connection that is lost, or in an unknown state, is closed."""
        connection = self._connection
        if connection is not None and not is_lost(error, connection):
            with suppress(psycopg.Error):
                connection.rollback()
        if connection is None or is_lost(error, connection) or isinstance(error, psycopg.OperationalError):
            self.close()
        return explained(error, self.location)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened_server(self) -> Server:
        if self._server is None:
            self._server = self._make_server()
        return self._server
