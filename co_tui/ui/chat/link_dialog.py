"""Shows where links lead before one is opened."""

import asyncio
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.agent.redact import without_secrets
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.terminal.clipboard import copy
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList
from co_tui.web_addresses import is_web_address

BROWSER_WAIT_S = 10.0

NO_BROWSER = "No browser available here. c copies the address."


class LinksScreen(Dialog[None]):
    """Lists addresses in full and opens the one chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("c", "copy", "Copy"),
    ]

    def __init__(self, addresses: Sequence[str], open_address: Callable[[str], Awaitable[bool]]) -> None:
        super().__init__()
        self._addresses = list(addresses)
        self._open_address = open_address

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Open this link?" if len(self._addresses) == 1 else "Links in this message"
            yield SafeList(*(Option(Text(address, overflow="fold")) for address in self._addresses))
            yield KeyHints(("enter", "open in the browser"), ("c", "copy"), ("esc", "back"))

    def on_mount(self) -> None:
        self.query_one(OptionList).highlighted = 0
        self.query_one(OptionList).focus()

    @property
    def _chosen(self) -> str:
        return self._addresses[self.query_one(OptionList).highlighted or 0]

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if await self._open_address(self._addresses[event.option_index]):
            self.answer(None)
        else:
            self.notify(NO_BROWSER, severity="warning", markup=False)

    def action_copy(self) -> None:
        copy(self.app, self._chosen, "the address")


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
        return await asyncio.wait_for(child.wait(), BROWSER_WAIT_S) == 0
    except TimeoutError:  # the browser keeps running
        return True


def _has_browser() -> bool:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    waits = isinstance(browser, webbrowser.GenericBrowser)  # text browsers take over the terminal
    return not waits or isinstance(browser, webbrowser.BackgroundBrowser)
