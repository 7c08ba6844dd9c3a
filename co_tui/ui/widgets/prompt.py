"""Where the user writes: Enter sends, the arrow keys at the edges bring back earlier prompts."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

PLACEHOLDER = "Write a message, / for commands"
MAX_REMEMBERED = 200


class Prompt(TextArea):
    """A text area that sends."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Ordinary terminals send Enter and Ctrl+J as different bytes; Shift+Enter only where the terminal tells.
        Binding("ctrl+j", "newline", "Newline", key_display="^j", id="prompt.newline"),
        Binding("shift+enter,alt+enter", "newline", "Newline", show=False),
    ]

    class Submitted(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Edited(Message):
        """The text changed; completions may apply."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Steered(Message):
        """A key that belongs to the list of completions while one is open."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, placeholder=PLACEHOLDER, compact=True, show_line_numbers=False, soft_wrap=True)
        for key in ("f6", "f7"):  # the text area's own; ours mean something else everywhere
            self._bindings.key_to_bindings.pop(key, None)
        self.completing = False
        """Set while completions are open: they get the arrow keys, Tab and Enter."""
        self._past: list[str] = []
        self._place: int | None = None
        self._present = ""

    def remember(self, prompts: list[str]) -> None:
        """Earlier prompts, oldest first."""
        self._past = [*prompts, *self._past][-MAX_REMEMBERED:]

    def set_text(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if self.completing and event.key in ("up", "down", "tab", "enter", "escape"):
            event.stop()
            event.prevent_default()
            self.post_message(self.Steered(event.key))
            return
        match event.key:
            case "enter":
                event.stop()
                event.prevent_default()
                self.send()
                return
            case "up" if self.cursor_at_first_line and self._step(-1):
                event.stop()
                event.prevent_default()
                return
            case "down" if self.cursor_at_last_line and self._step(1):
                event.stop()
                event.prevent_default()
                return
            case _:
                pass
        await super()._on_key(event)

    def action_newline(self) -> None:
        self.insert("\n")

    def send(self) -> None:
        text = self.text
        if text.endswith("\\"):  # a backslash at the end asks for a newline, as in a shell
            self.set_text(text[:-1] + "\n")
            return
        if not text.strip():
            return
        if not self._past or self._past[-1] != text:
            self._past.append(text)
        self._place = None
        self.text = ""
        self.post_message(self.Submitted(text))

    def _step(self, step: int) -> bool:
        """Go through earlier prompts; what was being written waits at the end."""
        place = len(self._past) if self._place is None else self._place
        target = place + step
        if not 0 <= target <= len(self._past) or (self._place is None and step > 0):
            return False
        if self._place is None:
            self._present = self.text
        if target == len(self._past):
            self._place = None
            self.set_text(self._present)
        else:
            self._place = target
            self.set_text(self._past[target])
        return True

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Edited(self.text))
