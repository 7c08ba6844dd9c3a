"""The count is anchored on what the provider said; the rest is an estimate that is not far off."""

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.usage import RequestUsage

from co_tui.context.count import Reading, Scaffold, Window, estimate_text
from co_tui.context.meter import Meter

WINDOW = Window(tokens=1000, known=True)


def read(messages: list, scaffold: Scaffold, sent: int = 0) -> Reading:
    """Measured after the first `sent` messages were sent and the reply behind them was reported on."""
    meter = Meter()
    if sent:
        meter.read(messages[:sent], scaffold, WINDOW)
        meter.sent(messages[:sent], scaffold)
        meter.reported(messages[sent])
    return meter.read(messages, scaffold, WINDOW)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("国际化是一个重要的话题", 11),
        ('{"name": "co-tui", "count": 12345, "ok": true}', 18),
        ("def add(a: int, b: int) -> int:\n    return a + b\n", 19),
    ],
)
def test_estimates_are_within_a_third(text: str, tokens: int) -> None:
    assert abs(estimate_text(text) - tokens) <= max(1, tokens / 3)


def test_without_a_report_everything_is_estimated() -> None:
    reading = read([ModelRequest(parts=[UserPromptPart("hello there")])], Scaffold(instructions="Be nice."))
    assert reading.measured == "estimate"
    assert reading.system_tokens > 0 and reading.conversation_tokens > 0
    assert reading.current_tokens == reading.system_tokens + reading.conversation_tokens


def test_the_last_report_is_the_anchor_and_only_what_follows_is_estimated() -> None:
    reply = ModelResponse(parts=[TextPart("x")], usage=RequestUsage(input_tokens=500, output_tokens=20))
    asked = ModelRequest(parts=[UserPromptPart("long " * 1000)])
    anchored = read([asked, reply], Scaffold(), sent=1)
    assert (anchored.current_tokens, anchored.measured) == (520, "provider")
    after = read([asked, reply, ModelRequest(parts=[UserPromptPart("and now?")])], Scaffold(), sent=1)
    assert 520 < after.current_tokens < 540 and after.measured == "estimate"


def test_fixed_parts_never_exceed_what_the_provider_counted() -> None:
    reply = ModelResponse(parts=[TextPart("x")], usage=RequestUsage(input_tokens=10, output_tokens=1))
    asked = ModelRequest(parts=[UserPromptPart("hi")])
    reading = read([asked, reply], Scaffold(instructions="word " * 500), sent=1)
    assert reading.current_tokens == 11 and reading.conversation_tokens >= 0


def test_tool_calls_and_results_count() -> None:
    call = ModelResponse(parts=[ToolCallPart("grep", {"pattern": "x" * 100}, "c")])
    result = ModelRequest(parts=[ToolReturnPart("grep", {"lines": ["match"] * 50}, "c")])
    assert read([call, result], Scaffold()).conversation_tokens > 100
