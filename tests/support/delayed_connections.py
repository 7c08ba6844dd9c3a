"""A way to a database server that takes time, or passes nothing at all for a while."""

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator

from tests.support.waiting import PATIENCE_S


class DelayedConnections:
    """Passes bytes between 127.0.0.1 and a server's socket, each way `delay_s` later, in any amount."""

    def __init__(self, server: str, delay_s: float = 0.0) -> None:
        self._server, self.delay_s = server, delay_s
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._flows = threading.Event()
        self._flows.set()
        self._refused = False
        self._open: list[socket.socket] = []
        self.round_trips = 0
        """How often a client said something after it had been answered."""
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._listening.getsockname()[1]}/{database}"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Pass nothing meanwhile. What waits for the server waits until the end, or until the test would fail."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    @property
    def is_held(self) -> bool:
        return not self._flows.is_set()

    def refuse(self, refused: bool = True) -> None:
        """Lose all present connections, and accept no new ones meanwhile."""
        self._refused = refused
        if refused:
            self.cut()

    def cut(self) -> None:
        """Lose all present connections."""
        for each in self._open:
            _hang_up(each)
        self._open.clear()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._refused:
                    client.close()
                    continue
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = socket.socket(socket.AF_UNIX)
                with contextlib.suppress(OSError):
                    server.connect(self._server)
                self._open += (client, server)
                answered = threading.Event()
                answered.set()
                self._pass(client, server, lambda answered=answered: self._count(answered))
                self._pass(server, client, answered.set)

    def _count(self, answered: threading.Event) -> None:
        if answered.is_set():
            answered.clear()
            self.round_trips += 1

    def _pass(self, source: socket.socket, target: socket.socket, noticed: Callable[[], object]) -> None:
        on_the_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def receive() -> None:
            data = b"-"
            with contextlib.suppress(OSError):
                while data:
                    data = source.recv(1 << 18)
                    noticed()
                    on_the_way.put((time.monotonic() + self.delay_s, data))
            on_the_way.put((0.0, b""))
            source.close()

        def send() -> None:
            with contextlib.suppress(OSError):
                while (item := on_the_way.get())[1]:
                    if (left := item[0] - time.monotonic()) > 0:
                        time.sleep(left)
                    self._flows.wait(PATIENCE_S)
                    target.sendall(item[1])
            _hang_up(target)

        for work in (receive, send):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        _hang_up(self._listening)
        self._listening.close()
        self._flows.set()
        self.cut()


def _hang_up(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def delayed_connections(server: str, delay_s: float = 0.0) -> Iterator[DelayedConnections]:
    way = DelayedConnections(server, delay_s)
    try:
        yield way
    finally:
        way.close()
