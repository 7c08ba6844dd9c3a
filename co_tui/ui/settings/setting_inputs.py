"""The lists and fields of the settings screen; each names what Enter does in it."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, TypeAlias

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widget import Widget

from co_tui.ui.textual_internals import forward_event, run_binding
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.safe_list import SafeList

Open: TypeAlias = Callable[[], Awaitable[None]]


async def pass_on(widget: Widget, event: Key) -> bool:
    """Give a key to the field that an earlier key of the same burst opened; False if the focus is still here."""
    focused = widget.screen.focused
    if focused is widget or focused is None:
        return False
    event.stop()
    event.prevent_default()
    forward_event(focused, Key(event.key, event.character))
    return True


async def run_key(widget: Widget, event: Key) -> None:
    """Run the binding of a key in a list, or begin to filter with what was typed."""
    if await run_binding(widget.app, event.key):
        event.stop()
    elif event.is_printable and event.character:
        event.stop()
        await widget.run_action(f"screen.filter({event.character!r})")


class OpeningList(SafeList):
    """A list whose Enter opens a field. Keys typed in one burst after Enter go to that field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Edit"),
        Binding("left", "screen.to_groups", "Groups", tooltip="Go to the groups"),
        Binding("left", "screen.other_group(-1)", "Group", key_display="left right", tooltip="Previous or next group"),
        Binding("right", "screen.other_group(1)", show=False),
    ]

    def __init__(self, open: Open, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._open = open

    async def on_key(self, event: Key) -> None:
        if not await pass_on(self, event):
            await run_key(self, event)

    async def action_select(self) -> None:  # type: ignore[override] # run by its name, and awaited
        await self._open()


class GroupList(SafeList):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Values", show=False),
        Binding("right", "screen.to_values", "Values", tooltip="Go to the values of this group"),
    ]

    async def on_key(self, event: Key) -> None:
        if not await pass_on(self, event):
            await run_key(self, event)


class FilterField(Field):
    """Enter edits the setting highlighted in the list; the arrow keys move there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Edit"),
        Binding("down", "screen.move(1)", show=False),
        Binding("up", "screen.move(-1)", show=False),
    ]

    def __init__(self, open: Open, *, id: str, placeholder: str) -> None:
        super().__init__(id=id, placeholder=placeholder, select_on_focus=False)
        self._open = open

    async def on_key(self, event: Key) -> None:
        if not await pass_on(self, event):
            await super().on_key(event)

    async def action_submit(self) -> None:
        await self._open()


class ValueField(Field):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Save")]


class ChoiceList(SafeList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Choose")]
