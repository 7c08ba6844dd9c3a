"""Details of a timeline entry, or of a tool call."""

import json
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from co_tui.events import CompactionStart, Event, Fact, Message, Occurrence
from co_tui.events.event import payload_of
from co_tui.events.stored_messages import pieces
from co_tui.events.wording import clock
from co_tui.inert import inert
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.text.summary_text import HangingText, summary_text
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import palette_of
from co_tui.ui.widgets.key_hints import SCROLL_AND_BACK, KeyHints


class TextScreen(Dialog[None]):
    """Shows a text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Back")]

    def __init__(self, title: str, text: Text | Content | str) -> None:
        super().__init__(wide=True)
        self._title, self._text = title, Text(inert(text)) if isinstance(text, str) else text

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Text(self._title)  # as `Text`: a tool's name may contain markup
            with VerticalScroll():
                yield self.content()
            yield KeyHints(*SCROLL_AND_BACK)

    def content(self) -> Widget:
        return Static(self._text)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


class SummaryTextScreen(TextScreen):
    """Shows what replaces messages, as it is sent."""

    def __init__(self, title: str, summary: str, why: str = "") -> None:
        super().__init__(title, summary)
        self._summary, self._why = summary, why

    def content(self) -> Widget:
        text = Text().append(f"{self._why}\n\n" if self._why else "", "dim")
        return HangingText(
            text.append_text(summary_text(self._summary, TextRenderer(palette_of(self.app.current_theme))))
        )


class EventScreen(TextScreen):
    """An event in words, and its payload from the log."""

    def __init__(self, event: Event) -> None:
        happened, *_ = event.fact.timeline_text().split("\n")
        super().__init__(f"{event.fact.symbol} {happened} · {clock(event.timestamp)}", _text(event))


def _text(event: Event) -> Text:
    fact = event.fact
    if isinstance(fact, Message):
        return Text(inert("\n".join(text for _, text, _ in pieces(fact.message))))
    if isinstance(fact, CompactionStart):
        return Text(inert(fact.description()))
    details = Text(f"{inert(_sentence(fact))}\n\n")
    details.append(f"In the log: {event.type}, event {event.seq}\n", "dim")
    for key, value in payload_of(event).items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=dict)
        if shown not in ("", "null", "[]", "{}"):
            details.append(f"{inert(key)}  ", "bold dim").append(f"{inert(shown)}\n", "dim")
    details.rstrip()
    return details


def _sentence(fact: Fact) -> str:
    """The event in words, not shortened as on the timeline."""
    if isinstance(fact, Occurrence):
        return " · ".join(filter(None, (fact.what, fact.where, fact.outcome)))
    return fact.timeline_text().replace("\n", " · ")
