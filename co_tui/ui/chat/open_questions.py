"""Questions above the prompt, and key routing: to a focused question, else to the prompt."""

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from textual.events import Key, Paste
from textual.screen import Screen
from textual.widgets import TextArea

from co_tui.ui.chat.focus_rule import FocusRule, Goes
from co_tui.ui.keys.keys_on_hold import is_typed
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.textual_internals import bindings_of, focused_here_or_elsewhere, forward_event

if TYPE_CHECKING:
    from co_tui.ui.approvals.lone_letters import LoneLetters
    from co_tui.ui.approvals.question_bar import QuestionPanel

NOT_TYPED: Final = frozenset({"tab", "shift+tab", "escape", *(f"f{n}" for n in range(1, 25))})
"""Keys that say nothing about someone typing."""


class Questions:
    """Shows question panels without stealing keys from a prompt being typed."""

    def __init__(self, screen: Screen[Any], prompt: Prompt, is_seen: Callable[[], bool]) -> None:
        self._screen, self._prompt, self._is_seen = screen, prompt, is_seen
        self._rule = FocusRule()
        self._panels: list[QuestionPanel] = []
        """From top to bottom."""
        self._answers = frozenset[str]()
        """The letters of the question that was answered last."""
        self._is_hidden = False
        """Whether the first question came while something covered the chat, and was not seen yet."""
        self._arrives = False
        """Whether a question is about to be seen."""

    @cached_property
    def _letters(self) -> "LoneLetters":
        from co_tui.ui.approvals.lone_letters import LoneLetters  # not needed for the first paint

        return LoneLetters(self._screen.app, self.type_text)

    def show(self, panel: "QuestionPanel") -> None:
        self._panels.append(panel)
        self._arrives = True
        self._screen.mount(panel, before=self._prompt)
        self._screen.call_after_refresh(self._offer_focus, panel)

    def _offer_focus(self, panel: "QuestionPanel") -> None:
        """The user sees the question now."""
        self._arrives = False
        if panel not in self._panels[:1]:
            return
        self._is_hidden = not self._is_seen()
        if self._is_hidden:
            return
        asked = panel.question
        if asked.waits:
            self._rule.reached()  # it takes no key before the user goes there, and Esc in the prompt at once
            return
        is_free = not self._prompt.text and focused_here_or_elsewhere(self._screen) in (self._prompt, None)
        if self._rule.appeared(time.monotonic(), is_free=is_free, number=asked.number, has_warning=bool(asked.warning)):
            panel.focus()

    def uncover(self) -> None:
        """Nothing covers the chat any more: a question that came behind it appears now."""
        if self._is_hidden and self._panels:
            self._offer_focus(self._panels[0])

    @property
    def focused(self) -> "QuestionPanel | None":
        # `has_focus` changes later: in a burst, a key would still reach the question that the one before left.
        return next((panel for panel in self._panels if panel is self._screen.focused), None)

    @property
    def is_any(self) -> bool:
        return bool(self._panels)

    @property
    def takes_escape(self) -> bool:
        """Whether a question or its field has the focus, or may get it in a moment."""
        return self._arrives or any(panel.has_focus_within for panel in self._panels)

    def end(self, panel: "QuestionPanel") -> None:
        had_focus, unsent = panel.has_focus_within, panel.unsent
        if panel in self._panels:
            self._panels.remove(panel)
        panel.remove()
        if had_focus:
            self._answers = panel.letters
            self._rule.answered(time.monotonic(), more_follow=panel.question.number < panel.question.of)
            self._prompt.focus()
        if unsent:  # withdrawn while someone wrote: the next question waits for Tab
            self._prompt.give_back(unsent, is_being_written=True)
            self._rule.typed(time.monotonic())
        if self._panels:
            self._screen.call_after_refresh(self._offer_focus, self._panels[0])

    @property
    def is_dismissable(self) -> bool:
        """Whether Esc in an empty prompt answers a question."""
        is_heard = self._rule.is_heard(time.monotonic())
        return bool(self._panels) and self._panels[0].can_dismiss and is_heard and not self._prompt.text

    def dismiss(self) -> None:
        """Answer the question as its own Esc key does."""
        if self.is_dismissable:
            self._panels[0].action_dismiss()

    def intercept(self, event: Key | Paste) -> bool:
        """Whether the key is done with. Text typed outside of text fields moves the focus to the prompt."""
        focused, panel, key = self._screen.focused, self.focused, event.key if isinstance(event, Key) else ""
        if key == "tab" and panel is None and self._panels:
            if focused is self._prompt and self._prompt.follow_offer().is_open:
                return False  # the list of completions says that Tab completes
            self._rule.reached()
            self._panels[0].take_focus()
            return True
        if panel is not None and (self._letters.is_holding or not self._prompt.shows_keys_at(event)):
            return self._is_for_question(panel, event)
        if focused is self._prompt:
            return self._is_dropped(event)
        if isinstance(focused, TextArea) or _is_field(focused) or self._prompt.shows_keys_at(event):
            return False
        bound = focused is not None and key in bindings_of(focused).key_to_bindings
        if not bound and (is_typed(event) or getattr(focused, "is_fleeting", False)):
            self._type(event)
        return False

    def _is_for_question(self, panel: "QuestionPanel", event: Key | Paste) -> bool:
        """Pass a key on to the focused question, or to the prompt."""
        key = event.key if isinstance(event, Key) else ""
        is_own = key in panel.letters or key in bindings_of(panel).key_to_bindings
        goes = self._rule.for_question(event.time, is_answer=is_own)
        if self._rule.is_heard(event.time) and self._letters.take(panel, event):
            return True
        is_text = goes is Goes.PROMPT and (is_own or is_typed(event))
        if is_text or self.focused is None:  # held letters were text, too
            self._type(event)
        return goes is Goes.NOWHERE

    def _is_dropped(self, event: Key | Paste) -> bool:
        key = event.key if isinstance(event, Key) else ""
        if self._rule.for_prompt(event.time, would_answer=key in self._answers) is Goes.NOWHERE:
            return True
        if not isinstance(event, Key) or event.key not in NOT_TYPED:
            self._rule.typed(event.time)
        return False

    def _type(self, event: Key | Paste) -> None:
        self._rule.typed(event.time)
        self._screen.set_focus(self._prompt)

    def type_text(self, events: Sequence[Key | Paste]) -> None:
        """Type into the prompt what was not meant for a question."""
        for event in events:
            self._type(event)
            forward_event(self._prompt, event)


def _is_field(focused: object) -> bool:
    from textual.widgets import Input  # no chat has one before the first paint

    return isinstance(focused, Input)
