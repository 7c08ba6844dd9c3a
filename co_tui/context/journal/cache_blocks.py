"""A journal as content blocks, for providers that cache prompts block by block.

Anthropic compares whole blocks: text appended to a block makes all of it new. Others compare tokens, so that one text
is enough for them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from co_tui.context.journal.journal import Journal
from co_tui.events.stored_messages import JOURNAL, SUMMARY

CACHE_BY_BLOCK: Final = ("anthropic", "bedrock")
"""The providers that do, by how the names of their models begin."""


def in_cache_blocks(messages: Sequence[ModelMessage], model: str) -> list[ModelMessage]:
    """The messages to send to a model; each appended piece of a journal is a block if its provider caches blocks."""
    if not model.startswith(CACHE_BY_BLOCK):
        return list(messages)
    return [_in_blocks(message) for message in messages]


def _in_blocks(message: ModelMessage) -> ModelMessage:
    metadata = message.metadata or {}
    if not isinstance(message, ModelRequest) or JOURNAL not in metadata:
        return message
    pieces = Journal.from_json(metadata[JOURNAL], metadata[SUMMARY]).blocks[1:]
    parts = [_split(part, pieces) if isinstance(part, UserPromptPart) else part for part in message.parts]
    return replace(message, parts=parts)


def _split(part: UserPromptPart, pieces: Sequence[str]) -> UserPromptPart:
    """The text with each of the pieces, which it ends with, as a block of its own."""
    if not pieces or not isinstance(part.content, str) or not part.content.endswith("\n".join(("", *pieces))):
        return part
    first = part.content.removesuffix("\n".join(("", *pieces)))
    return replace(part, content=[first, *(f"\n{piece}" for piece in pieces)])
