"""A page's end of its socket."""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from enum import IntEnum

from aiohttp import web

MAX_WAITING_BYTES = 2_000_000
"""More output than this is not kept for a slow page: it gets the whole screen once it has caught up."""


class Closed(IntEnum):
    """Why the server closes a page's socket. `own/reconnecting_socket.js` reads these codes."""

    ENDED = 4000
    """The app has ended."""
    ELSEWHERE = 4001
    """Another page shows the app now."""
    REPLACED = 4002
    """The same page has connected again."""


class OpenPage:
    """Sends in the background and in order, so that a slow page never holds up its app."""

    def __init__(self, socket: web.WebSocketResponse, name: str) -> None:
        """`name` is the page's own; it keeps it when it connects again."""
        self.name = name
        self.caught_up: Callable[[], Awaitable[None]] | None = None
        """Called after output was dropped, once all the rest is sent."""
        self.is_left = False
        self._socket = socket
        self._waiting: deque[bytes | str | Closed] = deque()
        self._waiting_bytes = 0
        self._is_behind = False
        self._has_more = asyncio.Event()

    def draw(self, output: bytes) -> bool:
        """False if it was dropped, with all output that still waited: the page is too slow."""
        self._waiting_bytes += len(output)
        if self._waiting_bytes <= MAX_WAITING_BYTES:
            self._add(output)
            return True
        self._waiting = deque(each for each in self._waiting if not isinstance(each, bytes))
        self._waiting_bytes = 0
        self._is_behind = True
        self._has_more.set()
        return False

    def tell(self, kind: str, *values: object) -> None:
        """Send a message for the page's scripts."""
        self._add(json.dumps([kind, *values]))

    def leave(self, why: Closed) -> None:
        """Close the socket after what was sent so far."""
        self.is_left = True
        self._add(why)

    def _add(self, item: "bytes | str | Closed") -> None:
        self._waiting.append(item)
        self._has_more.set()

    async def send_all(self) -> None:
        """Send until the page is left or gone."""
        while True:
            await self._has_more.wait()
            while self._waiting:
                item = self._waiting.popleft()
                if isinstance(item, Closed):
                    await self._socket.close(code=item)
                    return
                try:
                    await self._send(item)
                except (ConnectionError, RuntimeError):  # it is gone
                    return
            self._has_more.clear()
            if self._is_behind and self.caught_up is not None:
                self._is_behind = False
                await self.caught_up()

    async def _send(self, item: bytes | str) -> None:
        if isinstance(item, str):
            await self._socket.send_str(item)
            return
        await self._socket.send_bytes(item)
        self._waiting_bytes = max(0, self._waiting_bytes - len(item))
