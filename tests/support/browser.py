"""A real browser without a window, driven through its own protocol."""

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import pytest

from tests.support.waiting import PATIENCE_S, wait_until

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_SHIFT = 8
_COPIED = """(() => {
    const copied = new DataTransfer();
    const copying = new ClipboardEvent("copy", {clipboardData: copied, bubbles: true});
    document.querySelector(".xterm").dispatchEvent(copying);
    return copied.getData("text/plain");
})()"""


_CLIPBOARD = "Object.getOwnPropertyDescriptor(Navigator.prototype, 'clipboard').get.call(navigator)"
"""The browser's own, whatever the page put in its place."""


OpenTab: TypeAlias = "Callable[[], Awaitable[Page]]"


class Page:
    """A tab with a terminal in it."""

    def __init__(
        self, socket: aiohttp.ClientWebSocketResponse, width: int, height: int, opened: "OpenTab | None" = None
    ) -> None:
        self._socket = socket
        self._opened = opened
        self._size = (width, height)
        self._numbers = itertools.count(1)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async for message in self._socket:
            answer = json.loads(message.data)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])
        raise AssertionError("the browser went away")

    async def evaluate(self, script: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return found["result"].get("value")

    async def open(self, url: str) -> None:
        await self.call("Page.navigate", url=url)

    async def open_tab(self, url: str) -> "Page":
        """Another tab of the same browser."""
        assert self._opened is not None
        page = await self._opened()
        await page.open(url)
        return page

    async def reload(self) -> None:
        """Returns once the old page is gone."""
        await self.evaluate("window.isOld = true")
        await self.call("Page.reload")
        await self.until("!window.isOld && document.readyState == 'complete'")

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    async def text(self) -> str:
        """What the terminal shows: everything is selected with the mouse, as a person does who wants to copy it."""
        width, height = self._size
        ends = [("mousePressed", 2, 2, 1), ("mouseMoved", width - 4, height - 4, 1)]
        for kind, x, y, buttons in [*ends, ("mouseReleased", width - 4, height - 4, 0)]:
            pressed = {"button": "left", "buttons": buttons, "clickCount": 1, "modifiers": _SHIFT}
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)
        return str(await self.evaluate(_COPIED))

    async def wait(self, *wanted: str, seconds: float = PATIENCE_S) -> str:
        until = time.monotonic() + seconds
        seen = ""
        while time.monotonic() < until:
            if await self.evaluate("document.body.classList.contains('-first-byte')"):
                seen = await self.text()
                if all(text in seen for text in wanted):
                    return seen
            await asyncio.sleep(0.25)  # each look draws the whole terminal again
        raise AssertionError(f"{wanted} did not happen within {seconds} s:\n{seen}")

    async def until_copied(self, text: str) -> None:
        """It is what a person would paste elsewhere."""
        await self.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        await self.until(f"{_CLIPBOARD}.readText().then(text => text == {json.dumps(text)})")

    async def refuse_to_copy(self) -> None:
        """As a page without https would."""
        await self.evaluate("Clipboard.prototype.writeText = () => Promise.reject(new Error('refused'))")

    async def click(self, selector: str) -> None:
        """On what is in sight there."""
        place = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = await self.evaluate(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({place})")
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def until(self, condition: str, seconds: float = PATIENCE_S) -> None:
        """Something that a script finds true."""
        end = time.monotonic() + seconds
        while not await self.evaluate(condition):
            assert time.monotonic() < end, f"{condition} did not happen within {seconds} s"
            await asyncio.sleep(0.1)

    async def show_as(self, width: int, height: int, *, is_phone: bool = False) -> None:
        """On a screen of that size."""
        self._size = (width, height)
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
        await self.call("Emulation.setDeviceMetricsOverride", **screen)
        await self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        if is_phone:
            await self.call("Emulation.setTouchEmulationEnabled", enabled=True)
            await self.call("Emulation.setEmitTouchEventsForMouse", enabled=False)

    async def picture(self) -> bytes:
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])


class Browser:
    """One process for all tests of a file: its start takes as long as most of what is looked at."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        places = (f"--user-data-dir={profile}", "--remote-debugging-port=0")
        command = [CHROMIUM, *OPTIONS, *places, "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = profile / "DevToolsActivePort"
        wait_until(lambda: port.exists() and port.read_text())
        self._address = f"http://127.0.0.1:{port.read_text().splitlines()[0]}"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    @asynccontextmanager
    async def showing(self, width: int = 1120, height: int = 560, *, is_phone: bool = False) -> AsyncIterator[Page]:
        """A new tab, without anything that pages before it have left."""
        async with aiohttp.ClientSession(self._address) as session, AsyncExitStack() as open_tabs:

            async def open_tab() -> Page:
                async with session.put("/json/new?about:blank") as answer:
                    tab = await answer.json()
                connected = session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0)
                socket = await open_tabs.enter_async_context(connected)
                open_tabs.push_async_callback(_close, session, tab["id"])
                page = Page(socket, width, height, open_tab)
                await page.show_as(width, height, is_phone=is_phone)
                return page

            page = await open_tab()
            await page.call("Network.clearBrowserCookies")
            yield page


async def _close(session: aiohttp.ClientSession, tab: str) -> None:
    async with session.get(f"/json/close/{tab}"):
        pass
