"""What happened, in order: turns, and every event of the session's life."""

from collections.abc import Iterable

from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.events import Event
from co_tui.ui.widgets.timeline_entry import timeline_entry, timeline_row

NARROWEST = 20


class Timeline(OptionList):
    """Newest in view; Enter opens an entry."""

    DEFAULT_CSS = """
    Timeline {
        height: 1fr;
        padding: 0 1;
        border: round $border;
        border-title-color: $muted;
        background: $background;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
    }
    Timeline > .option-list--option { padding: 0; }
    """

    class Opened(Message):
        def __init__(self, event: Event) -> None:
            super().__init__()
            self.event = event

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._events: list[Event] = []
        self._filled_width = 0

    def show(self, events: Iterable[Event]) -> None:
        """Replace all entries."""
        self._events = [event for event in events if timeline_entry(event)]
        self._fill()
        self.see_newest()

    def add(self, event: Event) -> None:
        if timeline_entry(event):
            self._events.append(event)
            self.add_option(Option(timeline_row(event, self._width)))
            self.see_newest()

    def on_resize(self) -> None:
        """Entries are wrapped for a width."""
        if self._width != self._filled_width:
            highlighted = self.highlighted
            self._fill()
            self.highlighted = highlighted
            self.see_newest()

    @property
    def _width(self) -> int:
        return max(NARROWEST, self.scrollable_content_region.width)

    def _fill(self) -> None:
        self._filled_width = self._width
        self.clear_options()
        self.add_options([Option(timeline_row(event, self._width)) for event in self._events])

    def see_newest(self) -> None:
        """Scroll to the end, unless somebody is reading."""
        if not self.has_focus and self._events:
            self.highlighted = None
            self.scroll_end(animate=False, immediate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Opened(self._events[event.option_index]))
