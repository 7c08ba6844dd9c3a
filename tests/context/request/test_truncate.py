"""When the current turn alone is too long, its results are clipped only as far as needed."""

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.context.request.truncate import truncate

RESULT_CHARS = 30_000


def chars(message: ModelMessage) -> float:
    return sum(len(str(getattr(part, "content", ""))) for part in message.parts)


@pytest.mark.parametrize(
    ("room_chars", "left_chars"),
    [(70_000, RESULT_CHARS), (20_000, 8_000), (10_000, 2_000), (2_000, 400)],
)
def test_results_keep_as_much_as_fits(room_chars: int, left_chars: int) -> None:
    """Two results: whole while both fit, then 8,000 characters of each, then 2,000, then 400."""
    history: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("read both")])]
    for n in range(2):
        history.append(ModelResponse(parts=[ToolCallPart("read", {}, f"c{n}")]))
        history.append(ModelRequest(parts=[ToolReturnPart("read", "r" * RESULT_CHARS, f"c{n}")]))
    done = truncate(history, room_chars, chars)
    assert done.fits and done.removed == 0
    for message in (done.messages[2], done.messages[4]):
        assert left_chars - 1 <= chars(message) <= left_chars
