"""Telling "the context window is exceeded" from all that looks like it."""

import json

import pytest

from co_tui.context.overflow import Overflow, read
from tests.support.shared import lines, needs_data

EXCEEDED = [
    (400, "This model's maximum context length is 8,192 tokens. However, you requested 9,001 tokens.", 8192, 9001),
    (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", 200000, 209573),
    (400, "prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (400, "total number of tokens in the prompt cannot exceed 4081. received 4292.", 4081, 4292),
    (422, "`inputs` must have less than 4095 tokens. Given: 5000", 4095, 5000),
    (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
    (400, "Input is too long for requested model.", None, None),
    (400, "The prompt is too long: 9000, model maximum context length: 8191", 8191, 9000),
    (500, '{"error":{"type":"exceed_context_size_error","n_prompt_tokens":900,"n_ctx":512}}', 512, 900),
    (413, "", None, None),
    (413, "<html>413 Request Entity Too Large</html>", None, None),
    (200, '{"choices":[{"finish_reason":"model_context_window_exceeded"}]}', None, None),
]
OTHER = [
    (429, "Rate limit reached: Limit 30000, Requested 40000 tokens per min"),
    (413, "Request too large on tokens per minute (TPM): Limit 6000, Requested 7000"),
    (413, "Request exceeds the maximum size of 32 MB"),
    (400, "This model supports at most 16384 completion tokens, whereas you provided 20000."),
    (500, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
    (400, "max_tokens is too large: 8192"),
    (400, "Unsupported parameter"),
    (200, '{"choices":[{"finish_reason":"length"}]}'),
    (401, "maximum context length exceeded"),
    (None, "disk quota exceeded"),
    (400, ""),
    (400, "{" * 5000),
]


@pytest.mark.parametrize(("status", "body", "limit", "requested"), EXCEEDED)
def test_exceeded(status, body, limit, requested) -> None:
    assert read(status, body) == Overflow(limit, requested)


@pytest.mark.parametrize(("status", "body"), OTHER)
def test_something_else(status, body) -> None:
    assert read(status, body) is None


def test_json_inside_json_is_opened() -> None:
    inner = json.dumps({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})
    assert read(400, json.dumps({"detail": inner})) == Overflow(200000, 210000)


@pytest.mark.parametrize("limit", ["1", "0", "99999999999"])
def test_absurd_limits_are_never_adopted(limit: str) -> None:
    found = read(400, f"This model's maximum context length is {limit} tokens. Please reduce the length of the prompt.")
    assert found is not None and found.limit_tokens is None


def test_a_status_in_the_body_is_no_limit() -> None:
    assert read(400, '{"error":{"code":400,"message":"Prompt exceeds maximum context length"}}') == Overflow(None, None)


@needs_data
def test_real_replies() -> None:
    rows = lines("context_errors.jsonl")
    found = [(row, read(row["status"], row["body"])) for row in rows]
    true = [row for row, overflow in found if overflow and row["is_context_error"]]
    assert len(true) / sum(row["is_context_error"] for row in rows) >= 0.95
    assert len(true) / sum(overflow is not None for _, overflow in found) >= 0.95
    right = [
        row
        for row, overflow in found
        if overflow and row["is_context_error"] and overflow.limit_tokens == row["says_limit"]
    ]
    assert len(right) / len(true) >= 0.95
