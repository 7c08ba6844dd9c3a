"""A request as blocks, whichever wire carries it."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

Kind = Literal["text", "thinking", "call", "result", "tool", "cache", "empty", "other"]
Role = Literal["user", "assistant"]


class Block(NamedTuple):
    """One piece of a request's content."""

    message: int
    """The position of its message."""
    role: Role
    kind: Kind
    at: int = 0
    """Its position in the message."""
    id: str = ""
    """A call's id, in the call and in its result."""
    item: str = ""
    """The provider's id of the block itself."""
    text: str | None = None
    name: str = ""
    signed: bool = True
    bound: bool = True
    """Whether a signed thought comes after what it was written after."""
    declared: bool = True
    """Whether the request declares tools."""


def blocks_of(messages: Iterable[ModelMessage]) -> Iterator[Block]:
    """The blocks of the library's messages; adjacent ones of a role are one message, as on most wires."""
    by_role = groupby(messages, key=lambda message: isinstance(message, ModelResponse))
    for number, (is_reply, group) in enumerate(by_role):
        parts = [part for message in group for part in message.parts]
        role: Role = "assistant" if is_reply else "user"
        if not parts:
            yield Block(number, role, "empty")
        yield from (_block(part, Block(number, role, "other", at)) for at, part in enumerate(parts))


def _block(part: object, block: Block) -> Block:
    match part:
        case TextPart(content=text) | UserPromptPart(content=str() as text):
            return block._replace(kind="text", text=text, item=getattr(part, "id", None) or "")
        case ThinkingPart():
            return block._replace(kind="thinking", text=part.content, item=part.id or "", signed=bool(part.signature))
        case ToolCallPart():
            return block._replace(kind="call", id=part.tool_call_id, name=part.tool_name, item=part.id or "")
        case ToolReturnPart() | RetryPromptPart(tool_name=str()):
            return block._replace(kind="result", id=part.tool_call_id)
        case _:
            return block
