"""An option list that may change between a click or key and its handling."""

from textual._widget_navigation import Direction
from textual.events import Click
from textual.widgets import OptionList


class SteadyList(OptionList):
    """Textual fails on a click whose option is gone by then, and on paging in a list without height."""

    def _move_page(self, direction: Direction) -> None:
        if (self.highlighted or 0) in self._index_to_line:
            super()._move_page(direction)

    def on_click(self, event: Click) -> None:
        if (event.style.meta.get("option") or 0) >= self.option_count:
            event.prevent_default()
