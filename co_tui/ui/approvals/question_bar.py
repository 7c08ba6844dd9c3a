"""A question above the prompt. It never takes letters from a user who is typing."""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input

from co_tui.events.file_diff import FileDiff
from co_tui.ui.approvals.choices import Choice, ChoiceBox, Choices
from co_tui.ui.approvals.question_text import beginning, fitted_title, markdown_rows, with_changes
from co_tui.ui.textual_internals import bindings_of
from co_tui.ui.themes.themes import palette_of
from co_tui.ui.widgets.field import Field

LEAST_ROWS: Final = 3
"""Minimum rows of the text."""
ROOMY_ROWS: Final = 22
"""From this height on each choice has its own row, and the text an empty row below it."""
ROOMY_DIFF_ROWS: Final = 32
"""The same for a diff, of which more lines are shown."""
FIXED_ROWS: Final = 9
"""Title, gauge, prompt, keys, the panel's border, and one row of the chat."""
CHAT_ROWS: Final = 2
"""Rows of the chat kept visible before the text gets more than its minimum."""
MOST_LINE_ROWS: Final = 2
"""Maximum rows of a sentence above or below the text."""
CONFIRMS: Final = "Enter allows it"
"""Shown once the letter of what destroys or publishes was pressed."""
VIEW_ALL: Final = "space"
VIEW_ALL_OF_SEVERAL: Final = "v"
"""The key instead where Space checks a choice."""


class Question(NamedTuple):
    """A question and its choices."""

    title: str
    text: str
    choices: Choices
    where: str = ""
    """Where the call would run: shown in the border if there is room."""
    number: int = 1
    of: int = 1
    """Its number among the questions of a batch."""
    note: str = ""
    """What changed since it was first asked."""
    warning: str = ""
    """What the call destroys or publishes."""
    below: tuple[str, ...] = ()
    """Sentences below the text."""
    whole: str = ""
    """Details that only the full screen shows, as they may be long."""
    opens: bool = False
    """Whether all of it can be read on the full screen."""
    diff: FileDiff | None = None
    """The change of a file that it asks about."""
    changes: tuple[FileDiff, ...] = ()
    """The same of several calls; shown below the text."""
    is_command: bool = False
    is_markdown: bool = False
    waits: bool = False
    """Whether it waits for Tab: no letter of someone who begins to type may answer it."""
    unoffered: str = ""
    """Letters that answer similar questions: pressed alone they do nothing here."""

    @property
    def position(self) -> str:
        return f"{self.number} of {self.of}" if self.of > 1 else ""

    @property
    def opening_key(self) -> str:
        return VIEW_ALL_OF_SEVERAL if self.choices.several else VIEW_ALL

    @property
    def refusal(self) -> str:
        """What Esc answers, in the words of the choice."""
        labels = {each.key: each.label for each in self.choices.all}
        return labels.get("esc") or labels.get("n") or "Not now"


def simple_question(title: str, text: str, answers: Mapping[str, str], *, marked: str | None = None) -> Question:
    """A question from keys and labels; in one row without a marker, unless `marked` is given."""
    choices = (Choice(key, label) for key, label in answers.items())
    return Question(title, text, Choices(choices, marked=marked, in_a_row=marked is None))


class QuestionPanel(ChoiceBox):
    """Its keys work while it has the focus: after Tab or a click, or if the user was not typing."""

    DEFAULT_CSS = """
    QuestionPanel {
        height: auto;
        padding: 0 1;
        border: round $warning;
        border-title-color: $warning;
        border-subtitle-color: $warning;
    }
    QuestionPanel:focus { border: round $primary; border-title-color: $primary; }
    QuestionPanel.-warning, QuestionPanel.-warning:focus {
        border: round $error;
        border-title-color: $error;
        border-subtitle-color: $error;
    }
    QuestionPanel Field { dock: bottom; display: none; }
    """
    hears_letters = False  # they may be meant for the prompt: see `FocusRule` and `LoneLetters`
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Not now")]

    def __init__(self, question: Question, answered: Callable[[str], None], *, writes: str = "") -> None:
        """`answered` gets the key of the answer, or `esc`; `writes` is the choice whose field is open."""
        super().__init__(question.choices, answered)
        self.question = question
        self.written = ""
        """The text of an answer that has one."""
        self._writes = writes
        self._markdown: tuple[object, list[Content]] = (None, [])
        self.set_class(bool(question.warning), "-warning")
        if question.opens:
            bindings_of(self).bind(question.opening_key, f"answer('{question.opening_key}')", "Show all", show=False)
        self._text = question.text
        self._name_escape(question.refusal)

    def compose(self) -> ComposeResult:
        if any(each.writes for each in self.choices.all):
            yield Field(compact=True)

    def _name_escape(self, does: str) -> None:
        bindings_of(self).key_to_bindings["escape"] = [Binding("escape", "dismiss", does)]

    def _rows(self, width: int) -> list[Content]:
        """Shortens the text so that the choices stay visible."""
        question, height = self.question, self.app.size.height
        packed = height < (ROOMY_DIFF_ROWS if question.diff else ROOMY_ROWS)
        chat_rows = 0 if packed and question.diff else CHAT_ROWS
        _, where = fitted_title(question.title, question.where, question.position, width - 2)
        above = _sentences([(f"Warning: {question.warning}." if question.warning else "", "bold $error")], width)
        above += _sentences([(question.note, "$warning")], width)
        below = _sentences([(where, "$muted"), *((each, "") for each in question.below)], width)
        below += [Content("")] if not packed else []
        field = [Content("")] if self._writes else []
        for further in ((), (Choice(question.opening_key, "View all", same_row=True),)):
            is_hidden = packed and self._writes
            choices = [] if is_hidden else question.choices.rows(width, packed=packed, further=further)
            others = len(above) + len(below) + len(choices) + len(field)
            least = min(LEAST_ROWS, height - FIXED_ROWS - others)
            room = max(1, least, min(height // 2, height - FIXED_ROWS - chat_rows - others))
            lines = self._drawn(width) if question.is_markdown else with_changes(self._text, question.changes)
            shown = beginning(self._text, width, room, diff=question.diff, strong=question.is_command, lines=lines)
            if not question.opens or (shown.whole and not question.choices.is_cut(width, packed=packed)):
                break
        return [*above, *shown.rows, *below, *choices, *field]

    def _drawn(self, width: int) -> list[Content]:
        """The text as Markdown, drawn once for a width and a theme: each key lays the panel out."""
        key = (self._text, width, self.app.theme)
        if self._markdown[0] != key:
            self._markdown = key, markdown_rows(self._text, width, palette_of(self.app.current_theme))
        return self._markdown[1]

    @property
    def can_dismiss(self) -> bool:
        """Whether Esc is one of its answers."""
        return "esc" in self.choices

    def show_text(self, text: str) -> None:
        """Replace the text by one of about the same length."""
        self._text = text
        self.refresh()

    def on_mount(self) -> None:
        if self._writes:
            self.give(self._writes)
        elif not self.has_focus:
            self.on_blur()

    def on_resize(self) -> None:
        question = self.question
        title, _ = fitted_title(question.title, question.where, question.position, self.content_size.width - 2)
        self.border_title = title

    def on_focus(self) -> None:
        if self._writes:
            self.take_focus()  # what is typed must not answer
        else:
            self.border_subtitle = ""

    def on_blur(self) -> None:
        self.choices.unmark_letter()
        self.border_subtitle = Text("Enter sends, Esc goes back" if self._writes else "Tab answers")

    @property
    def unsent(self) -> str:
        """What is written in its open field."""
        return self.query_one(Field).value.strip() if self._writes and not self.written else ""

    def take_focus(self) -> None:
        """Also for its field, while one is open."""
        self.screen.set_focus(self.query_one(Field) if self._writes else self)

    def give(self, answer: str) -> None:
        """Open the field of a choice that writes."""
        if not (placeholder := self.choices.writes(answer)):
            super().give(answer)
            return
        self._writes = answer
        self._name_escape("Back")
        field = self.query_one(Field)
        field.placeholder, field.display = placeholder, True
        self.take_focus()
        self.refresh(layout=True)

    @on(Input.Submitted)
    def _written(self, event: Input.Submitted) -> None:
        event.stop()
        self.written = event.value.strip()
        super().give(self._writes)

    @property
    def letters(self) -> frozenset[str]:
        """Those that answer, those that answer similar questions, and the one that shows all."""
        opens = {self.question.opening_key} if self.question.opens else set()
        return super().letters | {*self.question.unoffered} | {key for key in opens if len(key) == 1}

    def press(self, letter: str) -> None:
        if letter in self.choices:
            super().press(letter)
            self.border_subtitle = Text(CONFIRMS if self.choices.is_letter_only(letter) else "")
        elif self.question.opens and letter == self.question.opening_key:
            self.give(letter)
        else:
            self.border_subtitle = Text(f"{letter} is not offered here")

    def action_dismiss(self) -> None:
        if not self._writes:
            super().give("esc")
            return
        self._writes = ""
        self._name_escape(self.question.refusal)
        self.query_one(Field).display = False
        self.take_focus()
        self.refresh(layout=True)


def _sentences(lines: Iterable[tuple[str, str]], width: int) -> list[Content]:
    """Each in a few rows at most, with an ellipsis if there is more."""
    rows: list[Content] = []
    for text, style in lines:
        if text:
            rows += (
                Content.styled(text, style).truncate(width * MOST_LINE_ROWS - MOST_LINE_ROWS, ellipsis=True).wrap(width)
            )
    return rows
