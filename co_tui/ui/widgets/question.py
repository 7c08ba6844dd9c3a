"""A question above the prompt. It shows itself and waits: whoever types goes on typing."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget

from co_tui.ui.widgets.question_text import beginning, key_rows

TYPING_S = 0.4
"""A letter that is followed by another so soon was typed, and belongs in the prompt."""
LEAST_ROWS = 3
"""Of the text, however low the screen is."""
ROOMY_ROWS = 22
"""From here on an empty row stands between the text and the keys."""
ALL_OF_IT = "space"


class QuestionPanel(Widget, can_focus=True):
    """Its letters count while it has the focus: after Tab or a click, or when nothing was being written."""

    DEFAULT_CSS = """
    QuestionPanel {
        height: auto;
        padding: 0 1;
        border: round $warning;
        border-title-color: $warning;
        border-subtitle-color: $warning;
    }
    QuestionPanel:focus { border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Not now", show=False)]

    def __init__(
        self,
        title: str,
        text: str,
        answers: Mapping[str, str],
        answered: Callable[[str], None],
        *,
        note: str = "",
        opens: bool = False,
    ) -> None:
        """`answers` are letters with their labels; `answered` hears which was pressed, or `esc`.

        A `note` stands above the text, and is seen whole.
        What `opens` has another key, `space`, for as long as not all of the text is seen.
        """
        super().__init__()
        if opens:
            self._bindings.bind(ALL_OF_IT, f"answer('{ALL_OF_IT}')", show=False)
        self._opens = opens
        self.border_title = Text(title)
        self._text, self._answers, self._answered = text, dict(answers), answered
        self._note = Content.styled(note, "$warning")
        self.was_focused = False
        """Whether its keys have counted at any time."""
        self._letter = ""
        self._timer: Timer | None = None

    def render(self) -> Content:
        return Content("\n").join(self._rows(self.content_size.width))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows(width))

    def _rows(self, width: int) -> list[Content]:
        """Never so much of the text that the keys would not be seen."""
        note = self._note.wrap(width) if self._note else []
        keys, height = key_rows(self._answers, width), self.app.size.height
        least = LEAST_ROWS + (len(keys) == 1)
        shown = beginning(self._text, width, max(least, height // 3 - LEAST_ROWS - len(note)))
        if self._opens and not shown.whole:
            keys = key_rows({**self._answers, ALL_OF_IT: "all of it"}, width)
        apart = [Content("")] if height >= ROOMY_ROWS else []
        return [*note, *shown.rows, *apart, *keys]

    @property
    def has_way_out(self) -> bool:
        """Whether Esc is one of the answers it offers."""
        return "esc" in self._answers

    def show_text(self, text: str) -> None:
        """Something else, of about the same length."""
        self._text = text
        self.refresh()

    def on_mount(self) -> None:
        if not self.has_focus:
            self.on_blur()

    def on_focus(self) -> None:
        self.was_focused = True
        self.border_subtitle = ""

    def on_blur(self) -> None:
        self.border_subtitle = Text("tab to answer")

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
