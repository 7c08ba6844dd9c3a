"""A question above the prompt. It shows itself and waits: whoever types goes on typing."""

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widget import Widget


class Answer(NamedTuple):
    """A key and what it says."""

    key: str
    label: str


class QuestionPanel(Widget, can_focus=True):
    """Its keys count while it has the focus: after Tab or a click, or when nothing was being written."""

    DEFAULT_CSS = """
    QuestionPanel {
        height: auto;
        max-height: 50%;
        padding: 0 1;
        border: round $warning;
        border-subtitle-color: $warning;
    }
    QuestionPanel:focus { border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "answer('escape')", "Not now", show=False)]

    def __init__(self, title: str, text: str, answers: Mapping[str, str], done: Callable[[str], None]) -> None:
        """`answers` are keys with their labels; `done` hears the key. Esc is an answer, too."""
        super().__init__()
        self.border_title = Text(title)
        self._text, self._answers, self._done = text, dict(answers), done
        self._answered = False

    def render(self) -> Text:
        keys = "   ".join(f"{key} {label}" for key, label in self._answers.items())
        return Text.assemble(self._text, "\n", (keys, "bold"))

    def on_focus(self) -> None:
        self.border_subtitle = ""

    def on_blur(self) -> None:
        self.border_subtitle = Text("tab to answer")

    def on_mount(self) -> None:
        if not self.has_focus:
            self.on_blur()

    def takes(self, key: str) -> bool:
        """Whether the key is an answer."""
        return key in self._answers

    def on_key(self, event: Key) -> None:
        if self.takes(event.key):
            event.stop()
            self.action_answer(event.key)

    def action_answer(self, key: str) -> None:
        """Answer once; a second key finds it answered."""
        if not self._answered:
            self._answered = True
            self._done(key)
