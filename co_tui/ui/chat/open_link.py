"""Opens an address in the user's browser, through a process without our API keys."""

import asyncio
import sys
import webbrowser
from collections.abc import Mapping
from typing import Any

from textual.app import App

from co_tui.agent.redact import without_secrets
from co_tui.web_addresses import is_web_address

WAIT_S = 10.0


async def open_address(app: App[Any], address: str, environ: Mapping[str, str]) -> bool:
    """Open a web address; False where there is no graphical browser or it refused."""
    if not is_web_address(address):
        return False
    if app.is_web:
        app.open_url(address)
        return True
    if not await asyncio.to_thread(_has_browser):
        return False
    # -I: load no module from the current folder.
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "webbrowser", "-t", address),
        env=without_secrets(environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        return await asyncio.wait_for(child.wait(), WAIT_S) == 0
    except TimeoutError:  # the browser keeps running
        return True


def _has_browser() -> bool:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    waits = isinstance(browser, webbrowser.GenericBrowser)  # text browsers take over the terminal
    return not waits or isinstance(browser, webbrowser.BackgroundBrowser)
