"""One app: a child process, shown on one page at a time, which lives on without any."""

import asyncio
import contextlib
import itertools
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from co_tui.headless.web.open_page import Closed, OpenPage
from co_tui.inert import inert
from co_tui.web_addresses import is_web_address

LEAVING_S = 12.0
"""So long an app may take to close its session in order; it sets itself a shorter limit."""
MAX_ERROR_BYTES = 8_000
SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
"""A session id that may be part of an address, and an argument of a command."""
_PLAIN_SCREEN = "\x1b[?1049l\x1b[?25l\x1b[2J\x1b[H"


class AppCommand(NamedTuple):
    """What runs behind a page."""

    arguments: Sequence[str]
    environ: Mapping[str, str]
    opening: Sequence[str] = ()
    """The arguments that say which session to open, where the address names none."""
    private: bool = False
    """Whether its sessions are not stored: none can be resumed."""

    def for_session(self, session: str) -> "AppCommand":
        """The command that opens the session an address names."""
        return self._replace(opening=("--resume", session)) if session and not self.private else self


class PageSize(NamedTuple):
    """A page's terminal, in cells."""

    width: int
    height: int


class ServedApp(AppService):
    """Starts without a shell, sends its page the app's last words, and is gone when `stop` returns."""

    def __init__(
        self, command: AppCommand, owner: str, session: str, when_ended: "Callable[[ServedApp], None]"
    ) -> None:
        """`owner` is the browser that started it, `session` the one it is started with."""
        super().__init__(
            "co-tui",
            write_bytes=_nowhere,
            write_str=_nowhere,
            close=_nothing,
            download_manager=DownloadManager(),
        )
        self.key = secrets.token_urlsafe(12)
        """The name of this app for its own browser's tabs."""
        self.owner = owner
        self.session = self.shown_session = session
        """The session the app shows, and the one in its page's address."""
        self.is_ending = False
        self.ended = asyncio.Event()
        self.received = 0
        """Number of the last keys received from the page that shows it."""
        self._app = command
        self._when_ended = when_ended
        self._page: OpenPage | None = None
        self.page_name = ""
        """Of the page that showed it last."""
        self._size = PageSize(80, 24)
        self._is_drawn = True
        """False from asking the app for the whole screen until it draws it; output before that is not for this page."""
        self._drawings = itertools.count(1)
        self._awaited = 0
        self._error_output = b""

    # Its page

    @property
    def page(self) -> OpenPage | None:
        return self._page

    async def open(self, page: OpenPage, size: PageSize) -> None:
        """Start the app on this page."""
        self._take(page, size, is_new=True)
        await self.start(size.width, size.height)

    async def attach(self, page: OpenPage, size: PageSize) -> None:
        """Show the running app on this page, as it is, and on no other."""
        before = self._page
        if before is not None:
            before.leave(Closed.REPLACED if before.name == page.name else Closed.ELSEWHERE)
        self._take(page, size, is_new=False)
        await self._draw()

    def _take(self, page: OpenPage, size: PageSize, *, is_new: bool) -> None:
        if page.name != self.page_name:
            self.page_name, self.received = page.name, 0
        self._page, self._size = page, size
        page.caught_up = self._draw
        page.tell("attached", {"app": self.key, "new": is_new, "received": self.received})
        self._show_session()

    async def detach(self, page: OpenPage) -> bool:
        """The page is gone; False if another one shows the app by now."""
        if self._page is not page:
            return False
        self._page = None
        await self.blur()
        return True

    async def _draw(self) -> None:
        """Ask the app for the whole screen."""
        self._is_drawn, self._awaited = False, next(self._drawings)
        await self.send_meta({"type": "attach", "number": self._awaited, **self._size._asdict()})

    async def type(self, text: str, number: int) -> None:
        """Keys from the page, each once: a page that connects again repeats those it is not sure of."""
        if number > self.received:
            self.received = number
            await self.send_bytes(text.encode(errors="replace"))

    async def resize(self, size: PageSize) -> None:
        self._size = size
        await self.set_terminal_size(*size)

    def _show_session(self) -> None:
        if self._page is not None:
            self.shown_session = self.session
            self._page.tell("session", self.session)

    # What the app sends

    async def on_data(self, payload: bytes) -> None:
        """Never waits for the page: without one, and for a page that is too slow, output is dropped."""
        if self._page is not None and self._is_drawn:
            self._is_drawn = self._page.draw(payload)

    async def on_meta(self, data: bytes) -> None:
        with contextlib.suppress(ValueError):
            match json.loads(data):
                case {"type": "attached", "number": int(number)} if number == self._awaited:
                    self._is_drawn = True
                case {"type": "session", "id": str(session)} if not session or SESSION_ID.fullmatch(session):
                    self.session = session
                    self._show_session()
                case {"type": "open_url", "url": str(url)} if self._page is not None and is_web_address(url):
                    self._page.tell("open_url", {"url": url, "new_tab": True})

    async def on_packed(self, payload: bytes) -> None:
        """The app offers no downloads."""

    # Its process

    async def _open_app_process(self, width: int = 80, height: int = 24) -> asyncio.subprocess.Process:
        self._process = process = await asyncio.create_subprocess_exec(
            *self._app.arguments,
            *self._app.opening,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self._build_environment(width, height), **self._app.environ},
            # Ctrl+C in the server's terminal is for the server, which lets every app close its session.
            start_new_session=True,
        )
        self._stdin = process.stdin
        self._errors = asyncio.create_task(self._read_errors(process.stderr))
        # The library would print them raw, on standard output.
        process.stderr = asyncio.StreamReader()
        process.stderr.feed_eof()
        return process

    async def _read_errors(self, stream: asyncio.StreamReader | None) -> None:
        while stream is not None and (piece := await stream.read(4096)):
            self._error_output = (self._error_output + piece)[-MAX_ERROR_BYTES:]

    async def run(self) -> None:
        """Read what the app sends until it has ended."""
        try:
            await super().run()
            await self._errors
        finally:
            self.is_ending = True
            if self._page is not None:
                text = inert(self._error_output.decode(errors="replace")).replace("\n", "\r\n")
                self._page.draw(f"{_PLAIN_SCREEN}{text}".encode())
                self._page.leave(Closed.ENDED)
            self.ended.set()
            self._when_ended(self)

    async def stop(self) -> None:
        """End the app as a hang-up does, and kill it if it does not end in time."""
        self.is_ending = True
        if self._process is None or self._task is None:
            return
        self.stdin.close()
        try:
            await asyncio.wait_for(self._leave(self._process, self._task), LEAVING_S)
        except TimeoutError:
            return
        finally:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _leave(self, process: asyncio.subprocess.Process, shown: "asyncio.Task[None]") -> None:
        await asyncio.shield(shown)
        await process.wait()


async def _nowhere(_: object) -> None:
    """For the library, which would write to a socket itself."""


async def _nothing() -> None:
    """For the library, which would close a socket itself."""
