"""`co-tui serve`: closed to everybody but the page that was served. `test_serve_in_a_browser.py` has the page."""

import asyncio
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.terminal import wait_for_end
from tests.support.waiting import PATIENCE_S


class Served:
    """A running `co-tui serve`."""

    def __init__(self, command: CliCommand, *options: str, program: Path | None = None) -> None:
        """`program`: starts its apps, in place of Python."""
        constants = {"sys.executable": str(program)} if program else {}
        self.process = command.start_loaded("serve", "--port", "0", *options, constants=constants)
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
        assert await status(f"{url[:-2]}{'y' if url[-2] == 'x' else 'x'}/") == 403
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
