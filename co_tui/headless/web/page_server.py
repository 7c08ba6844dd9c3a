"""The page that shows the app, and who may open it."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web
from textual_serve.server import Server, to_int

from co_tui.headless.web.open_page import Closed, OpenPage
from co_tui.headless.web.running_apps import RunningApps, Visit
from co_tui.headless.web.served_app import LEAVING_S, SESSION_ID, PageSize, ServedApp

COOKIE = "co-tui"
COOKIE_S = 30 * 24 * 3600
HEARTBEAT_S = 15.0
"""How often the server asks whether a page is still there; one that does not answer in half of it is gone."""
MAX_CELLS = 1_000
MAX_NAME_CHARS = 64
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

    def __init__(self, apps: RunningApps, host: str, port: int, *, hosts: frozenset[str], secret: str = "") -> None:
        """`hosts` are the names under which the page may be asked for; empty allows any. `secret` is the one that an
        earlier server had."""
        super().__init__("co-tui", host=host, port=port, title="co-tui", templates_path=_HERE)
        self.secret = secret or secrets.token_urlsafe(24)
        self._hosts = hosts
        self._apps = apps
        self._browsers: set[str] = set()
        """Cookies given so far, one a browser."""
        self._sending: set[asyncio.Task[None]] = set()

    async def application(self) -> web.Application:
        page = await self._make_app()
        page.router.add_get(f"/{{session:{SESSION_ID.pattern}}}", self.handle_index)
        page.router.add_get("/socket/{background}", self.handle_websocket)
        page.router.add_static("/own", _HERE / "own")
        guarded = web.Application(middlewares=[self._guard])
        guarded.add_subapp(f"/{self.secret}", page)
        return guarded

    async def on_startup(self, app: web.Application) -> None:
        """What there is to say is said by the command."""

    async def on_shutdown(self, app: web.Application) -> None:
        await self._apps.stop_all()
        if self._sending:  # the apps' last words
            await asyncio.wait(self._sending, timeout=LEAVING_S)

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

    def _browser(self, request: web.Request, socket: web.WebSocketResponse) -> str:
        """The browser's own cookie. It is given here, where only the page itself asks: a page that was opened by a
        link on another site comes without its cookie, and must not get a second one."""
        known = request.cookies.get(COOKIE, "")
        if known in self._browsers:
            return known
        given = secrets.token_urlsafe(24)
        self._browsers.add(given)
        path = f"/{self.secret}/"
        socket.set_cookie(COOKIE, given, path=path, max_age=COOKIE_S, httponly=True, samesite="Strict")
        return given

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MAX_MESSAGE_BYTES)
        is_known = request.cookies.get(COOKIE, "") in self._browsers
        visit = _visit(request, self._browser(request, socket))
        await socket.prepare(request)
        page = OpenPage(socket, request.query.get("page", "")[:MAX_NAME_CHARS])
        sending = asyncio.create_task(page.send_all())
        self._sending.add(sending)
        try:
            app = None
            if is_known or visit.takes:
                app = await self._apps.show(page, visit)
            else:  # its app ended with the server that had it
                page.leave(Closed.ENDED)
            if app is None:
                await sending
                return socket
            try:
                async for message in socket:
                    if message.type is WSMsgType.TEXT and app.page is page:
                        await _heed(message.data, app, page)
            finally:
                await self._apps.leave(app, page)
        finally:
            if not page.is_left:  # else it closes the socket
                sending.cancel()
            await asyncio.wait({sending})
            self._sending.discard(sending)
        return socket


async def _heed(data: str, app: ServedApp, page: OpenPage) -> None:
    """Do what a page's message says."""
    try:
        message = json.loads(data)
    except ValueError:
        return
    match message:
        case ["stdin", str(text), int(number)]:
            await app.type(text, number)
        case ["resize", {"width": int(width), "height": int(height)}]:
            await app.resize(PageSize(_within(width), _within(height)))
        case ["ping", str(sent)]:
            page.tell("pong", sent, app.received)
        case ["blur"]:
            await app.blur()
        case ["focus"]:
            await app.focus()


def _visit(request: web.Request, browser: str) -> Visit:
    query = request.query
    light = request.match_info.get("background") == "light"
    session = query.get("session", "")
    return Visit(
        browser,
        query.get("app", ""),
        session if SESSION_ID.fullmatch(session) else "",
        query.get("takes") != "no",
        PageSize(_within(to_int(query.get("width", ""), 80)), _within(to_int(query.get("height", ""), 24))),
        {"COLORFGBG": "0;15" if light else "15;0"},
    )


def _within(cells: int) -> int:
    """A side of the page's terminal, as far as any has it."""
    return min(max(cells, 1), MAX_CELLS)


def _name(host: str) -> str:
    """A host without its port."""
    return urlsplit(f"//{host}").hostname or ""
