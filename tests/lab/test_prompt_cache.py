"""What of a request a provider could take from its cache."""

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.lab.costs import PromptCache, Reuse
from co_tui.lab.message_text import message_text


def prompt(*texts: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(texts[0] if len(texts) == 1 else list(texts))])


def reuse(*requests: list[ModelMessage]) -> Reuse:
    """Of the last request, with a token for each character."""
    cache = PromptCache(lambda message: len(message_text(message).replace("\n", "")))
    return [cache.next(request) for request in requests][-1]


def test_the_first_request_shares_nothing() -> None:
    assert reuse([prompt("abc")]) == Reuse(0, False, 0)


def test_a_request_that_only_grows_shares_all_before() -> None:
    first = prompt("abc")
    assert reuse([first], [first, prompt("def")]) == Reuse(3, False, 3)


def test_the_text_before_the_first_difference_is_reused_but_not_its_block() -> None:
    first = prompt("abc")
    assert reuse([first, prompt("012345")], [first, prompt("0123xy")]) == Reuse(pytest.approx(7), True, 3)


def test_each_text_of_a_prompt_is_a_block() -> None:
    found = reuse([prompt("abc", "def")], [prompt("abc", "dxy", "ghi")])
    assert found == Reuse(pytest.approx(4), True, pytest.approx(3))
    assert reuse([prompt("abc")], [prompt("abc", "def")]) == Reuse(pytest.approx(3), True, pytest.approx(3))


def test_another_speaker_shares_nothing() -> None:
    assert reuse([prompt("abc")], [ModelResponse(parts=[TextPart("abc")])]) == Reuse(0, True, 0)


def test_a_shorter_request_is_a_rewrite() -> None:
    first = prompt("abc")
    assert reuse([first, prompt("def")], [first]) == Reuse(3, True, 3)
