"""Try a server that is away, in a thread of its own: a try may take long."""

import threading
from collections.abc import Callable
from typing import Final

from co_tui.store.postgres.server import Server
from co_tui.store.store_errors import StoreError

FIRST_TRY_S: Final = 1.0
LONGEST_PAUSE_S: Final = 15.0


class Reconnect:
    """Tries until the server answers, once it is asked to."""

    def __init__(self, server: Server, found: Callable[[], None]) -> None:
        """`found` is called in the thread."""
        self._server, self._found = server, found
        self._asked, self._closed = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Call `found` once the server answers. Repeated calls before that do nothing."""
        self._asked.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="store-reconnect", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """A try that is under way ends by itself."""
        self._closed.set()
        self._asked.set()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            pause_s = FIRST_TRY_S
            while not self._closed.wait(pause_s) and not self._answers():
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            if self._closed.is_set():
                return
            self._asked.clear()
            self._found()

    def _answers(self) -> bool:
        try:
            self._server.connect().close()
        except StoreError:
            return False
        return True
