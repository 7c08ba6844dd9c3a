"""`co-tui serve`: the same screen in a browser's tab."""

import asyncio
import contextlib
import errno
import ipaddress
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from co_tui.events.wording import counted
from co_tui.headless.output import DONE, FAILED, WRONG_USAGE, finish, put, say
from co_tui.headless.stopping import on_stop
from co_tui.paths import write_atomically

KEY_S = 30 * 24 * 3600
"""How long the key of the address is used again, from the last start on."""
SECRET = re.compile(r"[A-Za-z0-9_-]{32}")
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Address(NamedTuple):
    """Where the page is served."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        try:
            return self.host in LOOPBACK_NAMES or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class ServedCommand(NamedTuple):
    """How the apps are started, and how long one lives on without its page."""

    arguments: Sequence[str]
    opening: Sequence[str]
    """The options that say which session to open; an address that names one replaces them."""
    environ: Mapping[str, str]
    private: bool
    keep_minutes: int
    secret_file: Path | None = None
    """Keeps the key of the address, so that pages find a server that was restarted; None for a new key each time."""


def serve(address: Address, served: ServedCommand, *, allow_remote: bool) -> int:
    """Serve until asked to stop; every app ends with it."""
    if not address.is_loopback and not allow_remote:
        say(f"Serving on {address.host} exposes your files and keys. Add --allow-remote, or use an ssh tunnel.")
        return WRONG_USAGE
    return asyncio.run(_serve(address, served))


async def _serve(address: Address, served: ServedCommand) -> int:
    from aiohttp import web

    from co_tui.headless.web.page_server import PageServer
    from co_tui.headless.web.running_apps import RunningApps
    from co_tui.headless.web.served_app import AppCommand

    # Without the present folder among the places that modules come from: it may hold anything.
    started_by = (sys.executable, "-P", "-m", "co_tui", *served.arguments)
    command = AppCommand(started_by, served.environ, served.opening, served.private)
    hosts = frozenset({address.host, *LOOPBACK_NAMES}) if address.is_loopback else frozenset()
    # A key that was sent unencrypted, or for a port that changes, is not used again.
    file = served.secret_file if address.is_loopback and address.port and not served.private else None
    apps = RunningApps(command, served.keep_minutes * 60)
    server = PageServer(apps, address.host, address.port, hosts=hosts, secret=_kept_secret(file))
    runner = web.AppRunner(await server.application(), access_log=None, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address.host, address.port)
        try:
            await site.start()
        except OSError as error:
            say(_why_not(address, error))
            return FAILED
        if file is not None:
            with contextlib.suppress(OSError):  # then the next server has another key
                write_atomically(file, server.secret)
        _tell(address._replace(port=runner.addresses[0][1]), server.secret, served.keep_minutes)
        await _until_asked_to_stop()
    finally:
        await runner.cleanup()
    return DONE


def _kept_secret(file: Path | None) -> str:
    """The key of the last server at this port, if it is not old; else empty."""
    if file is None:
        return ""
    try:
        is_old = time.time() - file.stat().st_mtime > KEY_S
        kept = file.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
    return kept if SECRET.fullmatch(kept) and not is_old else ""


async def _until_asked_to_stop() -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def ask() -> None:
        loop.call_soon_threadsafe(stop.set)

    with on_stop(ask):
        await stop.wait()
    say("Stopping. All sessions are saved.")


def _tell(address: Address, secret: str, keep_minutes: int) -> None:
    put(f"{address.url}/{secret}/")
    finish()
    say("Open this address in a browser. Every browser tab has its own app in this folder.")
    if keep_minutes:
        say(f"Apps run for {counted(keep_minutes, 'minute')} after their tab is closed; open the address to return.")
    else:
        say("An app ends when its tab is closed.")
    if address.is_loopback:
        say("Only this machine can open it, with the key in the address. Ctrl+C stops.")
    else:
        say("WARNING: anyone on the network with this address has full access. Ctrl+C stops.")


def _why_not(address: Address, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {address.port} is in use. Choose another with --port (0 picks a free one)."
    if error.errno == errno.EACCES:
        return f"Not allowed to use port {address.port}. Choose one above 1023 with --port."
    return f"Cannot serve on {address.host}: {error.strerror or error}."
