"""Recognises "the context window is exceeded" among errors that look like it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.agent.wire.overflow import Overflow, read
from tests.agent.wire import overflow_replies as replies
from tests.agent.wire import overflow_replies_numbers as numbers
from tests.agent.wire import overflow_replies_worded as worded
from tests.support.cases import each_case
from tests.support.long_run import drawn
from tests.support.shared import lines, needs_data

EXCEEDED = [*replies.HELD_BACK, *replies.EXCEEDED, *worded.FREELY_WORDED, *numbers.TUNED, *numbers.UNSEEN]
OTHER = [
    *replies.HELD_BACK_OTHER,
    *replies.OTHER,
    *worded.FREELY_WORDED_OTHER,
    *numbers.TUNED_OTHER,
    *numbers.UNSEEN_OTHER,
]


def test_exceeded() -> None:
    found = {case: read(case.status, case.body) for case in EXCEEDED}
    assert {case: each for case, each in found.items() if each != Overflow(case.limit, case.requested)} == {}


def test_something_else() -> None:
    found = {case: read(case.status, case.body) for case in OTHER}
    assert {case: each for case, each in found.items() if each is not None} == {}


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda body: {"detail": body},
        lambda body: {"error": {"message": body}, "input": "a word " * 4_000},
    ],
    ids=["in a proxy's JSON", "with an echo of the request"],
)
def test_however_it_is_wrapped(wrapped: Callable[[str], dict[str, Any]]) -> None:
    found = {case: read(case.status, json.dumps(wrapped(case.body))) for case in EXCEEDED if case.limit}
    assert {case: each for case, each in found.items() if each != Overflow(case.limit, case.requested)} == {}


@each_case("limit", ["1", "0", "99999999999"])
def test_absurd_limits_are_never_adopted(limit: str) -> None:
    found = read(400, f"This model's maximum context length is {limit} tokens. Please reduce the length of the prompt.")
    assert found is not None and found.limit_tokens is None


@each_case(
    "body",
    [
        '{"error":{"code":400,"message":"Prompt exceeds maximum context length"}}',
        "Prompt exceeds maximum context length (status 400, request id 20250101)",
        "claude-3-5-sonnet-20241022: prompt exceeds the context window",
        "model gpt-4-32k: context length exceeded, retry after 30 s",
        "The prompt exceeds the context window by 312 tokens",
        "HTTP 422: the conversation is too long (docs: https://example.com/errors/4096)",
    ],
)
def test_no_limit_is_invented(body: str) -> None:
    assert read(400, body) == Overflow(None, None)


WORDS = [
    "prompt", "exceed", "exceed_", "maximum limit of ", "context", "tokens 5000", "1234", "12 > ", "max ", "[", "{",
    '{"a":', '"', "\\", ". ", "1 + ", "a_", "image ", "output ", "9" * 50, "\x00", "\ud800", "128k ", "12/",
]  # fmt: skip


@pytest.mark.timeout(60)
@each_case("word", WORDS)
def test_no_body_takes_long(word: str) -> None:
    for status, text in ((400, word), (None, f"{word} ")):
        found = read(status, text * (1_000_000 // len(text)))
        assert found is None or not found.limit_tokens or found.limit_tokens < 10**9


@settings(max_examples=drawn(100), deadline=None)
@given(
    st.sampled_from([None, 200, 400, 413, 422, 500]),
    st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=60).map("".join),
)
def test_it_never_raises(status: int | None, body: str) -> None:
    found = read(status, body)
    assert found is None or found.limit_tokens is None or found.limit_tokens > 1


@needs_data
def test_real_replies() -> None:
    for row in lines("context_errors.jsonl"):
        found = read(row["status"], row["body"])
        assert (found is not None) == row["is_context_error"], row["body"]
        if found is not None:
            assert found == Overflow(row["says_limit"], row["says_requested"]), row["body"]
