"""Questions above the prompt, and key routing: to a focused question, else to the prompt."""

import time
from typing import Any, Final

from textual.events import Key, Paste
from textual.screen import Screen
from textual.widgets import Input, TextArea

from co_tui.ui.approvals.focus_rule import FocusRule, Goes
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.textual_internals import bindings_of

NOT_TYPED: Final = frozenset({"tab", "shift+tab", "escape", *(f"f{n}" for n in range(1, 25))})
"""Keys that say nothing about someone typing."""


class Questions:
    """Shows question panels without stealing keys from a prompt being typed."""

    def __init__(self, screen: Screen[Any], prompt: Prompt) -> None:
        self._screen, self._prompt = screen, prompt
        self._rule = FocusRule()
        self._answers = frozenset[str]()
        """The letters of the question that was answered last."""

    def show(self, panel: QuestionPanel) -> None:
        self._screen.mount(panel, before=self._prompt)
        self._screen.call_after_refresh(self._offer_focus, panel)

    def _offer_focus(self, panel: QuestionPanel) -> None:
        """The user sees the question now."""
        if panel is not self._first:
            return
        asked = panel.question
        is_free = not asked.waits and not self._prompt.text and self._screen.focused in (self._prompt, None)
        if self._rule.appeared(time.monotonic(), is_free=is_free, number=asked.number, has_warning=bool(asked.warning)):
            panel.focus()

    @property
    def _first(self) -> QuestionPanel | None:
        return next(iter(self._screen.query(QuestionPanel)), None)

    def end(self, panel: QuestionPanel) -> None:
        had_focus, others = panel.has_focus, [each for each in self._screen.query(QuestionPanel) if each is not panel]
        panel.remove()
        if had_focus:
            self._answers = panel.letters
            self._rule.answered(time.monotonic(), more_follow=panel.question.number < panel.question.of)
            self._prompt.focus()
        if others:
            self._screen.call_after_refresh(self._offer_focus, others[0])

    @property
    def is_dismissable(self) -> bool:
        """Whether Esc in an empty prompt answers a question."""
        panel = self._first
        is_heard = self._rule.is_heard(time.monotonic())
        return panel is not None and panel.can_dismiss and is_heard and not self._prompt.text

    def dismiss(self) -> None:
        """Answer the question as its own Esc key does."""
        if self.is_dismissable and (panel := self._first) is not None:
            panel.action_dismiss()

    def intercept(self, event: Key | Paste) -> bool:
        """Whether the key is done with. Text typed outside of text fields moves the focus to the prompt."""
        focused, key = self._screen.focused, event.key if isinstance(event, Key) else ""
        if key == "tab" and not isinstance(focused, QuestionPanel) and (panel := self._first) is not None:
            self._rule.reached()
            panel.focus()
            return True
        if isinstance(focused, QuestionPanel) and not self._prompt.shows_keys_at(event):
            return self._is_for_question(focused, event)
        if focused is self._prompt:
            return self._is_dropped(event)
        if isinstance(focused, TextArea | Input) or self._prompt.shows_keys_at(event):
            return False
        bound = focused is not None and key in bindings_of(focused).key_to_bindings
        if _is_typed(event) and not bound:
            self._type(event)
        return False

    def _is_for_question(self, panel: QuestionPanel, event: Key | Paste) -> bool:
        """Pass a key on to the focused question, or to the prompt."""
        key = event.key if isinstance(event, Key) else ""
        is_own = key in panel.letters or key in bindings_of(panel).key_to_bindings
        if not is_own and not _is_typed(event):
            return False
        match self._rule.for_question(event.time, is_answer=is_own):
            case Goes.PROMPT:
                self._type(event)
            case Goes.NOWHERE:
                return True
            case Goes.QUESTION if key in panel.letters:
                panel.press(key)
                return True
        return False

    def _is_dropped(self, event: Key | Paste) -> bool:
        is_answer = isinstance(event, Key) and event.key in self._answers
        if self._rule.for_prompt(event.time, would_answer=is_answer) is Goes.NOWHERE:
            return True
        if not isinstance(event, Key) or event.key not in NOT_TYPED:
            self._rule.typed(event.time)
        return False

    def _type(self, event: Key | Paste) -> None:
        self._rule.typed(event.time)
        self._screen.set_focus(self._prompt)


def _is_typed(event: Key | Paste) -> bool:
    return isinstance(event, Paste) or event.is_printable
