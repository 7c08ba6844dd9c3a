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
    """Accepts any amount of bytes, and keeps the start and the end: at most a few times `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.size_bytes = 0
        """Of all that was added."""

    def add(self, data: bytes) -> None:
        self.size_bytes += len(data)
        room = self._most - len(self._head)
        self._head += data[: max(0, room)]
        rest = data[max(0, room) :][-self._most :]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_bytes += len(rest)
        while self._tail_bytes - len(self._tail[0]) >= self._most:
            self._tail_bytes -= len(self._tail.popleft())

    def beginning(self, most_chars: int) -> str:
        """The first characters; never splits one."""
        return _text(_whole(self._head))[:most_chars]

    def first(self, most_bytes: int) -> bytes:
        """The first bytes, at most as many as are kept."""
        return bytes(self._head[:most_bytes])

    def last(self, most_bytes: int) -> bytes:
        """The last bytes, at most as many as are kept."""
        end = b"".join(self._tail)[-most_bytes:]
        return bytes(self._head[-(most_bytes - len(end)) :]) + end if len(end) < most_bytes else end

    @property
    def text(self) -> str:
        """The whole output, or its start and end with a note between."""
        return self.text_within(self._most, lambda left_out: f"{left_out:,} bytes of the output are left out")

    def text_within(self, room_bytes: int, note: Callable[[int], str]) -> str:
        """The whole output, or its start and end; `note` says of how many bytes what became of them."""
        if self.size_bytes <= room_bytes:
            return _text(self.last(room_bytes))
        half = room_bytes // 2
        first, last = _whole(self._head[:half]), _without_rest(self.last(half))
        return f"{_text(first)}\n[… {note(self.size_bytes - len(first) - len(last))} …]\n{_text(last)}"


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


def _without_rest(data: bytes) -> bytes:
    """The data without the rest of a character at its start."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]
