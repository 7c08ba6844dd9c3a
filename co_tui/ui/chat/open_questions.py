"""Questions above the prompt, and key routing: to a focused question, else to the prompt."""

import time
from typing import TYPE_CHECKING, Any

from textual.events import Key, Paste
from textual.screen import Screen
from textual.widgets import TextArea

from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.textual_internals import bindings_of, forward_event

if TYPE_CHECKING:
    from co_tui.ui.approvals.question_bar import QuestionPanel
    from co_tui.ui.chat.chat_host import ChatHost

QUIET_S = 1.5
"""A question takes the focus only after this long without typing."""
ANSWERED_S = 0.5
"""The same after an answer, so that a bouncing key does not answer the next question."""
CHECK_AGAIN_S = 0.3


class Questions:
    """Shows question panels without stealing keys from a prompt being typed."""

    def __init__(self, screen: Screen[Any], prompt: Prompt, host: "ChatHost") -> None:
        self._screen, self._prompt, self._host = screen, prompt, host
        self._answered_at = float("-inf")
        self._panels: list[QuestionPanel] = []
        """From top to bottom."""

    def show(self, panel: "QuestionPanel") -> None:
        """Mount a panel; it takes the focus once the user is idle, unless they left it with Tab."""
        self._panels.append(panel)
        self._screen.mount(panel, before=self._prompt)
        if self._is_idle:
            self._screen.call_after_refresh(panel.focus)
        panel.set_interval(CHECK_AGAIN_S, lambda: self._offer_focus(panel))

    @property
    def _is_idle(self) -> bool:
        typed_at = self._host.last_typed_at
        was_answer = self._answered_at >= typed_at
        quiet = time.monotonic() - max(typed_at, self._answered_at) > (ANSWERED_S if was_answer else QUIET_S)
        return quiet and not self._prompt.text and self._screen.focused in (self._prompt, None)

    def _offer_focus(self, panel: "QuestionPanel") -> None:
        if self._is_idle and not panel.was_left and panel in self._panels[:1]:
            panel.focus()

    def end(self, panel: "QuestionPanel") -> None:
        had_focus = panel.has_focus
        if panel in self._panels:
            self._panels.remove(panel)
        panel.remove()
        if had_focus:
            self._answered_at = time.monotonic()
            self._prompt.focus()

    @property
    def is_dismissable(self) -> bool:
        """Whether Esc in an empty prompt answers a question."""
        return bool(self._panels) and self._panels[0].can_dismiss and not self._prompt.text

    def dismiss(self) -> None:
        """Answer the question as its own Esc key does."""
        if self.is_dismissable:
            self._panels[0].action_dismiss()

    def _focus_question(self) -> bool:
        """Move the focus from the prompt to a question, unless Tab accepts a completion."""
        if not self._panels or self._prompt.follow_offer().is_open:
            return False
        self._panels[0].focus()
        return True

    @property
    def focused(self) -> "QuestionPanel | None":
        return next((panel for panel in self._panels if panel.has_focus), None)

    def intercept(self, event: Key | Paste) -> bool:
        """Whether a question consumed the key. Text typed outside of text fields moves the focus to the prompt."""
        focused, panel = self._screen.focused, self.focused
        if isinstance(event, Key) and event.key == "tab" and focused is self._prompt:
            return self._focus_question()
        if panel is not None and isinstance(event, Key) and event.key == "tab":
            panel.was_left = True
        if isinstance(focused, TextArea) or _is_field(focused) or self._prompt.shows_keys_at(event):
            return False
        typed = isinstance(event, Paste) or event.is_printable
        if panel is not None and typed:
            if isinstance(event, Key) and panel.press(event.key):
                return True
            if held := panel.give_back():
                for letter in held:
                    forward_event(self._prompt, Key(letter, letter))
                self._screen.set_focus(self._prompt)
                return False
        bound = isinstance(event, Key) and focused is not None and event.key in bindings_of(focused).key_to_bindings
        if typed and not bound:
            self._screen.set_focus(self._prompt)
        return False


def _is_field(focused: object) -> bool:
    from textual.widgets import Input  # no chat has one before the first paint

    return isinstance(focused, Input)
