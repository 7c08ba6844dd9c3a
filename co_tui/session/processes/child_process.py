"""A child process and its output, kept within limits."""

import asyncio
from collections import deque
from collections.abc import Callable

from co_tui.events.storable import storable_text

LINGER_S = 0.5
"""How long to wait for output from children that outlive their command."""


class ChildProcess(asyncio.SubprocessProtocol):
    """Reports exit and end of output separately: children may keep the output open for ever."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_output: Callable[[int, bytes], None]) -> None:
        """`on_output` gets the stream and each piece of output."""
        self._on_output = on_output
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_output(fd, data)

    def process_exited(self) -> None:
        _settle(self.exited)

    def connection_lost(self, exc: Exception | None) -> None:
        _settle(self.closed)


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class BoundedOutput:
    """Accepts any amount of bytes, and keeps the start and the end: at most a few times `most_chars`."""

    def __init__(self, most_chars: int) -> None:
        self._most = most_chars
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._left_out = 0

    def add(self, data: bytes) -> None:
        room = self._most - len(self._head)
        self._head += data[: max(0, room)]
        rest = data[max(0, room) :]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_bytes += len(rest)
        while self._tail_bytes - len(self._tail[0]) >= self._most:
            gone = self._tail.popleft()
            self._tail_bytes -= len(gone)
            self._left_out += len(gone)

    def beginning(self, most_chars: int) -> str:
        """The first characters; never splits one."""
        return _text(_whole(self._head))[:most_chars]

    @property
    def text(self) -> str:
        """The whole output, or its start and end with a note between."""
        tail = b"".join(self._tail)
        if not self._left_out and len(self._head) + len(tail) <= self._most:
            return _text(bytes(self._head) + tail)
        half = self._most // 2
        everything = bytes(self._head) + tail if not self._left_out else b""
        first = (everything or bytes(self._head))[:half]
        last = (everything or tail)[-half:]
        left_out = len(self._head) + len(tail) + self._left_out - len(first) - len(last)
        return f"{_text(first)}\n[… {left_out:,} bytes of the output are left out …]\n{_text(last)}"


def _text(data: bytes | bytearray) -> str:
    return storable_text(bytes(data).decode(errors="replace")).replace("\r\n", "\n").replace("\0", "\ufffd")


def _whole(data: bytearray) -> bytearray:
    """The data without an incomplete character at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            return data[:-back] if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else data
    return data
