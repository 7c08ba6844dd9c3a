"""The page that shows the app, and who may open it."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server, to_int

from co_tui.headless.web.served_app import AppCommand, ServedApp

MAX_PAGES = 16
"""Each open page is a process of its own."""
MAX_CELLS = 1_000
MAX_MESSAGE_BYTES = 64_000_000
"""A paste comes as one message."""
_HERE = Path(__file__).parent
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PageServer(Server):
    """The library's server, behind a secret in the address and closed to other pages of the same browser."""

    def __init__(self, command: AppCommand, host: str, port: int, *, hosts: frozenset[str]) -> None:
        """`hosts` are the names under which the page may be asked for; empty allows any."""
        super().__init__("co-tui", host=host, port=port, title="co-tui", templates_path=_HERE)
        self.secret = secrets.token_urlsafe(24)
        self._command = command
        self._hosts = hosts
        self._open: dict[ServedApp, web.WebSocketResponse] = {}

    async def application(self) -> web.Application:
        page = await self._make_app()
        page.router.add_get("/socket/{background}", self.handle_websocket)
        page.router.add_static("/own", _HERE / "own")
        guarded = web.Application(middlewares=[self._guard])
        guarded.add_subapp(f"/{self.secret}", page)
        return guarded

    async def on_startup(self, app: web.Application) -> None:
        """What there is to say is said by the command."""

    async def on_shutdown(self, app: web.Application) -> None:
        await asyncio.gather(*(self._end(each, socket) for each, socket in list(self._open.items())))

    async def _end(self, served: ServedApp, socket: web.WebSocketResponse) -> None:
        await served.stop()
        await socket.close()

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if (trouble := self._trouble(request)) is not None:
            return web.Response(status=403, text=f"{trouble}\n", headers=_HEADERS)
        try:
            response = await handler(request)
        except web.HTTPException as refused:
            refused.headers.update(_HEADERS)
            raise
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    def _trouble(self, request: web.Request) -> str | None:
        """Why this request is refused: another name for this machine, a page from another site, or
        an address without its secret."""
        if self._hosts and _name(request.host) not in self._hosts:
            return "This is not the address that co-tui serves."
        origin = request.headers.get("Origin", "")
        if "upgrade" in request.headers.get("Connection", "").lower() and urlsplit(origin).netloc != request.host:
            return "Only the page served by co-tui may connect."
        given = request.path.split("/")[1]
        if not secrets.compare_digest(given.encode(), self.secret.encode()):
            return "Open the full address printed by `co-tui serve`. Its last part is the key."
        return None

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=MAX_MESSAGE_BYTES)
        await socket.prepare(request)
        if len(self._open) >= MAX_PAGES:
            await socket.send_bytes(f"{MAX_PAGES} pages are already open. Close one first.".encode())
            await socket.close()
            return socket
        light = request.match_info.get("background") == "light"
        command = self._command._replace(environ={**self._command.environ, "COLORFGBG": "0;15" if light else "15;0"})
        served = ServedApp(command, socket.send_bytes, socket.send_str, socket.close)
        self._open[served] = socket
        try:
            await served.start(_cells(request, "width", 80), _cells(request, "height", 24))
            await self._process_messages(socket, served)
        finally:
            try:
                await served.stop()
            finally:
                del self._open[served]
        return socket


def _cells(request: web.Request, name: str, usual: int) -> int:
    """A side of the page's terminal, as far as any has it."""
    return min(max(to_int(request.query.get(name, ""), usual), 1), MAX_CELLS)


def _name(host: str) -> str:
    """A host without its port."""
    return urlsplit(f"//{host}").hostname or ""
