"""Opening an address in the user's browser, from a process that has none of our keys."""

import asyncio
import sys
import webbrowser
from collections.abc import Mapping
from typing import Any

from textual.app import App

from co_tui.agent.redact import without_secrets
from co_tui.ui.text.safe_links import is_web_address

WAIT_S = 10.0


async def open_address(app: App[Any], address: str, environ: Mapping[str, str]) -> bool:
    """False where there is no browser with a window of its own, or it did not take the address."""
    if not is_web_address(address):
        return False
    if app.is_web:
        app.open_url(address)
        return True
    if not await asyncio.to_thread(_has_browser):
        return False
    # Isolated: it loads no module from the folder it is started in.
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "webbrowser", "-t", address),
        env=without_secrets(environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        return await asyncio.wait_for(child.wait(), WAIT_S) == 0
    except TimeoutError:  # the browser runs, and stays
        return True


def _has_browser() -> bool:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    waits = isinstance(browser, webbrowser.GenericBrowser)  # as those do that run in the terminal
    return not waits or isinstance(browser, webbrowser.BackgroundBrowser)
