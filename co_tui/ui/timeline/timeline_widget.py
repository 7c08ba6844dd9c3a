"""The timeline: turns and lifecycle events, in order."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.events import (
    Clear,
    CompactionComplete,
    CompactionUndone,
    Event,
    Fact,
    Rewind,
    SessionError,
    SessionInterrupted,
)
from co_tui.events.symbols import EntryWeight
from co_tui.session.state.session_state import Entry, seq_of
from co_tui.ui.keys import command_table
from co_tui.ui.timeline.timeline_entry import timeline_row
from co_tui.ui.timeline.timeline_log import MAIN, TimelineFilter, TimelineLog
from co_tui.ui.widgets.safe_list import SafeList

NARROWEST, GAP_TO_BAR = 20, 1
PAGE, MAX_DRAWN = 100, 150
"""Entries drawn around the highlighted one; the second is the limit as new ones are added."""
EMPTY = ""
EMPTY_FILTER = "Nothing of this kind."


class Timeline(SafeList):
    """Follows the newest entry; Enter opens one. Of a long session only a page of entries is drawn."""

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
        border-subtitle-color: $primary;
        background: $background;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
    }
    Timeline:focus { background-tint: $background 0%; }
    Timeline > .option-list--option { padding: 0; }
    Timeline:focus > .option-list--option-highlighted { background: $primary 15%; }
    Timeline > .option-list--option-disabled { color: $muted; }
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

    class ShowInChat(Message):
        """Request to show an entry in the conversation."""

        def __init__(self, event: Event) -> None:
            super().__init__()
            self.event = event

    class FoldedAway(Message):
        """It was hidden while it had the focus."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._log = TimelineLog()
        self._filter: TimelineFilter = MAIN
        self._drawn: range = range(0)
        """The range of the filtered entries that is drawn."""
        self._drawn_as: tuple[int, Mapping[EntryWeight, Style]] = (0, {})
        """The width and styles of the entries drawn."""

    # Content

    def show(self, events: Iterable[Event], messages: Sequence[Entry] = ()) -> None:
        """Replace all entries. `messages` are all that were logged."""
        self._log, self._filter = TimelineLog(events, messages), MAIN
        self._draw_newest()
        self.see_newest()

    def add(self, event: Event) -> None:
        was_at_end = self._is_at_end
        at_newest = was_at_end and self.highlighted == len(self._drawn) - 1
        before, chosen = len(self._entries), self._index
        rearranged = self._log.add(event)
        if rearranged.main if self._filter == MAIN else rearranged.others:
            self._draw_rearranged(chosen)
        elif len(self._entries) > before:
            if not self._drawn:
                self.clear_options()
            if was_at_end and len(self._drawn) < MAX_DRAWN:
                self._drawn = range(self._drawn.start, self._drawn.stop + 1)
                self.add_option(self._option(event))
        self._draw_changed(event)
        self._show_hidden()
        if self.has_focus and at_newest:  # the reader at the newest entry sees the next one, too
            self.scroll_end(animate=False, immediate=False)
        self.see_newest()

    def release(self, timeline: Sequence[Event]) -> None:
        """Hold events as this timeline of the state does."""
        self._log.release(timeline)

    def use_mode(self) -> None:
        """A turn continues: the mode in force is an entry, if the mode used before was another."""
        chosen = self._index
        if self._log.use_mode():
            if self._filter == MAIN:
                self._draw_rearranged(chosen)
            self._show_hidden()
            self.see_newest()

    def _draw_rearranged(self, chosen: int | None) -> None:
        self._draw_newest()
        if chosen is not None:
            self._draw_and_go_to(min(chosen, len(self._entries) - 1))

    def _draw_changed(self, event: Event) -> None:
        """Draw the entries again that this event undoes, brings back or stops."""
        match event.fact:
            case CompactionUndone() | Rewind():
                changed: tuple[type[Fact], ...] = (CompactionComplete, Clear, Rewind)
            case SessionInterrupted():
                changed = (SessionError,)
            case _:
                return
        for position, index in enumerate(self._drawn):
            if isinstance(self._entries[index].fact, changed):
                self.replace_option_prompt_at_index(position, self._option(self._entries[index]).prompt)

    def see_newest(self) -> None:
        """Scroll to the end, unless the timeline has the focus."""
        if not self.has_focus and self._entries:
            if not self._is_at_end:
                self._draw_newest()
            self.highlighted = None
            self.scroll_end(animate=False, immediate=False)

    @property
    def _entries(self) -> Sequence[Event]:
        return self._log.of(self._filter)

    @property
    def _is_at_end(self) -> bool:
        return self._drawn.stop == len(self._entries)

    def _draw_newest(self) -> None:
        count = len(self._entries)
        self._draw(range(max(0, count - PAGE), count))

    def _draw(self, indexes: range) -> None:
        self._drawn_as = (self._width, self._styles)
        self._drawn = indexes
        self.clear_options()
        self.add_options([self._option(self._entries[index]) for index in indexes])
        if not indexes:
            self.add_option(Option(Text(EMPTY if self._filter == MAIN else EMPTY_FILTER), disabled=True))
        self._show_hidden()

    def _draw_and_go_to(self, index: int) -> None:
        """Highlight an entry, and draw those around it if needed."""
        if index not in self._drawn:
            start = max(0, min(index - PAGE // 2, len(self._entries) - PAGE))
            self._draw(range(start, min(len(self._entries), start + PAGE)))
        self.highlighted = index - self._drawn.start

    def _option(self, event: Event) -> Option:
        log = self._log
        undone, stopped = log.is_undone(event), log.is_stopped(event)
        return Option(timeline_row(event, *self._drawn_as, log.about(event), undone=undone, stopped=stopped))

    def _show_hidden(self) -> None:
        above, below = self._drawn.start, len(self._entries) - self._drawn.stop
        further = [f"{count:,} more {where}" for count, where in ((above, "above"), (below, "below")) if count]
        self.border_title = Text(" · ".join(["Timeline", *further]))
        routine = self._log.routine if self._entries else 0
        folded = f"{routine:,} routine {'entry' if routine == 1 else 'entries'} hidden" if routine else ""
        self.border_subtitle = Content.styled(folded, "$muted") if self._filter == MAIN else Text(self._filter)

    # Appearance

    @property
    def _width(self) -> int:
        return max(NARROWEST, self.scrollable_content_region.width - GAP_TO_BAR)

    @property
    def _styles(self) -> Mapping[EntryWeight, Style]:
        return {weight: self.get_component_rich_style(f"timeline--{weight}", partial=True) for weight in EntryWeight}

    def on_resize(self) -> None:
        """Keep the highlighted entry in view, else the newest."""
        self._draw_again()
        self.see_newest()
        self.call_after_refresh(self.scroll_to_highlight)

    def on_hide(self) -> None:
        if self.has_focus:
            self.post_message(self.FoldedAway())

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.call_next(self._draw_again)  # component styles are updated after this call

    def _draw_again(self) -> None:
        """Draw the entries again if the width or the theme changed."""
        if self.is_mounted and self._drawn_as != (self._width, self._styles):
            highlighted = self.highlighted
            self._draw(self._drawn)
            self.highlighted = highlighted
            self.see_newest()

    # Keys

    @property
    def _index(self) -> int | None:
        """The highlighted entry's index among the filtered entries."""
        return None if self.highlighted is None else self._drawn.start + self.highlighted

    def on_focus(self) -> None:
        if self.highlighted is None and self._entries:
            self._draw_and_go_to(len(self._entries) - 1)

    def action_cursor_up(self) -> None:
        self._move(-1)

    def action_cursor_down(self) -> None:
        self._move(1)

    def _move(self, step: int) -> None:
        """Highlight the next entry, and draw more at the edge of the page."""
        index = (len(self._entries) if self._index is None else self._index) + step
        if 0 <= index < len(self._entries):
            self._draw_and_go_to(index)

    def action_first(self) -> None:
        if self._entries:
            self._draw_and_go_to(0)

    def action_last(self) -> None:
        if self._entries:
            self._draw_and_go_to(len(self._entries) - 1)

    def action_filter(self) -> None:
        """Switch to the next filter: all entries, then each kind, then the main ones."""
        self._filter = self._log.filter_after(self._filter)
        self._draw_newest()
        self.highlighted = len(self._drawn) - 1 if self._drawn else None

    def action_show_in_chat(self) -> None:
        if self._index is not None:
            self.post_message(self.ShowInChat(self._entries[self._index]))

    def go_to(self, seq: int | None = None) -> None:
        """Focus the newest entry; with an event, the newest up to that, without a filter, which may hide it."""
        if self._filter != MAIN and seq is not None:
            self._filter = MAIN
            self._draw_newest()
        self.focus()
        if self._entries:
            newest = len(self._entries) if seq is None else bisect_right(self._entries, seq, key=seq_of)
            self._draw_and_go_to(max(0, newest - 1))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        index = self._drawn.start + event.option_index
        if index < len(self._entries):  # else a filter removed it right after the click
            self.post_message(self.Opened(self._entries[index]))
