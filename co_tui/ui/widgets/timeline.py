"""What happened, in order: turns, and every event of the session's life."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.events import Event
from co_tui.events.signs import EntryKind, EntryWeight
from co_tui.ui import command_table
from co_tui.ui.widgets.timeline_entry import timeline_row
from co_tui.ui.widgets.timeline_log import EVERYTHING, TimelineLog

NARROWEST = 20
PAGE = 150
"""So many entries are drawn at first, and so many more whenever somebody goes up beyond them."""


class Timeline(OptionList):
    """Newest in view; Enter opens an entry. Only the newest pages are drawn, whatever the session's length."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *command_table.bindings("timeline"),
    ]
    COMPONENT_CLASSES = {f"timeline--{weight}" for weight in EntryWeight}
    DEFAULT_CSS = """
    Timeline {
        height: 1fr;
        padding: 0 0 0 1;
        border: round $border;
        border-title-color: $muted;
        border-subtitle-color: $warning;
        background: $background;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
    }
    Timeline > .option-list--option { padding: 0; }
    Timeline:focus > .option-list--option-highlighted { background: $primary 25%; }
    Timeline > .timeline--light { color: $muted; }
    Timeline > .timeline--normal { color: $foreground; }
    Timeline > .timeline--notable { color: $warning; }
    Timeline > .timeline--bad { color: $error; text-style: bold; }
    Timeline > .timeline--heavy { color: $accent; text-style: bold; }
    """

    class Opened(Message):
        def __init__(self, event: Event) -> None:
            super().__init__()
            self.event = event

    class WantedInChat(Message):
        """Show where in the conversation this happened."""

        def __init__(self, event: Event) -> None:
            super().__init__()
            self.event = event

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._log = TimelineLog()
        self._kind: EntryKind | None = EVERYTHING
        self._drawn: list[Event] = []
        self._drawn_as: tuple[int, Mapping[EntryWeight, Style]] = (0, {})
        """The width and the colours of what is drawn."""

    # What is shown

    def show(self, events: Iterable[Event]) -> None:
        """Replace all entries."""
        self._log, self._kind = TimelineLog(events), EVERYTHING
        self._fill(PAGE)
        self.see_newest()

    def add(self, event: Event) -> None:
        kind = self._log.add(event)
        if kind is None:
            return
        if self._kind not in (EVERYTHING, kind):
            self._tell_hidden()
        elif len(self._drawn) >= 3 * PAGE and not self.has_focus:
            self._fill(PAGE)
        else:
            self._drawn.append(event)
            self.add_option(self._option(event))
        self.see_newest()

    def see_newest(self) -> None:
        """Scroll to the end, unless somebody is reading."""
        if not self.has_focus and self._drawn:
            self.highlighted = None
            self.scroll_end(animate=False, immediate=False)

    @property
    def _entries(self) -> Sequence[Event]:
        return self._log.of(self._kind)

    @property
    def _undrawn(self) -> int:
        """How many older entries there are above those drawn."""
        return len(self._entries) - len(self._drawn)

    def _fill(self, count: int) -> None:
        """Draw the newest entries."""
        self._drawn_as = (self._width, self._styles)
        self._drawn = list(self._entries[-count:])
        self.clear_options()
        self.add_options([self._option(event) for event in self._drawn])
        self._tell_hidden()

    def _option(self, event: Event) -> Option:
        return Option(timeline_row(event, *self._drawn_as))

    def _tell_hidden(self) -> None:
        hidden = self._log.hidden_by(self._kind)
        self.border_subtitle = Text(f"{self._kind} only · {hidden:,} hidden") if self._kind else ""
        self.border_title = Text(f"Timeline · {self._undrawn:,} more above") if self._undrawn else "Timeline"

    # How it looks

    @property
    def _width(self) -> int:
        return max(NARROWEST, self.scrollable_content_region.width)

    @property
    def _styles(self) -> Mapping[EntryWeight, Style]:
        return {weight: self.get_component_rich_style(f"timeline--{weight}", partial=True) for weight in EntryWeight}

    def on_resize(self) -> None:
        self._draw_again()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._draw_again()

    def _draw_again(self) -> None:
        """Entries are wrapped for a width, in the colours of a theme."""
        if self.is_mounted and self._drawn_as != (self._width, self._styles):
            highlighted = self.highlighted
            self._fill(max(PAGE, len(self._drawn)))
            self.highlighted = highlighted
            self.see_newest()

    # Keys

    def on_focus(self) -> None:
        if self.highlighted is None and self._drawn:
            self.highlighted = len(self._drawn) - 1

    def action_cursor_up(self) -> None:
        """At the first entry that is drawn, the ones before it are drawn, too."""
        if self.highlighted == 0:
            self._draw_older()
        if self.highlighted:
            super().action_cursor_up()

    def action_cursor_down(self) -> None:
        if self.highlighted is None or self.highlighted < len(self._drawn) - 1:
            super().action_cursor_down()

    def _draw_older(self) -> None:
        more = min(PAGE, self._undrawn)
        if more:
            highlighted = self.highlighted or 0
            self._fill(len(self._drawn) + more)
            self.highlighted = highlighted + more

    def action_filter(self) -> None:
        """Show one kind of entries after the other, and then all again."""
        self._kind = self._log.kind_after(self._kind)
        self._fill(PAGE)
        self.highlighted = len(self._drawn) - 1 if self._drawn else None

    def action_show_in_chat(self) -> None:
        if self.highlighted is not None:
            self.post_message(self.WantedInChat(self._drawn[self.highlighted]))

    def go_to(self, seq: int) -> None:
        """Take the focus, at the newest entry that is no newer than an event; hidden ones are shown again for it."""
        if self._kind is not EVERYTHING:
            self._kind = EVERYTHING
            self._fill(PAGE)
        place = max(0, bisect_right(self._entries, seq, key=lambda event: event.seq or 0) - 1)
        if place < self._undrawn:
            self._fill(len(self._entries) - place)
        self.focus()
        self.highlighted = place - self._undrawn if self._drawn else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Opened(self._drawn[event.option_index]))
