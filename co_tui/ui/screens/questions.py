"""Questions above the prompt, and where letters go: to a question that has the focus, else to the prompt."""

import time
from typing import Any

from textual.events import Key, Paste
from textual.screen import Screen
from textual.widgets import Input, TextArea

from co_tui.ui.widgets.prompt import Prompt
from co_tui.ui.widgets.question import QuestionPanel

QUIET_S = 1.5
"""Whoever has not typed for so long is not about to type the next letter into a question."""


class Questions:
    """Never take a letter from whoever is writing."""

    def __init__(self, screen: Screen[Any], prompt: Prompt) -> None:
        self._screen, self._prompt = screen, prompt

    def show(self, panel: QuestionPanel, last_typed_at: float) -> None:
        """The focus goes there only when nobody is writing."""
        self._screen.mount(panel, before=self._prompt)
        quiet = time.monotonic() - last_typed_at > QUIET_S
        if quiet and not self._prompt.text and self._screen.focused in (self._prompt, None):
            self._screen.call_after_refresh(panel.focus)

    def end(self, panel: QuestionPanel) -> None:
        had_focus = panel.has_focus
        panel.remove()
        if had_focus:
            self._prompt.focus()

    def _went_to_question(self) -> bool:
        """From the prompt, unless Tab takes what is on offer there."""
        panels = self._screen.query(QuestionPanel)
        if not panels or self._prompt.follow_offer().is_open:
            return False
        panels.first().focus()
        return True

    def took(self, event: Key | Paste) -> bool:
        """Whether a question took the key. What is typed where nothing can be written is turned to the prompt."""
        focused = self._screen.focused
        if isinstance(event, Key) and event.key == "tab" and focused is self._prompt:
            return self._went_to_question()
        if isinstance(focused, TextArea | Input):
            return False
        typed = isinstance(event, Paste) or event.is_printable
        if isinstance(focused, QuestionPanel) and typed:
            if isinstance(event, Key) and focused.press(event.key):
                return True
            if letter := focused.give_back():
                self._prompt._forward_event(Key(letter, letter))
        bound = isinstance(event, Key) and focused is not None and event.key in focused._bindings.key_to_bindings
        if typed and not bound:
            self._screen.set_focus(self._prompt)
        return False
