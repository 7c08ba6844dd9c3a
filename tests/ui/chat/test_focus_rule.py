"""The rule for which keys a question gets, with keys drawn at drawn times."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.ui.chat import focus_rule
from co_tui.ui.chat.focus_rule import FocusRule, Goes

MOMENT_S = 0.25
ANSWERS, OTHERS, TAB = "yn", "ask me", "\t"


@pytest.fixture(autouse=True, scope="module")
def moment() -> Iterator[None]:
    with mock.patch.object(focus_rule, "MOMENT_S", MOMENT_S):  # other tests have none
        yield


@dataclass
class Person:
    """Someone at the keyboard, in front of a batch of questions: a screen reduced to what the rule decides."""

    warnings: tuple[bool, ...]
    rule: FocusRule = field(default_factory=FocusRule)
    prompt: str = ""
    typed_at: float = float("-inf")
    shown_at: float = 0.0
    answered: list[str] = field(default_factory=list)
    has_focus: bool = False
    is_shown: bool = False
    went_there: bool = False
    follows: bool = False
    """Whether the question before it was answered and nothing was typed since."""

    def see(self, at: float) -> None:
        number = len(self.answered) + 1
        is_free = not self.prompt
        self.has_focus = self.rule.appeared(at, is_free=is_free, number=number, has_warning=self.has_warning)
        self.follows = self.follows and number > 1
        assert self.has_focus == (is_free and at - self.typed_at >= MOMENT_S)
        self.shown_at, self.is_shown, self.went_there = at, True, False

    @property
    def has_warning(self) -> bool:
        return self.warnings[len(self.answered)]

    def press(self, key: str, at: float) -> None:
        if key == TAB and self.is_shown:
            self.rule.reached()
            self.has_focus = self.went_there = True
        elif key != TAB and self.has_focus:
            self._into(self.rule.for_question(at, is_answer=key in ANSWERS), key, at)
        elif key != TAB:
            self._into(self.rule.for_prompt(at, would_answer=key in ANSWERS), key, at)

    def _into(self, goes: Goes, key: str, at: float) -> None:
        is_early = at - self.shown_at < MOMENT_S and not self.went_there
        if goes is Goes.QUESTION:
            assert self.has_focus and key in ANSWERS, "only an answer, and only in front of the question"
            assert not is_early or (self.follows and not self.has_warning), "nothing answers before it could be read"
            self.answered.append(key)
            self.has_focus = self.is_shown = False
            self.follows = len(self.answered) < len(self.warnings)
            self.rule.answered(at, more_follow=self.follows)
        elif goes is Goes.PROMPT:
            is_awaited = self.has_focus and key in ANSWERS and (not is_early or self.follows)
            assert not is_awaited, "an answer never becomes text once the question takes keys"
            self.prompt += key
            self.typed_at, self.has_focus, self.follows = at, False, False
            self.rule.typed(at)
        else:
            assert key in ANSWERS and self.follows, "only between the questions of a batch is anything dropped"


@given(
    st.lists(st.booleans(), min_size=1, max_size=4).map(tuple),
    st.lists(st.tuples(st.sampled_from([*ANSWERS, *OTHERS, TAB, "question"]), st.floats(0.001, 0.6)), max_size=30),
)
def test_nobody_answers_what_they_did_not_mean_and_no_answer_becomes_text(
    warnings: tuple[bool, ...], steps: list[tuple[str, float]]
) -> None:
    person, at = Person(warnings), 100.0
    for key, later in steps:
        at += later
        if len(person.answered) == len(warnings):
            return
        if key == "question":
            if not person.is_shown:
                person.see(at)
        else:
            person.press(key, at)


def test_a_batch_is_answered_as_fast_as_it_is_read() -> None:
    rule = FocusRule()
    assert rule.appeared(10.0, is_free=True, number=1)
    assert rule.for_question(10.2, is_answer=True) is Goes.PROMPT, "too early: it was on its way to the prompt"
    rule = FocusRule()
    assert rule.appeared(10.0, is_free=True, number=1) and rule.for_question(10.25, is_answer=True) is Goes.QUESTION
    rule.answered(10.25, more_follow=True)
    assert rule.for_prompt(10.26, would_answer=True) is Goes.NOWHERE, "there is no question yet"
    assert rule.appeared(10.3, is_free=True, number=2) and rule.for_question(10.31, is_answer=True) is Goes.QUESTION
    rule.answered(10.31, more_follow=True)
    assert rule.appeared(10.4, is_free=True, number=3, has_warning=True)
    assert rule.for_question(10.5, is_answer=True) is Goes.NOWHERE, "a warning is read first"
    assert rule.for_question(10.5, is_answer=False) is Goes.PROMPT
    assert rule.for_question(10.65, is_answer=True) is Goes.QUESTION


def test_a_question_waits_for_tab_while_someone_types() -> None:
    rule = FocusRule()
    rule.typed(10.0)
    assert not rule.appeared(10.2, is_free=True) and rule.appeared(10.3, is_free=True)
    assert not rule.appeared(20.0, is_free=False), "the prompt holds text"
    rule.reached()
    assert rule.for_question(20.01, is_answer=True) is Goes.QUESTION
