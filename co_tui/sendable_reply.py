"""Leave out of a reply what no provider takes back; the log keeps all of it.

Providers refuse a reply of thinking alone or with thinking at its end, and blank texts. What OpenAI wrote after
reasoning it takes back under its id only together with that reasoning. What a provider compacted by itself is left out:
the library would send only what follows it, while our history has what it summarised.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.messages import (
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

BARE: Final[Mapping[str, Any]] = {"id": None, "provider_name": None, "provider_details": None}
"""A part without its provider-specific data."""
NO_ID: Final[Mapping[str, Any]] = {"id": None}


def sendable(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages without what no provider takes back; those without any of it are the same objects."""
    taken = (sendable_reply(each) if isinstance(each, ModelResponse) else each for each in messages)
    return [each for each in taken if each.parts or not isinstance(each, ModelResponse)]


def sendable_reply(reply: ModelResponse) -> ModelResponse:
    """The reply without what no provider takes back: without parts if nothing is left to send."""
    if reply.state == "suspended":
        return reply  # the provider continues it, and takes it back as it is
    parts = _until_last_said([part for part in reply.parts if not _is_unsent(part)])
    if reply.state == "interrupted" and any(isinstance(part, ThinkingPart) and not part.signature for part in parts):
        parts = [part for part in parts if not isinstance(part, ThinkingPart)]
    parts = [*_without_stray_ids(parts)]
    return replace(reply, parts=parts) if parts != reply.parts else reply


def without_thinking(reply: ModelResponse) -> ModelResponse:
    """The reply without its thoughts, and without the data of its provider that refers to them."""
    parts = [bare(part) for part in reply.parts if isinstance(part, TextPart | ToolCallPart | FilePart)]
    return replace(reply, parts=parts, provider_response_id=None, provider_details=None)


def bare(part: TextPart | ToolCallPart | FilePart) -> TextPart | ToolCallPart | FilePart:
    return replace(part, **BARE)


def _is_unsent(part: ModelResponsePart) -> bool:
    is_blank = isinstance(part, TextPart) and not part.id and not part.content.strip()
    return is_blank or isinstance(part, CompactionPart)


def _until_last_said(parts: list[ModelResponsePart]) -> list[ModelResponsePart]:
    """The parts without thoughts at the end."""
    end = len(parts)
    while end and isinstance(parts[end - 1], ThinkingPart):
        end -= 1
    return parts[:end]


def _without_stray_ids(parts: Sequence[ModelResponsePart]) -> Iterator[ModelResponsePart]:
    """The parts; those without a thought before them have no id, since the id may refer to one that was left out."""
    has_thought = False
    for part in parts:
        has_thought = has_thought or isinstance(part, ThinkingPart)
        is_stray = isinstance(part, TextPart | ToolCallPart) and part.id and not has_thought
        plain = replace(part, **NO_ID) if is_stray else part
        if not _is_unsent(plain):
            yield plain
