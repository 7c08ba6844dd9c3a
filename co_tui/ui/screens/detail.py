"""A text to be read: a timeline entry, opened, or what a tool would do."""

import json
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from co_tui.events import Event, Message
from co_tui.events.event import payload_of
from co_tui.events.messages import pieces
from co_tui.inert import inert
from co_tui.ui.screens.dialog import Dialog
from co_tui.ui.widgets.block import clock


class TextScreen(Dialog[None]):
    """A text to be read."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Back")]

    def __init__(self, title: str, text: Text | Content | str) -> None:
        super().__init__(tall=True)
        self._title, self._text = title, Text(inert(text)) if isinstance(text, str) else text

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Text(self._title)  # a tool's name is not ours
            with VerticalScroll():
                yield Static(self._text)
            yield Static("up, down scroll   esc back", classes="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        self.answer(None)


class EventScreen(TextScreen):
    """Everything an event says."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"{event.type} · {clock(event.timestamp)} · event {event.seq}", _text(event))


def _text(event: Event) -> Text:
    if isinstance(event.fact, Message):
        return Text(inert("\n".join(text for _, text, _ in pieces(event.fact.message))))
    lines = Text()
    for key, value in payload_of(event).items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        if shown not in ("", "null", "[]", "{}"):
            lines.append(f"{key}  ", "bold")
            lines.append(f"{inert(shown)}\n")
    return lines
