"""A list whose Enter opens a field: what is typed in one burst with Enter is for that field."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key

from co_tui.ui.textual_internals import forward_event, run_binding
from co_tui.ui.widgets.steady_list import SteadyList


class OpeningList(SteadyList):
    """Keys act at once, so that those behind Enter find out that the focus is elsewhere by now."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Change", key_display="enter")]

    def __init__(self, open: Callable[[], Awaitable[None]], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._open = open

    async def on_key(self, event: Key) -> None:
        focused = self.screen.focused
        if focused is not self and focused is not None:
            event.stop()
            forward_event(focused, Key(event.key, event.character))
        elif await run_binding(self.app, event.key):
            event.stop()

    async def action_select(self) -> None:  # type: ignore[override] # run by its name, and awaited
        await self._open()
