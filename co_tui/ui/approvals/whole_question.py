"""A question on the full screen: a long command or diff, with the same choices as above the prompt."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key, Paste
from textual.widgets import Static

from co_tui.ui.approvals.choices import ChoiceBox
from co_tui.ui.approvals.lone_letters import LoneLetters
from co_tui.ui.approvals.question_bar import Question
from co_tui.ui.approvals.question_text import markdown_rows, whole_diff, with_changes
from co_tui.ui.dialogs.scrolling_dialog import SCROLL_HINT, ScrollingDialog
from co_tui.ui.keys.keys_on_hold import is_typed
from co_tui.ui.textual_internals import bindings_of
from co_tui.ui.themes.themes import Palette, palette_of
from co_tui.ui.widgets.key_hints import KeyHints

AROUND_TEXT: Final = 10
"""Columns of borders, padding and the scroll bar."""


class WholeQuestionScreen(ScrollingDialog[str]):
    """Answers with the key of a choice; Esc goes back to the panel."""

    DEFAULT_CSS = """
    WholeQuestionScreen.-warning > Vertical { border: round $error; border-title-color: $error; }
    WholeQuestionScreen ChoiceBox { margin-top: 1; }
    WholeQuestionScreen.-low ChoiceBox { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
    ]

    def __init__(self, question: Question, type_text: Callable[[Sequence[Key | Paste]], None]) -> None:
        """`type_text` types into the prompt what was not meant for the question."""
        super().__init__(tall=True)
        self.add_class("-full")
        self.set_class(bool(question.warning), "-warning")
        self._question, self._type_text = question, type_text

    @cached_property
    def _letters(self) -> LoneLetters:
        return LoneLetters(self.app, self._type)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Text(self._question.title)  # a tool's name is not ours
            box.border_subtitle = Text(self._question.position)
            with VerticalScroll(can_focus=False):
                yield Static(self._text(self.app.size.width - AROUND_TEXT), markup=False)
            yield ChoiceBox(self._question.choices, self.answer)
            yield KeyHints(SCROLL_HINT, ("up down enter", "choose"), ("escape", "back"))

    def on_mount(self) -> None:
        self.query_one(ChoiceBox).focus()

    def intercept(self, event: Key | Paste) -> bool:
        """As above the prompt: a letter answers if it is pressed alone, and text goes to the prompt."""
        box = self.query_one(ChoiceBox)
        if self._letters.take(box, event):
            return True
        key = event.key if isinstance(event, Key) else ""
        is_own = any(key in bindings_of(node).key_to_bindings for node in (self, box))
        if self.is_active and (is_own or not is_typed(event)):
            return False
        self._type([event])
        return True

    def _type(self, events: Sequence[Key | Paste]) -> None:
        self.withdraw()
        self._type_text(events)

    def _fit_text(self) -> None:
        text = self.query_one(Static)
        if self._question.is_markdown:
            text.update(self._text(text.content_size.width))

    def _text(self, width: int) -> Content:
        return _text(self._question, max(1, width), palette_of(self.app.current_theme))


def _text(question: Question, width: int, palette: Palette) -> Content:
    lines = question.text.split("\n")
    parts = [Content.styled(f"Warning: {question.warning}.", "bold $error")] if question.warning else []
    parts += [Content.styled(question.note, "$warning")] if question.note else []
    if (diff := question.diff) is not None:
        parts += whole_diff(diff)
    elif question.changes:
        parts += with_changes(question.text, question.changes)
    elif question.is_markdown:
        parts += markdown_rows(question.text, width, palette)
    else:
        parts += [Content.styled(line, "bold" if question.is_command else "") for line in lines]
    if question.whole:
        parts += [Content(""), *(Content.styled(line, "$muted") for line in question.whole.split("\n"))]
    return Content("\n").join(parts)
