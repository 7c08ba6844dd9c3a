"""A question above the prompt. It shows itself and waits: whoever types goes on typing."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widget import Widget

TYPING_S = 0.4
"""A letter that is followed by another so soon was typed, and belongs in the prompt."""


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff."""
    return text.startswith("--- ") and "\n+++ " in text


class QuestionPanel(Widget, can_focus=True):
    """Its letters count while it has the focus: after Tab or a click, or when nothing was being written."""

    DEFAULT_CSS = """
    QuestionPanel {
        height: auto;
        max-height: 9;
        padding: 0 1;
        border: round $warning;
        border-title-color: $warning;
        border-subtitle-color: $warning;
    }
    QuestionPanel:focus { border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Not now", show=False)]

    def __init__(self, title: str, text: str, answers: Mapping[str, str], answered: Callable[[str], None]) -> None:
        """`answers` are letters, and `space`, with their labels; `answered` hears which was pressed, or `esc`."""
        super().__init__()
        if "space" in answers:
            self._bindings.bind("space", "answer('space')", show=False)
        self.border_title = Text(title)
        self._text, self._answers, self._answered = text, dict(answers), answered
        self._letter = ""
        self._timer: Timer | None = None

    def render(self) -> Text:
        keys = "   ".join(f"{key} {label}" for key, label in self._answers.items())
        return Text.assemble(self._shown(), "\n", (keys, "bold"))

    def _shown(self) -> Text:
        """The text; when it is about a change, what comes and what goes in colours."""
        lines = self._text.split("\n")
        if not all(line[:1] in "+-…" for line in lines if line):
            return Text(self._text)
        styles = {"+": "green", "-": "red"}
        return Text("\n").join(Text(line, styles.get(line[:1], "")) for line in lines)

    def on_mount(self) -> None:
        if not self.has_focus:
            self.on_blur()

    def on_focus(self) -> None:
        self.border_subtitle = ""

    def on_blur(self) -> None:
        self.border_subtitle = Text("shift+tab to answer")

    def press(self, key: str) -> bool:
        """Take a letter that is an answer, unless it goes on as a word. False for what is none of ours."""
        if self._letter or key not in self._answers or len(key) > 1:
            return False
        self._letter = key
        # Keys that arrived meanwhile are looked at first, however late that is.
        self._timer = self.set_timer(TYPING_S, lambda: self.app.call_later(self._decide))
        return True

    def give_back(self) -> str:
        """The letter that was taken, when it turns out to be the beginning of a word."""
        letter, self._letter = self._letter, ""
        if self._timer is not None:
            self._timer.stop()
        return letter

    def _decide(self) -> None:
        letter, self._letter = self._letter, ""
        if letter:
            self._answered(letter)

    def action_answer(self, key: str) -> None:
        self._answered(key)

    def action_dismiss(self) -> None:
        self._answered("esc")
