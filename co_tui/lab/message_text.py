"""The text of a message as a model gets it, in its blocks."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, SystemPromptPart, TextPart, ToolCallPart, UserPromptPart

from co_tui.events.content import content_text, prompt_text


def message_text(message: ModelMessage) -> str:
    """All text of a message: what was said, the values of calls, results."""
    return "\n".join(filter(None, map(part_text, message.parts)))


def part_text(part: Any) -> str:
    match part:
        case SystemPromptPart() | TextPart():
            return part.content
        case ToolCallPart():
            return values_text(part)
        case UserPromptPart():
            return prompt_text(part.content)
    return content_text(getattr(part, "content", ""))


def values_text(call: ToolCallPart) -> str:
    """The argument values of a call on separate lines, texts as they are."""
    try:
        values = call.args_as_dict().values()
    except (ValueError, AssertionError):
        return content_text(call.args)
    return "\n".join(value if isinstance(value, str) else content_text(value) for value in values)


def arguments_of(call: ToolCallPart) -> dict[str, Any]:
    """The arguments of a call by name; empty if they are not valid JSON."""
    try:
        return call.args_as_dict()
    except (ValueError, AssertionError):
        return {}


def blocks(message: ModelMessage) -> Iterator[str]:
    """The content blocks of a message: one for each part, and for each text of a prompt that is a list."""
    for part in message.parts:
        content = getattr(part, "content", None)
        if isinstance(part, UserPromptPart) and isinstance(content, Sequence) and not isinstance(content, str):
            yield from (prompt_text([item]) for item in content)
        elif isinstance(part, ToolCallPart):
            yield f"{part.tool_name} {content_text(part.args)}"
        else:
            yield part_text(part)


def said_blocks(message: ModelMessage) -> Iterator[str]:
    """The blocks that someone said: prompts, system messages and replies, without calls and results."""
    for part in message.parts:
        if isinstance(part, SystemPromptPart | TextPart):
            yield part.content
        elif isinstance(part, UserPromptPart):
            items = [part.content] if isinstance(part.content, str) else part.content
            yield from (prompt_text([item]) for item in items)
