"""Which keys are meant for a question, and which for the prompt. Knows no screen.

A question that appears while the prompt is empty takes the focus, unless a key reached the prompt a moment before. A
key pressed a moment after it appears was meant for the prompt, and goes there. In a batch the next question gets keys
at once, but a warning first waits that moment. From then on an answer letter is for the question (`LoneLetters` finds
out whether it is text after all); other text goes to the prompt.
"""

from enum import Enum
from typing import Final

MOMENT_S: Final = 0.25


class Goes(Enum):
    """Where a key goes."""

    QUESTION = "question"
    PROMPT = "prompt"
    NOWHERE = "nowhere"


class FocusRule:
    """All times are those of keys: seconds of the monotonic clock."""

    def __init__(self) -> None:
        self._typed_at = self._answered_at = float("-inf")
        self._hears_from = float("-inf")
        """From when on the question takes keys."""
        self._is_within_batch = False
        """A question of a batch was answered by a key, others follow, and nothing was typed since."""
        self._drops_early = False
        """Whether answers that come too early are dropped instead of typed."""

    def typed(self, at: float) -> None:
        """A key reached the prompt."""
        self._typed_at, self._is_within_batch = at, False

    def appeared(self, at: float, *, is_free: bool, number: int = 1, has_warning: bool = False) -> bool:
        """Whether a question that is shown now takes the focus. `is_free` says whether the prompt is empty and nothing
        but it has the focus."""
        follows, self._is_within_batch = self._is_within_batch and number > 1, False
        self._hears_from = at + (0.0 if follows and not has_warning else MOMENT_S)
        self._drops_early = follows
        return is_free and at - self._typed_at >= MOMENT_S

    def reached(self) -> None:
        """The user went to the question."""
        self._hears_from = float("-inf")

    def answered(self, at: float, *, more_follow: bool) -> None:
        """A key answered the question."""
        self._answered_at = at
        self._is_within_batch = more_follow

    def is_heard(self, at: float) -> bool:
        """Whether the question that is shown takes keys by now."""
        return at >= self._hears_from

    def for_question(self, at: float, *, is_answer: bool) -> Goes:
        """Where a key goes while a question has the focus."""
        if self.is_heard(at):
            return Goes.QUESTION if is_answer else Goes.PROMPT
        return Goes.NOWHERE if is_answer and self._drops_early else Goes.PROMPT

    def for_prompt(self, at: float, *, would_answer: bool) -> Goes:
        """Where a key goes while the prompt has the focus: an answer that comes before the next question of a batch is
        no text."""
        is_between = self._is_within_batch and at - self._answered_at < MOMENT_S
        return Goes.NOWHERE if would_answer and is_between else Goes.PROMPT
