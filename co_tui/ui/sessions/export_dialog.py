"""As what a session is exported."""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.key_hints import KEY_STYLE, KeyHints

FORMS: Final = {"m": "Markdown, to read", "h": "HTML, one page to show", "j": "JSONL, to import again"}


class ExportScreen(Dialog[str]):
    """Answers with the name of a format; Esc gives none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "say('markdown')"),
        Binding("h", "say('html')"),
        Binding("j", "say('jsonl')"),
        Binding("escape", "close"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Export into this folder"
            rows = (Content.assemble((key, KEY_STYLE), f"  {words}") for key, words in FORMS.items())
            yield Static(Content("\n").join(rows))
            yield KeyHints(("esc", "back"))

    def action_say(self, form: str) -> None:
        self.answer(form)
