"""What stands in place of messages that were summarised. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.context.cuts import Cut
from co_tui.context.shape import STANDS_FOR, is_prompt

COMPACTED = "[Compacted conversation summary]"
UNDERSTOOD = "Understood. I have the conversation context."
EARLIER = "[Earlier conversation, summarised]"


def window_marker(count: int, summary: str | None) -> str:
    """The sliding window's one message; without a summary it says only what is gone."""
    if summary is None:
        return f"[Earlier conversation trimmed — {count} messages removed to stay within context budget]"
    return f"[Summary of {count} earlier messages]\n{summary}"


def one_message(messages: Sequence[ModelMessage], cut: Cut, text: str) -> list[ModelMessage]:
    """The history with one user-role message where the replaced ones stood."""
    return spliced(messages, cut, [_said(messages, cut, text)])


def two_messages(messages: Sequence[ModelMessage], cut: Cut, summary: str) -> list[ModelMessage]:
    """The summary and an acknowledgement, as if they had been said."""
    said = _said(messages, cut, f"{COMPACTED}\n{summary}")
    reply = ModelResponse(parts=[TextPart(UNDERSTOOD)], timestamp=_time(messages, cut))
    return spliced(messages, cut, [said, reply])


def into_first_prompt(messages: Sequence[ModelMessage], cut: Cut, summary: str) -> list[ModelMessage]:
    """The summary joins the first user message that is kept."""
    kept = spliced(messages, cut, [])
    for index, message in enumerate(kept):
        if is_prompt(message) and isinstance(message, ModelRequest):
            note = UserPromptPart(f"{EARLIER}\n{summary}", timestamp=message.timestamp or _time(messages, cut))
            first = next(place for place, part in enumerate(message.parts) if isinstance(part, UserPromptPart))
            parts = [*message.parts[:first], note, *message.parts[first:]]
            kept[index] = replace(message, parts=parts)
            return kept
    return one_message(messages, cut, f"{EARLIER}\n{summary}")


def spliced(messages: Sequence[ModelMessage], cut: Cut, replacement: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages with the replaced ones gone and the replacement where the first of them stood."""
    gone = set(cut.replaced)
    result: list[ModelMessage] = []
    for index, message in enumerate(messages):
        if index == cut.replaced[0]:
            result.extend(replacement)
        if index not in gone:
            result.append(message)
    return result


def _said(messages: Sequence[ModelMessage], cut: Cut, text: str) -> ModelRequest:
    when = _time(messages, cut)
    part = UserPromptPart(text, timestamp=when)
    return ModelRequest(parts=[part], timestamp=when, metadata={STANDS_FOR: len(cut.replaced)})


def _time(messages: Sequence[ModelMessage], cut: Cut) -> datetime:
    """The time of what is replaced: a stage run twice must give the same."""
    for index in reversed(cut.replaced):
        if (stamp := messages[index].timestamp) is not None:
            return stamp
    return datetime(1970, 1, 1, tzinfo=UTC)
