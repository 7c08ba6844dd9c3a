"""A policy in Python decides; what it returns is checked, and what must stay stays (G11)."""

import pickle
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart

from co_tui.context.compact.by_code import PolicyFailed
from co_tui.context.compact.decide import _asked
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.policy import Policy, default_policy, policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.settings import Settings
from co_tui.settings.policies.policy_code import PolicyCode
from tests.context.request.test_pipeline import LOADED, asked, talk

LONG = "word " * 300


def policy(body: str, **settings: Any) -> Policy:
    code = PolicyCode("/somewhere/mine.py", f"def decide(context):\n    {body}\n")
    return policy_of(Settings(policy="mine", compaction="python", policy_code=code, **settings))


def governor(body: str, window: int = 8_000) -> Governor:
    return Governor(policy(body), Window(tokens=window, known=True))


def cut_of(body: str, history: list[ModelMessage], pinned: tuple[int, ...] = ()) -> tuple[int, ...]:
    made = governor(body)
    measured = made.measure(history, Scaffold(), pinned=pinned)
    cut = _asked(made.situation(measured))
    return cut[1].replaced if cut else ()


HISTORY = asked(talk(6, LONG))
"""Six turns of prompt, call, result and answer; then a prompt."""


def test_it_sees_messages_window_and_meter() -> None:
    body = (
        "assert [m.role for m in context.messages[:4]] == ['user', 'assistant', 'tool', 'assistant']\n"
        "    assert context.messages[1].tools == ('read',) and context.messages[-1].text == 'and now?'\n"
        "    assert context.messages[2].tokens > 250 and 250 < context.tokens(context.messages[2].text) < 400\n"
        "    assert context.turns == [0, 4, 8, 12, 16, 20, 24] and context.window_tokens == 8_000\n"
        "    assert 0 < context.fill < 1 and context.used_tokens > context.fixed_tokens\n"
        "    return {'summarise': range(context.newest(1_000))}"
    )
    cut = cut_of(body, HISTORY)
    assert cut and cut == tuple(range(len(cut))) and 10 < len(cut) < 20


@pytest.mark.parametrize(
    ("answer", "replaced"),
    [
        ("{'summarise': range(8)}", range(8)),
        ("{'keep': range(8, 25)}", range(8)),
        ("{'drop': [0, 1, 2, 3], 'summarise': {4, 5, 6, 7}}", range(8)),
        ("{'summarise': range(6)}", range(5)),  # a call and its result stay together
        ("{'summarise': range(25)}", range(24)),  # the latest prompt stays
        ("{'summarise': ()}", ()),
        ("None", ()),
        ("{}", ()),
    ],
)
def test_what_it_returns_is_what_goes(answer: str, replaced: Any) -> None:
    assert cut_of(f"return {answer}", HISTORY) == tuple(replaced)


def test_system_pinned_and_unseen_messages_stay() -> None:
    system = ModelRequest(parts=[SystemPromptPart("be brief")])
    unseen = [system, *talk(3, LONG), *asked([], "go"), *talk(1, LONG)[1:3]]
    cut = cut_of("return {'summarise': range(len(context.messages))}", unseen, pinned=(6,))
    assert cut == (1, 2, 3, 4, 5, *range(8, 13)), "not the system message, the pinned step, the prompt and the result"
    assert isinstance(unseen[6], ModelResponse)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return 5", "int is neither None nor a dict"),
        ("return {'forget': [1]}", "'forget' is none of summarise"),
        ("return {'summarise': [99]}", "99 is not an index of 25 messages"),
        ("return {'summarise': [-1]}", "-1 is not an index"),
        ("return {'summarise': [True]}", "True is not an index"),
        ("return {'summarise': ['1']}", "'1' is not an index"),
        ("return {'summarise': 3}", "not iterable"),
        ("return {'keep': [1], 'drop': [2]}", "`keep` goes without"),
        ("return 1 / 0", "line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit", "line 2: SystemExit"),
        ("return context.nothing", "line 2: AttributeError"),
        ("return decide(context)", "RecursionError"),
    ],
)
def test_a_policy_that_fails_is_one_sentence_and_the_default_decides(body: str, problem: str) -> None:
    made = governor(body, window=2_000)
    measured = made.measure(HISTORY, Scaffold())
    with pytest.raises(PolicyFailed) as failed:
        made.situation(measured).plan  # noqa: B018 - decided when it is read
    assert problem in str(failed.value) and "mine.py" in str(failed.value) and "\n" not in str(failed.value)
    balanced = Governor(policy_of(LOADED["balanced"]), made.window)
    plan = made.decide(measured)
    assert plan is not None and plan == balanced.decide(balanced.measure(HISTORY, Scaffold()))
    assert problem in made.policy_failure


def test_the_default_policy_is_balanced_as_it_comes() -> None:
    assert default_policy() == policy_of(LOADED["balanced"])


def test_a_policy_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(policy("return {'keep': []}")))
    assert sent == policy("return {'keep': []}") and callable(sent.policy_code.function())
