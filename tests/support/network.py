"""A network between a browser and a server, which can be cut."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Network:
    """Passes everything on until it is cut: then nothing comes through, and nobody is told."""

    def __init__(self, host: str) -> None:
        self._host, _, port = host.partition(":")
        self._port = int(port)
        self._is_cut = False
        self._passing: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.StreamWriter] = set()
        self.host = ""

    def cut(self) -> None:
        self._is_cut = True
        for task in self._passing:
            task.cancel()

    def mend(self) -> None:
        """For new connections; the old ones stay dead."""
        self._is_cut = False

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        self._open.add(writer)  # when cut: silent, not closed
        there, back = await asyncio.open_connection(self._host, self._port)
        self._open.add(back)
        ways = [asyncio.create_task(_pass(reader, back)), asyncio.create_task(_pass(there, writer))]
        self._passing.update(ways)
        await asyncio.wait(ways)
        self._passing.difference_update(ways)

    async def close(self) -> None:
        self.cut()
        for each in self._open:
            each.transport.abort()
        await asyncio.gather(*(each.wait_closed() for each in self._open), return_exceptions=True)


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await source.read(65_536):
            target.write(piece)
            await target.drain()
        target.close()


@asynccontextmanager
async def network(host: str) -> AsyncIterator[Network]:
    between = Network(host)
    server = await asyncio.start_server(between.connected, "127.0.0.1", 0)
    between.host = "{}:{}".format(*server.sockets[0].getsockname())
    try:
        yield between
    finally:
        server.close()
        await between.close()
