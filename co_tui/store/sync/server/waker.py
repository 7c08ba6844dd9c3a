"""What ends the waiting of the sync's thread: a request, something from the server, or the time."""

import select
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from co_tui.store.sync.server.server import Connection


class Waker:
    """Ends the waiting of another thread."""

    def __init__(self) -> None:
        self._reading, self._writing = socket.socketpair()
        for each in (self._reading, self._writing):
            each.setblocking(False)

    def wake(self) -> None:
        with suppress(OSError):  # it is woken already, or closed
            self._writing.send(b"\0")

    def wait(self, connection: "Connection | None", timeout_s: float | None) -> bool:
        """Until woken, the server sends something, or the time is over; whether the server did."""
        heard: list[socket.socket | Connection] = [self._reading, *([connection] if connection is not None else [])]
        ready, _, _ = select.select(heard, [], [], timeout_s)
        if self._reading in ready:
            with suppress(OSError):
                while self._reading.recv(1024):
                    pass
        return connection in ready

    def close(self) -> None:
        self._reading.close()
        self._writing.close()
