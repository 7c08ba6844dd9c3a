"""What ends the waiting of the sync's thread: a request, something from the server, or the time."""

import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from co_tui.store.sync.server.server import Connection


class Waker:
    """Ends the waiting of another thread."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        for each in (self._reading, self._writing):
            os.set_blocking(each, False)

    def wake(self) -> None:
        with suppress(OSError):  # it is woken already, or closed
            os.write(self._writing, b"\0")

    def wait(self, connection: "Connection | None", timeout_s: float | None) -> bool:
        """Until woken, the server sends something, or the time is over; whether the server did."""
        heard: list[int | Connection] = [self._reading, *([connection] if connection is not None else [])]
        ready, _, _ = select.select(heard, [], [], timeout_s)
        if self._reading in ready:
            with suppress(OSError):
                while os.read(self._reading, 1024):
                    pass
        return connection in ready

    def close(self) -> None:
        os.close(self._reading)
        os.close(self._writing)
