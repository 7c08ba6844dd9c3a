"""A conversation as text, for summaries and memory files (T5)."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Final

from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.measure.count import estimate_text
from co_tui.context.request.tool_outputs import ends_of
from co_tui.events.content import content_text, prompt_text
from co_tui.events.stored_messages import REPLACES, SUMMARY, typed_command

CLIPS: Final = ((12_000, 20_000), (4_000, 8_000), (1_200, 3_000), (400, 1_200))
"""Length limits in characters for (tool results, texts), tried in order until everything fits."""
MOST_PARTS: Final = 8
LEAST_ROOM_TOKENS: Final = 100
TOOL_HEADING: Final = "## Tool: "


def in_parts(messages: Sequence[ModelMessage], room_tokens: float) -> list[str]:
    """The conversation in as few texts as possible, each of which fits the room, in order.

    Long messages are clipped rather than split. Beyond `MOST_PARTS`, the parts in the middle are dropped.
    """
    room = max(LEAST_ROOM_TOKENS, room_tokens)
    texts: list[str] = []
    for result_chars, text_chars in CLIPS:
        texts = messages_as_text(messages, result_chars=result_chars, text_chars=text_chars)
        if sum(map(estimate_text, texts)) <= room:
            return ["\n\n".join(texts)] if texts else []
    parts = packed(texts, room)
    if len(parts) > MOST_PARTS:
        parts = [*parts[: MOST_PARTS // 2], *parts[-(MOST_PARTS // 2) :]]
    return parts


def packed(texts: Sequence[str], room: float) -> list[str]:
    """The texts in as few parts as fit the room; a text that is too long is cut."""
    parts: list[list[str]] = [[]]
    used = 0.0
    for text in texts:
        while (size := estimate_text(text)) > room:
            text = text[: int(len(text) * room / size * 0.9)]
        if used + size > room and parts[-1]:
            parts.append([])
            used = 0.0
        parts[-1].append(text)
        used += size
    return ["\n\n".join(part) for part in parts if part]


def messages_as_text(messages: Sequence[ModelMessage], *, result_chars: int, text_chars: int) -> list[str]:
    """Each message as one text within the limits, without system parts and summaries."""
    texts = []
    for blocks in _blocks(messages):
        clipped = [_clip(block, result_chars if block.startswith(TOOL_HEADING) else text_chars) for block in blocks]
        if clipped:
            texts.append("\n\n".join(clipped))
    return texts


def tool_results(messages: Sequence[ModelMessage], most_chars: int) -> list[str]:
    """Each tool call with its result as one text of at most `most_chars`, without the rest of the conversation."""
    blocks = chain.from_iterable(_blocks(messages))
    return [_clip(block, most_chars) for block in blocks if block.startswith(TOOL_HEADING)]


def _blocks(messages: Sequence[ModelMessage]) -> Iterator[list[str]]:
    """The texts of each message, one below a heading."""
    inputs: dict[str, str] = {}
    for message in messages:
        yield _response(message, inputs) if isinstance(message, ModelResponse) else _request(message, inputs)


def _response(message: ModelResponse, inputs: dict[str, str]) -> list[str]:
    blocks = []
    for part in message.parts:
        if isinstance(part, TextPart) and part.content.strip():
            blocks.append(f"## Assistant\n{part.content.strip()}")
        elif isinstance(part, FilePart):
            blocks.append(f"## Assistant\n{content_text(part.content)}")
        elif isinstance(part, ToolCallPart):
            inputs[part.tool_call_id] = _input(part.args)
    return blocks


def _request(message: ModelRequest, inputs: dict[str, str]) -> list[str]:
    metadata = message.metadata or {}
    if REPLACES in metadata and (SUMMARY in metadata or not metadata[REPLACES]):
        return []  # passed separately, to be updated; what is under way is written again
    typed = typed_command(metadata)
    written_by = f"{typed.text}\n[What {typed.source} says, not the user:]\n" if typed is not None else ""
    blocks = []
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            blocks.append(f"## User\n{written_by}{prompt_text(part.content).strip()}")
        elif isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_name:
            returned = content_text(part.content, indent=2)
            blocks.append(_tool_result(part.tool_name, inputs.pop(part.tool_call_id, ""), returned))
    return blocks


def _tool_result(name: str, given: str, returned: str) -> str:
    """A tool call under its heading, with input and output."""
    return f"{TOOL_HEADING}{name}\n\n**Input:**\n{given}\n\n**Output:**\n{returned}"


def _input(arguments: object) -> str:
    if isinstance(arguments, str):
        with suppress(ValueError):
            return content_text(json.loads(arguments), indent=2)
    return content_text(arguments, indent=2) if arguments else ""


def _clip(text: str, limit_chars: int) -> str:
    return ends_of(text, limit_chars) or text
