"""Reports which sessions grow, by LISTEN and NOTIFY, on one connection for all that this process follows.

A notification is sent with the transaction that appends. CockroachDB and YugabyteDB have none: there, and while the
connection is lost, sessions are polled.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, Self

import psycopg

from co_tui.store.postgres.server import Server
from co_tui.store.store_errors import StoreError

CHANNEL: Final = "co_tui_events"
POLL_S: Final = 1.0
"""How often a session is read while no changes are reported."""
POLL_LISTENING_S: Final = 10.0
"""The same while they are: a proxy between may lose them."""
WAKE_S: Final = 0.25
"""How long the thread waits for a notification before it looks whether it is still needed."""
RECONNECT_S: Final = 2.0
CLOSE_S: Final = 2.0
"""How long closing waits for the thread, which may be connecting to a server that is away."""


def can_notify(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has LISTEN and NOTIFY; known without asking it."""
    reported = connection.info.parameter_status
    return reported("crdb_version") is None and "-YB-" not in (reported("server_version") or "")


def notify(connection: psycopg.Connection[Any], session_id: str, seq: int) -> None:
    """Report to all followers that a session has grown, when the transaction is committed. Carries no content."""
    if can_notify(connection):
        connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, f"{seq} {session_id}"))


class ChangeListener:
    """Has a thread and a connection while any session is followed."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._followed: set[Follower] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._idle = threading.Event()
        """Set when nothing is followed any more."""
        self._is_heard = True
        """False once the server has shown that it sends no notifications."""
        self.is_listening = False

    def follow(self, session_id: str, changed: Callable[[], None]) -> "Follower":
        follower = Follower(self, session_id, changed)
        with self._lock:
            self._followed.add(follower)
            self._idle.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="store-listener", daemon=True)
                self._thread.start()
        return follower

    def leave(self, follower: "Follower") -> None:
        with self._lock:
            self._followed.discard(follower)
            if not self._followed:
                self._idle.set()

    def close(self) -> None:
        """End the thread and its connection."""
        with self._lock:
            self._followed.clear()
            self._idle.set()
            thread = self._thread
        if thread is not None:
            thread.join(CLOSE_S)

    def _run(self) -> None:
        while not self._is_done():
            try:
                self._listen()
            except (psycopg.Error, StoreError):
                pass  # followers poll meanwhile
            finally:
                self.is_listening = False
            self._idle.wait(RECONNECT_S if self._is_heard else None)

    def _is_done(self) -> bool:
        with self._lock:
            if self._followed:
                return False
            self._thread = None
            return True

    def _listen(self) -> None:
        """Pass notifications on until nothing is followed. Raises when the connection is lost, or cannot be had."""
        with self._server.connect() as connection:
            self._is_heard = can_notify(connection)
            if not self._is_heard:
                return
            connection.execute(f"LISTEN {CHANNEL}".encode())
            self.is_listening = True
            self._report(None)  # what came while nothing was heard
            while not self._idle.is_set():
                for each in connection.notifies(timeout=WAKE_S):
                    self._report(each.payload.partition(" ")[2])

    def _report(self, session_id: str | None) -> None:
        """Call the followers of a session, or all."""
        with self._lock:
            concerned = [each for each in self._followed if session_id in (None, each.session_id)]
        for each in concerned:
            each.changed()


class Follower:
    """One session that is followed."""

    def __init__(self, listener: ChangeListener, session_id: str, changed: Callable[[], None]) -> None:
        self._listener = listener
        self.session_id, self.changed = session_id, changed

    @property
    def poll_s(self) -> float:
        return POLL_LISTENING_S if self._listener.is_listening else POLL_S

    def close(self) -> None:
        self._listener.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
