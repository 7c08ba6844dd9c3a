"""A command that runs beside us: what it says, and its two ends."""

import asyncio
from collections.abc import Callable

LINGER_S = 0.5
"""How long output is awaited from children that outlive their command."""


class ChildProcess(asyncio.SubprocessProtocol):
    """The end of the process is not the end of its output: children may hold that open for ever."""

    def __init__(self, loop: asyncio.AbstractEventLoop, said: Callable[[int, bytes], None]) -> None:
        """`said` hears each piece, with the stream it came on."""
        self._said = said
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._said(fd, data)

    def process_exited(self) -> None:
        _settle(self.exited)

    def connection_lost(self, exc: Exception | None) -> None:
        _settle(self.closed)


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
