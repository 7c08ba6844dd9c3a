"""Simple dialogs: yes or no, a line of text, and a longer text to edit."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, Static, TextArea

from co_tui.inert import one_line
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.dialogs.scrolling_dialog import ScrollingDialog
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_text_area import SafeTextArea


class ConfirmScreen(ScrollingDialog[bool]):
    """A question answered with y or n."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "say(True)", "Yes"),
        Binding("n,escape", "say(False)", "No"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical():
            with VerticalScroll(can_focus=False):
                yield Static(self._question, markup=False)
            yield KeyHints(("y", "yes"), ("n", "no"))

    def action_say(self, answer: bool) -> None:
        self.answer(answer)


class AskScreen(Dialog[str]):
    """Asks for a line of text; Esc answers None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self, title: str, present: str = "", *, enters: str = "accept") -> None:
        """`enters` says what Enter does."""
        super().__init__()
        self._enters = enters
        self._title, self._present = title, present

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            yield Field(one_line(self._present, len(self._present)))
            yield KeyHints(("enter", self._enters), ("esc", "back"))

    @property
    def has_unsaved_text(self) -> bool:
        return self.query_one(Field).value != one_line(self._present, len(self._present))

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        self.answer(event.value)


class EditScreen(Dialog[str | None]):
    """A longer text to read and change; answers with the edited text, or None. Asks before it drops changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f10", "accept", "Accept", priority=True),
        Binding("escape", "close", "Back", priority=True),
    ]

    def __init__(self, title: str, text: str, *, discards: str = "", needs_text: bool = False) -> None:
        """`discards` is what Esc discards besides the changes; with `needs_text`, an empty text is not accepted."""
        super().__init__(tall=True)
        self._title, self._text = title, text
        self._discards, self._needs_text = discards, needs_text

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            yield SafeTextArea(self._text, soft_wrap=True, show_line_numbers=False)
            yield KeyHints(("ctrl+s", "accept"), ("esc", "discard" if self._discards else "back"))

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()

    def action_accept(self) -> None:
        text = self.query_one(TextArea).text
        if self._needs_text and not text.strip():
            self.notify("It cannot be empty. Ctrl+Z brings back what you deleted.", severity="warning", timeout=4)
        else:
            self.answer(text)

    @property
    def has_unsaved_text(self) -> bool:
        return self.query_one(TextArea).text != self._text

    def action_close(self) -> None:
        if not self.has_unsaved_text:
            self.withdraw()
        else:
            self.app.push_screen(ConfirmScreen(f"Discard {self._discards or 'the changes'}?"), self._asked)

    def _asked(self, is_discarded: bool | None) -> None:
        if is_discarded:
            self.withdraw()
