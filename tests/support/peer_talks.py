"""Conversations from other projects' cases, and what our engine makes of them."""

from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.exchange.openai_format import to_message
from co_tui.settings import Settings
from tests.context.request.test_pipeline import LOADED
from tests.support.governed import Governed, Request


def ask(text: str, **metadata: Any) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)], metadata=metadata or None)


def say(text: str, **reported: Any) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], **reported)


def chats(messages: list[dict[str, Any]]) -> list[ModelMessage]:
    return [to_message(message) for message in messages]


def texts(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for message in messages for part in message.parts if hasattr(part, "content")]


def words(message: ModelMessage) -> int:
    return sum(len(text.split()) for text in texts([message]))


def weighed(history: list[ModelMessage], tokens: int) -> Meter:
    """A meter that knows the history to be that long, each message an equal part."""
    meter = Meter()
    for index, message in enumerate(history):
        meter.set_exact(message, tokens * (index + 1) // len(history) - tokens * index // len(history))
    return meter


def compressing(threshold: float) -> Settings:
    """Compaction at that share of the window, at once."""
    return LOADED["inkeep"].but(compression_threshold=threshold, archive_over_chars=0)


def compacts(settings: Settings, window: int, history: list[ModelMessage], meter: Meter) -> bool:
    governor = Governor(policy_of(settings), Window(tokens=window, known=True), meter=meter)
    return governor.decide(governor.measure(history, Scaffold())) is not None


def compacted(history: list[ModelMessage], summary: str = "Summary") -> tuple[Governed, Request]:
    """The request after a compaction that it had to wait for."""
    governed = Governed(
        LOADED["copilot"],
        10_000,
        summarise=lambda messages, budget, **_: summary,
        meter=weighed(history, 9_600),
    )
    return governed, governed.prepare(history)
