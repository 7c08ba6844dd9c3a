"""A way to a database server that loses connections at chosen moments."""

import contextlib
import socket
import threading
from collections.abc import Iterator

AT_COMMIT = b"COMMIT\0"
"""In the stream from a client, and in the server's answer; texts end with a zero."""
AT_END = b"Z\0\0\0\5"
"""The end of an answer: the server undid the transaction instead."""


class CutConnections:
    """Passes bytes between 127.0.0.1 and a server's socket."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._cut: str | None = None
        self._then_down = False
        self._bytes_left: int | None = None
        self._open: list[socket.socket] = []
        self._gate = threading.Lock()
        """A cut that is under way and `bring_back` do not mix."""
        self.is_down = False
        """Whether new connections are refused."""
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._listening.getsockname()[1]}/{database}"

    def cut_next_commit(self, *, done: bool, then_down: bool = False) -> None:
        """Lose the connection of the next commit, after the server has done it or before it hears of it."""
        self._cut = "after" if done else "before"
        self._then_down = then_down

    def cut_after(self, count: int, *, then_down: bool = False) -> None:
        """Lose the connection that passes the last of so many bytes, in either direction and in the middle of it."""
        self._then_down, self._bytes_left = then_down, count

    def cut(self) -> None:
        """Lose all connections."""
        open_, self._open = self._open, []
        _hang_up(*open_)

    def take_down(self) -> None:
        """Lose all connections, and refuse new ones until `is_down` is False again."""
        self.is_down = True
        self.cut()

    def bring_back(self) -> None:
        """From now on nothing is cut or refused."""
        with self._gate:
            self._cut, self._bytes_left, self.is_down = None, None, False

    def _counted(self, data: bytes) -> tuple[bytes, bool]:
        """How much of it still passes, and whether the connection is lost then."""
        with self._gate:
            left = self._bytes_left
            if left is None:
                return data, False
            if len(data) < left:
                self._bytes_left = left - len(data)
                return data, False
            self._bytes_left, self.is_down = None, self._then_down
            return data[:left], True

    def _cut_at_commit(self) -> str | None:
        """How this commit loses its connection; None if it does not."""
        with self._gate:
            cut, self._cut = self._cut, None
            self.is_down = self.is_down if cut is None else self._then_down
            return cut

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.is_down:
                    client.close()
                else:
                    threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        # Closing alone does not end a connection that `_copy_back` reads from.
        with client, server, _hanging_up(server, client), contextlib.suppress(OSError):
            server.connect(self._server)
            self._open += [client, server]
            if self.is_down:
                return
            muted = threading.Event()
            threading.Thread(target=self._copy_back, args=(client, server, muted), daemon=True).start()
            while data := client.recv(65536):
                if AT_COMMIT in data and (cut := self._cut_at_commit()):
                    if cut == "before":
                        _hang_up(client, server)
                        return
                    muted.set()  # what follows is still passed on: the server answers at the end of a batch
                data, is_cut = self._counted(data)
                server.sendall(data)
                if is_cut:
                    _hang_up(client, server)
                    return

    def _copy_back(self, client: socket.socket, server: socket.socket, muted: threading.Event) -> None:
        heard = b""
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if not muted.is_set():
                    data, is_cut = self._counted(data)
                    client.sendall(data)
                    if is_cut:
                        break
                    continue
                heard += data
                if AT_COMMIT in heard or AT_END in heard:
                    break
        _hang_up(client, server)

    def close(self) -> None:
        self.is_down = True
        self.cut()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def _hanging_up(*ends: socket.socket) -> Iterator[None]:
    try:
        yield
    finally:
        _hang_up(*ends)


@contextlib.contextmanager
def cut_connections(server: str) -> Iterator[CutConnections]:
    way = CutConnections(server)
    try:
        yield way
    finally:
        way.close()
