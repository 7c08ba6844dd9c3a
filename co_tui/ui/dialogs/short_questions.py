"""Short questions: yes or no, and a line of text."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from co_tui.inert import one_line
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints


class ConfirmScreen(Dialog[bool]):
    """A question that is answered with y or n."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "say(True)", "Yes"),
        Binding("n,escape", "say(False)", "No"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._question, markup=False)
            yield KeyHints(("y", "yes"), ("n", "no"))

    def action_say(self, answer: bool) -> None:
        self.answer(answer)


class AskScreen(Dialog[str]):
    """Asks for a line of text; Esc gives none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self, title: str, present: str = "", *, enters: str = "accept") -> None:
        """`enters` says what Enter does."""
        super().__init__()
        self._enters = enters
        self._title, self._present = title, present

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            yield Field(one_line(self._present, 200))
            yield KeyHints(("enter", self._enters), ("esc", "back"))

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        self.answer(event.value)
