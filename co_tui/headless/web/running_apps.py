"""The apps that run, with a page or without, and which of them a page gets."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import NamedTuple

from co_tui.headless.web.open_page import Closed, OpenPage
from co_tui.headless.web.served_app import AppCommand, PageSize, ServedApp

MAX_APPS = 16
"""Each is a process of its own."""
FULL = f"{MAX_APPS} pages are already open. Close one first."


class Visit(NamedTuple):
    """A page that connects."""

    browser: str
    """The browser's cookie: only the browser that started an app gets it back."""
    app: str
    """The key of the app that its tab showed last; empty for a new tab."""
    session: str
    """The session its address names; empty for the bare address."""
    takes: bool
    """Whether a person opened it: then it may take the app from another page."""
    size: PageSize
    environ: dict[str, str]


class RunningApps:
    """Starts apps, finds them for pages that come back, and ends those that no page came back to."""

    def __init__(
        self, command: AppCommand, keep_s: float, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        """An app without a page lives on for `keep_s`."""
        self._command = command
        self._keep_s = keep_s
        self._sleep = sleep
        self._apps: set[ServedApp] = set()
        self._left: dict[ServedApp, asyncio.Task[None]] = {}
        """Those without a page, the one left first in front, each with the task that waits to end it."""
        self._endings: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self._is_closed = False

    async def show(self, page: OpenPage, visit: Visit) -> ServedApp | None:
        """Show an app on this page. None if there is none for it; the page says so."""
        async with self._opening:
            app = self._found(page.name, visit)
            if app is None:
                return await self._started(page, visit)
            if app.page is not None and app.page.name != page.name and not visit.takes:
                page.leave(Closed.ELSEWHERE)
                return None
            self._keep(app)
            await app.attach(page, visit.size)
            return app

    def _found(self, page: str, visit: Visit) -> ServedApp | None:
        """The app this page showed until its connection was cut; else the one its tab showed before, if the address is
        still of that; else the one that shows the session."""
        own = [app for app in self._apps if app.owner == visit.browser and not app.is_ending]
        ways = (
            (app for app in own if page and app.page_name == page),
            (app for app in own if app.key == visit.app and visit.session in (app.session, app.shown_session)),
            (app for app in own if visit.session and app.session == visit.session),
        )
        return next(chain(*ways), None)

    async def _started(self, page: OpenPage, visit: Visit) -> ServedApp | None:
        for app in [each for each in self._apps if each.is_ending and visit.session == each.session != ""]:
            await app.ended.wait()  # until then the session is locked
        has_room = await self._make_room()
        if self._is_closed or not has_room:
            page.draw(b"" if has_room else FULL.encode())
            page.leave(Closed.ENDED)
            return None
        command = self._command.for_session(visit.session)
        command = command._replace(environ={**command.environ, **visit.environ})
        app = ServedApp(command, visit.browser, visit.session, self._forget)
        self._apps.add(app)
        try:
            await app.open(page, visit.size)
        except BaseException:
            self._forget(app)
            raise
        return app

    async def _make_room(self) -> bool:
        """End the app that was left first, if too many live; False if all have a page."""
        if len(self._apps) < MAX_APPS:
            return True
        oldest = next(iter(self._left), None)
        if oldest is None:
            return False
        self._keep(oldest)
        await self._end(oldest)
        return True

    async def leave(self, app: ServedApp, page: OpenPage) -> None:
        """The page is gone: its app lives on for a while, unless another page shows it."""
        if not await app.detach(page) or app.is_ending:
            return
        if not self._keep_s:
            await self._end(app)
        elif not self._is_closed:
            self._left[app] = task = asyncio.create_task(self._end_later(app))
            self._endings.add(task)
            task.add_done_callback(self._endings.discard)

    async def _end_later(self, app: ServedApp) -> None:
        await self._sleep(self._keep_s)
        del self._left[app]  # from here on it is not cancelled: the app closes its session
        await self._end(app)

    async def _end(self, app: ServedApp) -> None:
        try:
            await app.stop()
        finally:
            self._forget(app)

    def _keep(self, app: ServedApp) -> None:
        """It does not end for want of a page."""
        if (ending := self._left.pop(app, None)) is not None:
            ending.cancel()

    def _forget(self, app: ServedApp) -> None:
        self._keep(app)
        self._apps.discard(app)

    async def stop_all(self) -> None:
        """End every app in order."""
        self._is_closed = True
        for app in list(self._left):
            self._keep(app)
        await asyncio.gather(*(self._end(app) for app in list(self._apps)))
