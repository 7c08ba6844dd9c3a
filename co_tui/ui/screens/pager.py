"""Something long that was said, whole."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from co_tui.ui.clipboard import copy
from co_tui.ui.screens.dialog import Dialog
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.pager import Pager


class PagerScreen(Dialog[None]):
    """To be read and copied; the text is already inert."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v", "close", "Back"),
        Binding("c", "copy", "Copy"),
        Binding("space", "page(1)", show=False),
        Binding("b", "page(-1)", show=False),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__(tall=True)
        self.add_class("-full")
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        lines = self._text.count("\n") + 1
        with Vertical() as box:
            box.border_title = Text(self._title)  # a tool's name is not ours
            box.border_subtitle = f"{lines:,} lines" if lines > 1 else f"{len(self._text):,} characters"
            yield Pager(self._text)
            yield KeyHints(("↑ ↓ space b", "scroll"), ("home end", "to its ends"), ("c", "copy"), ("esc", "back"))

    def on_mount(self) -> None:
        self.query_one(Pager).focus()

    def action_page(self, step: int) -> None:
        pager = self.query_one(Pager)
        pager.scroll_relative(y=step * max(1, pager.size.height - 1), animate=False)

    def action_copy(self) -> None:
        copy(self.app, self._text, "text")

    def action_close(self) -> None:
        self.answer(None)
