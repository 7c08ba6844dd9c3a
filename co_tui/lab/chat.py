"""Conversations in the OpenAI chat format, to messages and back."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from co_tui.context.shape import content_text

_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
"""Recorded messages carry no time, and a replay must give the same every time."""


class BadInput(Exception):
    """A recording that cannot be read; the text says where and why."""


class Conversation(NamedTuple):
    """A recording: its messages, one for each of the input."""

    id: str
    messages: list[ModelMessage]


def load(path: Path) -> Iterator[Conversation]:
    """Conversations of a JSONL file, one a line. Raises `BadInput` naming the line."""
    try:
        stream = open(path, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from None
    with stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield _conversation(line, f"{path}, line {number}", number)


def _conversation(line: str, where: str, number: int) -> Conversation:
    try:
        record = json.loads(line)
        messages = record["messages"]
        return Conversation(str(record.get("id", number)), [to_message(message) for message in messages])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{where} is no conversation ({type(error).__name__}: {error}); "
            'each line must be {"id", "messages": […]}.'
        ) from None


def to_message(chat: dict[str, Any]) -> ModelMessage:
    """One chat message. Raises ValueError for a role nobody knows."""
    role = chat["role"]
    content = chat.get("content")
    text = _text(content)
    match role:
        case "system" | "developer":
            return ModelRequest(parts=[SystemPromptPart(text, timestamp=_LONG_AGO)], timestamp=_LONG_AGO)
        case "user":
            return ModelRequest(parts=[UserPromptPart(text, timestamp=_LONG_AGO)], timestamp=_LONG_AGO)
        case "tool" | "function":
            name = str(chat.get("name") or "tool")
            call_id = str(chat.get("tool_call_id") or name)
            part = ToolReturnPart(tool_name=name, content=text, tool_call_id=call_id, timestamp=_LONG_AGO)
            return ModelRequest(parts=[part], timestamp=_LONG_AGO)
        case "assistant":
            return _response(chat, text)
        case _:
            raise ValueError(f"unknown role {role!r}")


def _response(chat: dict[str, Any], text: str) -> ModelResponse:
    parts: list[ModelResponsePart] = [TextPart(text)] if text else []
    for call in chat.get("tool_calls") or ():
        function = call.get("function") or {}
        arguments = function.get("arguments", "")
        parts.append(
            ToolCallPart(
                tool_name=str(function.get("name") or "tool"),
                args=arguments if isinstance(arguments, str | dict) else json.dumps(arguments),
                tool_call_id=str(call.get("id") or function.get("name") or "call"),
            )
        )
    usage = chat.get("usage") or {}
    return ModelResponse(
        parts=parts,
        timestamp=_LONG_AGO,
        usage=RequestUsage(
            input_tokens=int(usage.get("prompt_tokens") or 0), output_tokens=int(usage.get("completion_tokens") or 0)
        ),
    )


def to_chat(messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
    """Messages as they would be sent."""
    return [chat for message in messages for chat in _chats(message)]


def _chats(message: ModelMessage) -> Iterator[dict[str, Any]]:
    if isinstance(message, ModelResponse):
        yield _assistant(message)
        return
    for part in message.parts:
        match part:
            case SystemPromptPart():
                yield {"role": "system", "content": part.content}
            case UserPromptPart():
                yield {"role": "user", "content": _text(part.content)}
            case ToolReturnPart():
                yield {
                    "role": "tool",
                    "tool_call_id": part.tool_call_id,
                    "name": part.tool_name,
                    "content": content_text(part.content),
                }
            case _:
                yield {"role": "user", "content": _text(getattr(part, "content", ""))}


def _assistant(message: ModelResponse) -> dict[str, Any]:
    chat: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(part.content for part in message.parts if isinstance(part, TextPart)) or None,
    }
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {
                "name": part.tool_name,
                "arguments": part.args if isinstance(part.args, str) else part.args_as_json_str(),
            },
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    if calls:
        chat["tool_calls"] = calls
    return chat


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = (item.get("text") if isinstance(item, dict) else item for item in content)
        return "\n".join(text if isinstance(text, str) else "[attachment]" for text in texts)
    return content_text(content)
