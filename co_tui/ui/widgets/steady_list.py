"""A list that may change under a click or a key."""

from textual._widget_navigation import Direction
from textual.events import Click
from textual.widgets import OptionList


class SteadyList(OptionList):
    """The library would fail on a click whose entry is gone when it is dealt with, and on paging without any room."""

    def _move_page(self, direction: Direction) -> None:
        if (self.highlighted or 0) in self._index_to_line:
            super()._move_page(direction)

    def on_click(self, event: Click) -> None:
        if (event.style.meta.get("option") or 0) >= self.option_count:
            event.prevent_default()
