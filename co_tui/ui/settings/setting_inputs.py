"""The lists and fields of the settings screen; each names what Enter does in it."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key

from co_tui.ui.textual_internals import forward_event, run_binding
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.steady_list import SteadyList


class OpeningList(SteadyList):
    """A list whose Enter opens a field. Keys typed in one burst after Enter go to that field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Change"),
        Binding("left", "screen.to_groups", "Groups", tooltip="Go to the groups"),
        Binding("left", "screen.other_group(-1)", "Group", key_display="left right", tooltip="Previous or next group"),
        Binding("right", "screen.other_group(1)", show=False),
    ]

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


class GroupList(SteadyList):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Values", show=False),
        Binding("right", "screen.to_values", "Values", tooltip="Go to the values of this group"),
    ]


class FilterField(Field):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "To the list"),
        Binding("down", "submit", show=False),
    ]


class ValueField(Field):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Keep")]


class ChoiceList(SteadyList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Choose")]
