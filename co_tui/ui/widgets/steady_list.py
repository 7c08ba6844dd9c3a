"""A list that may change under a click."""

from textual.events import Click
from textual.widgets import OptionList


class SteadyList(OptionList):
    """The library would fail on a click whose entry is gone when it is dealt with."""

    def on_click(self, event: Click) -> None:
        if (event.style.meta.get("option") or 0) >= self.option_count:
            event.prevent_default()
