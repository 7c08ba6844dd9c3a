"""A list that survives the clicks and keys on which Textual's own fails."""

from contextlib import suppress
from typing import Any

from textual.events import Click
from textual.widgets import OptionList

from co_tui.ui.textual_internals import OptionListInternals, limit_drawn_options


class SafeList(OptionListInternals, OptionList):
    """Textual fails on a click whose option is gone by then, and on paging in a list without height."""

    def __init__(self, *content: Any, **options: Any) -> None:
        super().__init__(*content, **options)
        limit_drawn_options(self)

    def action_page_up(self) -> None:
        with suppress(KeyError):
            super().action_page_up()  # type: ignore[no-untyped-call]  # Textual gives it no types

    def action_page_down(self) -> None:
        with suppress(KeyError):
            super().action_page_down()  # type: ignore[no-untyped-call]  # Textual gives it no types

    def on_click(self, event: Click) -> None:
        if (event.style.meta.get("option") or 0) >= self.option_count:
            event.prevent_default()
