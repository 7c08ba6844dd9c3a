"""Shows where links lead before one is opened."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.terminal.clipboard import copy
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.steady_list import SteadyList

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
            yield SteadyList(*(Option(Text(address, overflow="fold")) for address in self._addresses))
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
