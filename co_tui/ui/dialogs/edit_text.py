"""A longer text to read and change: a summary before it is applied, or one that stands."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import TextArea

from co_tui.inert import inert
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.steady_text_area import SteadyTextArea


class EditScreen(Dialog[str | None]):
    """Answers with the text as it was left, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f10", "accept", "Accept", priority=True),
        Binding("escape", "close", "Back", priority=True),
    ]

    def __init__(self, title: str, text: str, *, refusal: str = "back") -> None:
        super().__init__(tall=True)
        self._title, self._text, self._refusal = title, text, refusal

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            yield SteadyTextArea(inert(self._text), soft_wrap=True, show_line_numbers=False)
            yield KeyHints(("ctrl+s", "accept"), ("esc", self._refusal))

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()

    def action_accept(self) -> None:
        self.answer(self.query_one(TextArea).text)
