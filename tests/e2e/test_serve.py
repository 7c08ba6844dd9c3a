"""`co-tui serve`: the app in a real browser, and closed to everybody else."""

import asyncio
import base64
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.exchange.test_exporters import STORY, called, logged, returned, said, text_in
from tests.support.browser import Page, browsing, needs_browser
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.terminal import wait_for_end
from tests.support.waiting import PATIENCE_S
from tests.ui.chat.test_images import red_above_blue


class Served:
    """A running `co-tui serve`."""

    def __init__(self, command: CliCommand, *options: str) -> None:
        self.process = command.start_loaded("serve", "--port", "0", *options)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.host = urlsplit(self.url).netloc

    @property
    def apps(self) -> list[int]:
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(each) for each in found.stdout.split()]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Once it has ended: its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


@pytest.fixture
def page_server(served: CliCommand) -> Iterator[Served]:
    running = Served(served)
    yield running
    running.stop()


@needs_browser
async def test_the_app_in_a_browser(
    page_server: Served, served: CliCommand, provider: Provider, tmp_path: Path
) -> None:
    provider.script = [Reply(text="The answer is **42**, as ever.")]
    async with browsing(tmp_path / "profile") as page:
        await page.open(page_server.url)
        await page.wait("Write a message", "F1 Help")
        await page.type("What is it?")
        await page.press("Enter", 13)
        await page.wait("▌ What is it?", "The answer is 42, as ever.", "turn 1")
        await page.press("F3", 114)
        await page.wait("kept", "What is it?", "next request")
        await page.press("Escape", 27)
        await page.wait("turn 1", "Write a message")
        await what_is_copied_arrives(page)
        (app,) = page_server.apps
        assert page_server.stop(signal.SIGINT) == 0
        wait_for_end(app)
        await page.wait("--resume")
        assert "Everything is saved" in await page.evaluate("document.querySelector('#ended').innerText")
        await an_exported_page_shows_all_and_obeys_nothing(page, tmp_path)
    (row,) = served("sessions", "--json").objects
    assert row["title"] == "What is it?" and row["cwd"] == str(served.cwd)
    kinds = [event["type"] for event in served("show", row["id"], "--json").objects if "type" in event]
    assert "session.error" not in kinds


async def what_is_copied_arrives(page: Page) -> None:
    await page.press("Tab", 9)
    await page.wait("Shift selects")
    await page.type("c")
    await page.until_copied("The answer is **42**, as ever.")
    assert not await page.evaluate(SHOWN.format("#copying"))
    await page.evaluate("navigator.clipboard.writeText('')")
    await page.refuse_to_copy()
    await page.type("c")
    await page.until(SHOWN.format("#copying"))
    await page.click("#copy")
    await page.until(f"!{SHOWN.format('#copying')}")
    await page.until_copied("The answer is **42**, as ever.")
    assert await page.evaluate("navigator.clipboard.readText()") == "", "nothing on the screen asks for it"
    await page.press("Escape", 27)


SHOWN = "document.querySelector('{}').checkVisibility()"


async def an_exported_page_shows_all_and_obeys_nothing(page: Page, folder: Path) -> None:
    image = {"kind": "binary", "media_type": "image/svg+xml", "data": base64.b64encode(red_above_blue(40, 20)).decode()}
    script = {
        **image,
        "data": base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(3)'/>").decode(),
    }
    made = said("file", image)
    seen = logged(called("shot", "{}", "d"), returned("shot", ["a shot", image, script], "d"), made)
    (folder / "page.html").write_text(text_in("html", [*STORY, *seen]), encoding="utf-8")
    await page.call("Page.addScriptToEvaluateOnNewDocument", source="window.alert = () => { window.obeyed = true; };")
    await page.open((folder / "page.html").as_uri())
    await page.until("document.readyState == 'complete' && document.querySelector('main') !== null")
    text = await page.evaluate("document.querySelector('main').innerText")
    for words in ("<script>alert(1)</script>", "Conversation Compacted · 900 → 90 tokens", "read_file", "Bold code"):
        assert words in text, words
    assert "the second" not in text and "In short." not in text, "folded"
    assert "image/svg" not in text, "what is seen is not told, too"
    assert await page.evaluate(
        "[...document.images].map(i => [i.complete, i.naturalWidth, i.naturalHeight, i.checkVisibility()])"
    ) == [[True, 40, 20, False], [True, 40, 20, True]]
    await page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    text = await page.evaluate("document.querySelector('main').innerText")
    assert "the second" in text and "In short." in text and "a shot" in text and "hm, a thought" in text
    assert await page.evaluate("[...document.images].every(each => each.checkVisibility())")
    assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out"
    assert not await page.evaluate("window.obeyed || document.scripts.length")
    assert await page.evaluate("[...document.links].every(each => each.protocol == 'https:')")
    fetched = "performance.getEntriesByType('resource').filter(each => !each.name.startsWith('data:')).length"
    assert await page.evaluate(fetched) == 0


async def test_only_the_page_that_was_served_gets_in(page_server: Served, served: CliCommand) -> None:
    # Modules of the folder that the app is opened in are not loaded.
    (served.cwd / "json.py").write_text("raise SystemExit")
    url, host = page_server.url, page_server.host
    origin = f"http://{host}"
    async with aiohttp.ClientSession() as session:

        async def status(address: str, **headers: str) -> int:
            async with session.get(address, headers=headers) as answer:
                assert answer.status != 200 or "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
                return answer.status

        assert await status(url) == 200
        scripts = ("static/js/textual.js", "own/reconnecting_socket.js", "own/phone.js", "own/page.js")
        for asset in (*scripts, "own/page.css", "static/css/xterm.css"):
            assert await status(url + asset) == 200
        assert await status(origin) == 403 and await status(f"{origin}/static/js/textual.js") == 403
        assert await status(f"{url[:-2]}x/") == 403
        assert await status(url, Host="rebound.example") == 403
        for wrong in ({"Origin": "http://evil.example"}, {}, {"Origin": "null"}):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(f"{url}socket/dark", headers=wrong)
        assert page_server.apps == []
        async with session.ws_connect(f"{url}socket/dark?width=90&height=30", headers={"Origin": origin}) as terminal:
            assert b"\x1b[?1049h" in await drawn(terminal)
            (app,) = page_server.apps
            port = host.rpartition(":")[2]
            (served.cwd / "json.py").unlink()
            taken = await asyncio.to_thread(served, "serve", "--port", port)
            assert taken.code == 1 and f"Port {port} is in use" in taken.err and taken.out == ""
            page_server.stop(signal.SIGKILL)
            wait_for_end(app)  # nobody is left who could end it


async def test_closing_the_page_ends_its_app_if_it_is_not_to_live_on(served: CliCommand) -> None:
    server = Served(served, "--keep", "0")
    headers = {"Origin": f"http://{server.host}"}
    try:
        async with aiohttp.ClientSession() as session:
            address = f"{server.url}socket/light?width=90&height=30"
            async with session.ws_connect(address, headers=headers) as terminal:
                await drawn(terminal)
                await terminal.send_str(json.dumps(["stdin", "half a tho", 1]))
                (app,) = server.apps
            await asyncio.to_thread(wait_for_end, app)
        assert server.process.poll() is None
    finally:
        server.stop()


async def drawn(terminal: aiohttp.ClientWebSocketResponse) -> bytes:
    """The first that the app draws."""
    while True:
        message = await terminal.receive(PATIENCE_S)
        if message.type is aiohttp.WSMsgType.BINARY:
            return bytes(message.data)
        assert message.type is aiohttp.WSMsgType.TEXT


def test_other_machines_are_let_in_only_by_name(here: Here) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.7", "machine.example"):
        refused = here("serve", "--host", host)
        assert refused.code == 2 and "--allow-remote" in refused.err and host in refused.err
    nowhere = here("serve", "--host", "192.0.2.7", "--allow-remote", "--port", "0")
    assert nowhere.code == 1 and "Cannot serve on 192.0.2.7" in nowhere.err
    assert here("serve", "--port", "70000").code == 2
    assert here("serve", "--keep", "forever").code == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "is in use" in here("serve", "--port", str(taken.getsockname()[1])).err
