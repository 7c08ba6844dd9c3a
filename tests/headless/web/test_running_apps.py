"""`co-tui serve`: apps outlive their pages, and only the browser that started one gets it back."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from co_tui.headless.web import running_apps
from co_tui.headless.web.open_page import Closed
from co_tui.headless.web.page_server import PageServer
from co_tui.headless.web.running_apps import RunningApps
from co_tui.headless.web.served_app import AppCommand
from tests.support.waiting import PATIENCE_S, until


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._passed = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._passed.wait()

    def run_out(self) -> None:
        self._passed.set()


class Tab:
    """What a page knows of its socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.told: dict[str, Any] = {}
        self.drawn = ""
        self.code: int | None = None

    async def see(self, text: str) -> str:
        """All that was drawn until this was."""
        while text not in self.drawn:
            assert await self._next(), f"closed ({self.code}) before {text!r}: {self.drawn!r}"
        return self.drawn

    async def hear(self, kind: str) -> Any:
        """The next message of that kind."""
        self.told.pop(kind, None)
        while kind not in self.told:
            assert await self._next(), f"closed before {kind!r}"
        return self.told[kind]

    async def closed(self) -> int | None:
        while await self._next():
            pass
        return self.code

    async def _next(self) -> bool:
        message = await self.socket.receive(PATIENCE_S)
        if message.type is WSMsgType.BINARY:
            self.drawn += message.data.decode()
        elif message.type is WSMsgType.TEXT:
            kind, *values = json.loads(message.data)
            self.told[kind] = values[0] if len(values) == 1 else values
        elif message.type is WSMsgType.CLOSE:
            self.code = message.data
        return message.type in (WSMsgType.BINARY, WSMsgType.TEXT)

    async def send(self, *message: object) -> None:
        await self.socket.send_str(json.dumps(message))


class Web:
    """A server, and browsers that open its pages."""

    def __init__(self, server: PageServer, url: str, clock: Clock) -> None:
        self.server, self.url, self.clock = server, url, clock
        self._open = contextlib.AsyncExitStack()

    async def browser(self) -> aiohttp.ClientSession:
        jar = aiohttp.CookieJar(unsafe=True)  # for an address without a name
        return await self._open.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))

    async def open(self, browser: aiohttp.ClientSession, **query: str) -> Tab:
        origin = {"Origin": self.url.rpartition("/")[0].rpartition("/")[0]}
        socket = await browser.ws_connect(f"{self.url}socket/dark", params=query, headers=origin, autoclose=False)
        return Tab(await self._open.enter_async_context(socket))

    async def close(self) -> None:
        await self._open.aclose()


STUB = Path(__file__).parents[2] / "support" / "served_stub.py"


@asynccontextmanager
async def serving(left: Path, keep_s: float = 1800.0) -> AsyncIterator[Web]:
    """Apps write to `left` what was typed into them, when they end in order."""
    clock = Clock()
    command = AppCommand((sys.executable, "-S", str(STUB), str(left)), {})
    server = PageServer(RunningApps(command, keep_s, clock.sleep), "127.0.0.1", 0, hosts=frozenset())
    runner = web.AppRunner(await server.application(), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        pages = Web(server, f"http://127.0.0.1:{runner.addresses[0][1]}/{server.secret}/", clock)
        try:
            yield pages
        finally:
            await pages.close()
    finally:
        await runner.cleanup()


def noted(left: Path) -> str:
    return left.read_text()


@pytest.fixture
def left(tmp_path: Path) -> Path:
    file = tmp_path / "left"
    file.touch()
    return file


async def test_a_page_gets_its_app_back_as_it_is(left: Path) -> None:
    async with serving(left) as pages:
        browser = await pages.browser()
        first = await pages.open(browser, page="one", width="90", height="30")
        app = (await first.hear("attached"))["app"]
        await first.see("<started >")
        await first.send("stdin", "half a thought", 1)
        await first.see("<typed half a thought>")
        await first.socket.close()
        again = await pages.open(browser, page="two", app=app, width="43", height="50")
        assert (await again.hear("attached")) == {"app": app, "new": False, "received": 0}
        assert await again.see("thought>") == "<whole 43x50 half a thought>", "and nothing from before"
        assert not noted(left)
    assert noted(left) == "half a thought\n", "the server's end is its end, in order"


async def test_a_page_of_an_earlier_server_hears_that_its_app_has_ended(left: Path) -> None:
    async with serving(left) as pages:
        browser = await pages.browser()
        tab = await pages.open(browser, page="one", app="gone", session="2026-abc", takes="no")
        assert await tab.closed() == Closed.ENDED
        again = await pages.open(browser, page="two", app="gone", session="2026-abc")
        await again.see("<started --resume 2026-abc>")


async def test_a_new_tab_gets_an_app_of_its_own(left: Path) -> None:
    async with serving(left) as pages:
        browser = await pages.browser()
        tabs = [await pages.open(browser, page=name) for name in ("one", "two")]
        keys = [(await tab.hear("attached"))["app"] for tab in tabs]
        assert keys[0] != keys[1]


async def test_the_session_is_in_the_address_and_leads_back_to_its_app(left: Path) -> None:
    async with serving(left) as pages:
        browser = await pages.browser()
        first = await pages.open(browser, page="one")
        app = (await first.hear("attached"))["app"]
        assert await first.hear("session") == ""
        await first.send("stdin", "session 2026-abc", 1)
        assert await first.hear("session") == "2026-abc"
        await first.send("stdin", "session ../../evil", 2)
        await first.see("evil>")
        assert first.told["session"] == "2026-abc", "an address takes no other characters"
        await first.socket.close()
        async with browser.get(f"{pages.url}2026-abc") as answer:
            assert answer.status == 200 and 'src="own/page.js"' in await answer.text()
        for wrong in ("../x", "a/b", "-rf", "a%20b"):
            async with browser.get(f"{pages.url}{wrong}") as answer:
                assert answer.status in (403, 404)
        bookmark = await pages.open(browser, page="two", session="2026-abc")
        assert (await bookmark.hear("attached"))["app"] == app
        other = await pages.open(browser, page="three", app=app, session="")
        assert (await other.hear("attached"))["app"] != app, "the bare address is a new app"


async def test_a_page_opens_web_addresses_for_its_app_and_nothing_else(left: Path) -> None:
    async with serving(left) as pages:
        page = await pages.open(await pages.browser(), page="one")
        for number, address in enumerate(("javascript:alert(1)", "file:///etc/passwd"), 1):
            await page.send("stdin", f"open {address}", number)
            await page.see(f"{address}>")
        assert "open_url" not in page.told
        await page.send("stdin", "open https://example.com/a", 3)
        assert await page.hear("open_url") == {"url": "https://example.com/a", "new_tab": True}


async def test_only_the_browser_that_started_an_app_gets_it_back(left: Path) -> None:
    async with serving(left) as pages:
        mine, other = await pages.browser(), await pages.browser()
        first = await pages.open(mine, page="one")
        app = (await first.hear("attached"))["app"]
        await first.send("stdin", "session s1", 1)
        await first.see("s1>")
        await first.socket.close()
        (cookie,) = mine.cookie_jar
        assert cookie["httponly"] and cookie["samesite"] == "Strict" and cookie["path"] == f"/{pages.server.secret}/"
        stolen = await pages.open(other, page="one", app=app, session="s1")
        assert (await stolen.hear("attached"))["app"] != app
        assert "session s1" not in await stolen.see("<started --resume s1>"), "it meets the session's lock"
        other.cookie_jar.clear()
        other.cookie_jar.update_cookies({"co-tui": "made up"})
        made_up = await pages.open(other, page="one", app=app, session="s1")
        assert (await made_up.hear("attached"))["app"] != app
        back = await pages.open(mine, page="two", app=app, session="s1")
        assert (await back.hear("attached"))["app"] == app


async def test_a_second_tab_takes_the_app_and_the_first_does_not_take_it_back_by_itself(left: Path) -> None:
    async with serving(left) as pages:
        browser = await pages.browser()
        first = await pages.open(browser, page="one")
        app = (await first.hear("attached"))["app"]
        await first.see("<started >")
        second = await pages.open(browser, page="two", app=app)
        await second.see("<whole")
        assert await first.closed() == Closed.ELSEWHERE
        by_itself = await pages.open(browser, page="one", app=app, takes="no")
        assert await by_itself.closed() == Closed.ELSEWHERE
        clicked = await pages.open(browser, page="one", app=app, takes="yes")
        await clicked.see("<whole")
        assert await second.closed() == Closed.ELSEWHERE
        cut = await pages.open(browser, page="one", app=app, takes="no")
        await cut.see("<whole")
        assert await clicked.closed() == Closed.REPLACED, "the same page may always connect again"


async def test_keys_are_received_once(left: Path) -> None:
    async with serving(left) as pages:
        browser = await pages.browser()
        page = await pages.open(browser, page="one")
        app = (await page.hear("attached"))["app"]
        await page.send("stdin", "a", 1)
        await page.send("stdin", "b", 2)
        await page.send("ping", "")
        assert await page.hear("pong") == ["", 2]
        again = await pages.open(browser, page="one", takes="no")  # cut before it knew the app's key
        assert await again.hear("attached") == {"app": app, "new": False, "received": 2}
        for number, key in enumerate("abc", 1):  # those it was not sure of, too
            await again.send("stdin", key, number)
        await again.see("<typed c>")
        for odd in ("[]", "no json", '["stdin"]', '["resize", 1]', '["stdin", 1, 2]', "{}"):
            await again.socket.send_str(odd)
        other = await pages.open(browser, page="two", app=app)
        await other.see("<whole")
        await other.send("stdin", "d", 1)
        await other.see("<typed d>")
    assert noted(left) == "abcd\n"


async def test_an_app_without_a_page_ends_when_its_time_has_run_out(left: Path) -> None:
    async with serving(left, 1800.0) as pages:
        browser, clock = await pages.browser(), pages.clock
        page = await pages.open(browser, page="one", session="s1")
        app = (await page.hear("attached"))["app"]
        await page.send("stdin", "kept", 1)
        await page.see("<typed kept>")
        await page.socket.close()
        await until(lambda: clock.asked == [1800.0])
        back = await pages.open(browser, page="two", app=app, session="s1")
        await back.see("kept>")
        await back.socket.close()
        await until(lambda: clock.asked == [1800.0, 1800.0])
        assert not noted(left)
        clock.run_out()
        await until(lambda: noted(left))
        assert noted(left) == "kept\n"
        later = await pages.open(browser, page="two", app=app, session="s1")
        assert (await later.hear("attached"))["new"]
        await later.see("<started --resume s1>")


async def test_with_no_time_to_live_on_an_app_ends_with_its_page(left: Path) -> None:
    async with serving(left, 0.0) as pages:
        page = await pages.open(await pages.browser(), page="one")
        await page.send("stdin", "kept", 1)
        await page.see("<typed kept>")
        await page.socket.close()
        await until(lambda: noted(left))


async def test_the_app_left_first_makes_room(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_apps, "MAX_APPS", 2)
    async with serving(left) as pages:
        browser = await pages.browser()
        for number, name in enumerate(("one", "two"), 1):
            tab = await pages.open(browser, page=name)
            await tab.send("stdin", name, 1)
            await tab.see(f"<typed {name}>")
            await tab.socket.close()
            await until(lambda waiting=number: len(pages.clock.asked) == waiting)
        third = await pages.open(browser, page="three")
        await third.see("<started >")
        assert noted(left) == "one\n", "in order, before the new one starts"
        fourth = await pages.open(browser, page="four")
        await fourth.see("<started >")
        assert noted(left) == "one\ntwo\n"
        refused = await pages.open(browser, page="five")
        assert await refused.closed() == Closed.ENDED and "Close one first" in refused.drawn


@pytest.mark.parametrize("is_closed", [True, False])
async def test_a_page_that_reads_nothing_never_holds_up_the_app(left: Path, is_closed: bool) -> None:
    async with serving(left) as pages:
        browser = await pages.browser()
        page = await pages.open(browser, page="one")
        app = (await page.hear("attached"))["app"]
        await page.send("stdin", "flood", 1)
        if is_closed:
            await page.socket.close()
        await until(lambda: noted(left))
        assert noted(left) == "flooded\n"
        if is_closed:
            page = await pages.open(browser, page="two", app=app)
        seen = await page.see("<whole 80x24 flood>")
        assert seen.count("x") < 30_000_000, "what it did not take is dropped"


async def test_an_app_that_ends_says_its_last_words(left: Path) -> None:
    async with serving(left) as pages:
        browser = await pages.browser()
        page = await pages.open(browser, page="one", session="s1")
        await page.send("stdin", "quit", 1)
        assert await page.closed() == Closed.ENDED and "Come back with --resume." in page.drawn
        again = await pages.open(browser, page="one", session="s1")
        await again.see("<started --resume s1>")
