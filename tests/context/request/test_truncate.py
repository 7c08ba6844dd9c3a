"""When the current turn alone is too long, its results are clipped and its steps removed only as far as needed."""

from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.request.truncate import truncate
from co_tui.events.stored_messages import JOURNAL, REPLACES, RULES

RESULT_CHARS = 30_000


def chars(message: ModelMessage) -> float:
    return sum(len(str(getattr(part, "content", ""))) for part in message.parts)


def turn(steps: int, result_chars: int) -> list[ModelMessage]:
    history: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("read all")])]
    for n in range(steps):
        history.append(ModelResponse(parts=[ToolCallPart("read", {}, f"c{n}")]))
        history.append(ModelRequest(parts=[ToolReturnPart("read", "r" * result_chars, f"c{n}")]))
    return history


@pytest.mark.parametrize(
    ("room_chars", "left_chars"),
    [(70_000, RESULT_CHARS), (20_000, 8_000), (10_000, 4_000), (5_000, 2_000), (2_000, 400)],
)
def test_results_keep_as_much_as_fits(room_chars: int, left_chars: int) -> None:
    """Two results: whole while both fit, then 8,000 characters of each, then 4,000, 2,000, and 400."""
    done = truncate(turn(2, RESULT_CHARS), room_chars, chars)
    assert done.fits and done.removed == 0
    for message in (done.messages[2], done.messages[4]):
        assert left_chars - 1 <= chars(message) <= left_chars


def test_the_oldest_steps_go_until_the_rest_fits() -> None:
    history = turn(10, 100)
    done = truncate(history, 500, chars)
    assert done.fits and done.messages == [history[0], *history[-8:]]


def test_a_pinned_step_is_neither_clipped_nor_removed() -> None:
    history = turn(3, RESULT_CHARS)
    done = truncate(history, RESULT_CHARS + 100, chars, pinned={1, 2})
    assert done.fits and done.messages == history[:3]
    assert done.messages[2] is history[2]


@pytest.mark.parametrize(
    ("room_chars", "left"),
    [
        (42_000, "told journal rules answer read all result"),
        (36_000, "told journal rules read all result"),
        (16_000, "journal rules read all result"),
        (9_000, "journal rules read all result"),
        (3_200, "rules read all result"),
        (1_300, "rules read all"),
        (700, "read all"),
    ],
)
def test_the_users_rules_go_last_and_a_journal_before_results_are_scraps(room_chars: int, left: str) -> None:
    def replacing(text: str, **metadata: Any) -> ModelMessage:
        return ModelRequest(parts=[UserPromptPart(text)], metadata=metadata)

    told = replacing("told " * 200, **{REPLACES: 9})
    journal = replacing("journal " * 250, **{REPLACES: 4, JOURNAL: {}})
    rules = replacing("rules " * 200, **{REPLACES: 0, RULES: ["keep cents"]})
    answered = [ModelRequest(parts=[UserPromptPart("ask")]), ModelResponse(parts=[TextPart("answer " * 1_000)])]
    done = truncate([told, journal, rules, *answered, *turn(1, RESULT_CHARS)], room_chars, chars)
    texts = [str(getattr(message.parts[0], "content", "")) for message in done.messages]
    known = ("told", "journal", "rules", "answer", "read all")
    shown = [next((word for word in known if text.startswith(word)), "result" * text.startswith("r")) for text in texts]
    assert done.fits and " ".join(filter(None, shown)) == left
