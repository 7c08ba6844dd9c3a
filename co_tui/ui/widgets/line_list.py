"""A list of single lines that renders only those in view, so that ten thousand are as fast as ten."""

import textwrap
from collections.abc import Callable, Hashable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

LineOf = Callable[[int, int], Text]
"""Renders the line at an index for a width."""
KeyOf = Callable[[int], Hashable]
"""Identifies a line when others are inserted before it."""


class LineList(ScrollView, can_focus=True):
    """One line is chosen and stays chosen when lines change; if it was the last, the new last line is chosen."""

    COMPONENT_CLASSES = {"line-list--chosen", "line-list--nothing"}
    DEFAULT_CSS = """
    LineList { height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: hidden; }
    LineList > .line-list--chosen { background: $panel; }
    LineList:focus > .line-list--chosen { background: $primary 15%; }
    LineList > .line-list--nothing { color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "choose(-1)", show=False),
        Binding("down,j", "choose(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "first", show=False),
        Binding("end,G", "last", show=False),
        Binding("enter,space", "open", show=False),
    ]
    chosen: reactive[int] = reactive(0, init=False)

    class Chosen(Message):
        """The chosen line changed."""

        def __init__(self, lines: "LineList", place: int) -> None:
            super().__init__()
            self.lines, self.place = lines, place

        @property
        def control(self) -> "LineList":
            return self.lines

    class Opened(Chosen):
        """A line was opened."""

    def __init__(
        self, *, id: str | None = None, classes: str | None = None, opens_at_first_click: bool = False
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._opens_at_first_click = opens_at_first_click
        self._count = 0
        self._line_of: LineOf = lambda _place, _width: Text()
        self._key_of: KeyOf = lambda place: place
        self._nothing = ""

    def __len__(self) -> int:
        return self._count

    def show(self, count: int, line_of: LineOf, key_of: KeyOf, nothing: str = "") -> None:
        """Replace the lines; `nothing` is shown when there are none."""
        was_last = self.chosen >= self._count - 1
        key = self._key_of(self.chosen) if self._count and self.chosen < self._count else None
        offset = self.chosen - round(self.scroll_y)
        self._count, self._line_of, self._key_of, self._nothing = count, line_of, key_of, nothing
        self._measure()
        place = self._place_of(key) if key is not None and not was_last else None
        chosen = count - 1 if place is None and was_last else place if place is not None else self.chosen
        self.set_reactive(LineList.chosen, max(0, min(chosen, count - 1)))
        if place is not None:
            self.scroll_to(y=max(0, place - offset), animate=False, immediate=True)
        else:
            self._see_chosen()
        self.refresh()
        self.post_message(self.Chosen(self, self.chosen))

    def _measure(self) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, self._count or len(self._empty_text(width)))

    def _empty_text(self, width: int) -> list[str]:
        return textwrap.wrap(self._nothing, max(1, width))

    def _place_of(self, key: Hashable) -> int | None:
        """The index of a key; usually unchanged, since lines are added at the end."""
        if self.chosen < self._count and self._key_of(self.chosen) == key:
            return self.chosen
        return next((place for place in range(self._count) if self._key_of(place) == key), None)

    def validate_chosen(self, place: int) -> int:
        return max(0, min(place, self._count - 1))

    def watch_chosen(self, before: int, place: int) -> None:
        self._see_chosen()
        self.refresh()
        self.post_message(self.Chosen(self, place))

    def _see_chosen(self) -> None:
        self.scroll_to_region(Region(0, self.chosen, 1, 1), animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        self._measure()
        self.call_after_refresh(self._see_chosen)

    def render_line(self, y: int) -> Strip:
        place, width = y + round(self.scroll_y), self.scrollable_content_region.width
        base = self.rich_style
        if place >= self._count:
            lines = [] if self._count else self._empty_text(width)
            style = base + self.get_component_rich_style("line-list--nothing", partial=True)
            return Strip([Segment(lines[place], style)] if place < len(lines) else []).extend_cell_length(width, base)
        line = self._line_of(place, width)
        line.truncate(width, overflow="ellipsis", pad=True)
        style = base + self._chosen_style if place == self.chosen else base
        return Strip(line.render(self.app.console), line.cell_len).apply_style(style).adjust_cell_length(width, style)

    @property
    def _chosen_style(self) -> Style:
        return self.get_component_rich_style("line-list--chosen")

    def action_choose(self, step: int) -> None:
        self.chosen += step

    def action_page(self, step: int) -> None:
        self.chosen += step * max(1, self.scrollable_content_region.height - 1)

    def action_first(self) -> None:
        self.chosen = 0

    def action_last(self) -> None:
        self.chosen = self._count - 1

    def action_open(self) -> None:
        if self._count:
            self.post_message(self.Opened(self, self.chosen))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y + round(self.scroll_y) < self._count:
            was, self.chosen = self.chosen, offset.y + round(self.scroll_y)
            if self._opens_at_first_click or was == self.chosen or event.chain > 1:
                self.action_open()
