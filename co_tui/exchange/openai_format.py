"""Conversations in the OpenAI chat format, to messages and back."""

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic_ai.messages import (
    BinaryContent,
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

from co_tui.events.content import content_text, prompt_text
from co_tui.events.storable import storable
from co_tui.exchange.file_blocks import address_of, file_of, files_in
from co_tui.inert import one_line

T = TypeVar("T")
_KINDS: dict[type, str] = {dict: "an object", list: "a list"}
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
"""Recorded messages carry no time, and a replay must give the same every time."""
MAX_LINE_BYTES = 256_000_000
MAX_TOKENS = 1_000_000_000
"""A larger usage is an error."""


class BadInput(Exception):
    """A recording that cannot be read; the text says where and why."""


class Conversation(NamedTuple):
    """A recording: its messages, one for each of the input."""

    id: str
    messages: list[ModelMessage]


def load(path: Path) -> Iterator[Conversation]:
    """Conversations of a JSONL file, one a line. Raises `BadInput` naming the line."""
    try:
        with open(path, "rb") as stream:
            for number in itertools.count(1):
                line = stream.readline(MAX_LINE_BYTES + 1)
                if not line:
                    return
                if line.strip():
                    yield _conversation(line, f"{path}, line {number}", number)
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror or error}.") from None


def _conversation(line: bytes, where: str, number: int) -> Conversation:
    if len(line) > MAX_LINE_BYTES:
        raise BadInput(f"{where} is over {MAX_LINE_BYTES:,} bytes.")
    try:
        read = json.loads(line.decode(), parse_constant=_number, parse_float=_number)
        record = _expected(dict, storable(read) if b"\\ud" in line.lower() else read, "it")
        messages = _expected(list, record["messages"], "messages")
        return Conversation(str(record.get("id", number)), [to_message(message) for message in messages])
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8: {error.reason} at byte {error.start + 1}"
    except RecursionError:
        reason = "it is nested too deeply"
    except KeyError as error:
        reason = f"{error} is missing"
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        reason = one_line(str(error), 200)
    raise BadInput(f'{where} is not a conversation ({reason}). Each line must be {{"id", "messages": […]}}.')


def _number(text: str) -> float:
    """Raises ValueError for what JSON has no place for: NaN, Infinity, and numbers beyond all."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{one_line(text, 40)} is not a number")
    return number


def _expected(kind: type[T], value: Any, name: str) -> T:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {_KINDS[kind]}")
    return value


def to_message(chat: dict[str, Any]) -> ModelMessage:
    """One chat message. Raises ValueError for an unknown role."""
    role = _expected(dict, chat, "a message")["role"]
    text = _text(chat.get("content"))
    images = files_in(content) if isinstance(content := chat.get("content"), list) else ()
    match role:
        case "system" | "developer":
            return ModelRequest(parts=[SystemPromptPart(text, timestamp=_LONG_AGO)], timestamp=_LONG_AGO)
        case "user":
            said: str | list[str | BinaryContent] = [text, *images] if images else text
            return ModelRequest(parts=[UserPromptPart(said, timestamp=_LONG_AGO)], timestamp=_LONG_AGO)
        case "tool" | "function":
            name = str(chat.get("name") or "tool")
            call_id = str(chat.get("tool_call_id") or name)
            returned: Any = [text, *images] if images else text
            part = ToolReturnPart(tool_name=name, content=returned, tool_call_id=call_id, timestamp=_LONG_AGO)
            return ModelRequest(parts=[part], timestamp=_LONG_AGO)
        case "assistant":
            return _response(chat, text)
        case _:
            raise ValueError(f"unknown role {one_line(repr(role), 40)}")


def _response(chat: dict[str, Any], text: str) -> ModelResponse:
    text = text or str(chat.get("refusal") or "")
    parts: list[ModelResponsePart] = [TextPart(text)] if text else []
    older = chat.get("function_call")  # the one call that a reply could have before `tool_calls`
    calls = _expected(list, chat.get("tool_calls") or ([{"function": older}] if older else []), "tool_calls")
    for call in calls:
        called = _expected(dict, call, "a tool call")
        function = _expected(dict, called.get("function") or called.get("custom") or {}, "function")
        arguments = function.get("arguments", {"input": function["input"]} if "input" in function else "")
        parts.append(
            ToolCallPart(
                tool_name=str(function.get("name") or "tool"),
                args=arguments if isinstance(arguments, str | dict) else json.dumps(arguments),
                tool_call_id=str(call.get("id") or function.get("name") or "call"),
            )
        )
    usage = _expected(dict, chat.get("usage") or {}, "usage")
    return ModelResponse(
        parts=parts,
        timestamp=_LONG_AGO,
        usage=RequestUsage(
            input_tokens=_tokens(usage, "prompt_tokens"),
            output_tokens=_tokens(usage, "completion_tokens"),
            cache_read_tokens=_cached(usage),
        ),
    )


def _cached(usage: dict[str, Any]) -> int:
    details = usage.get("prompt_tokens_details")
    return _tokens(details, "cached_tokens") if isinstance(details, dict) else 0


def _tokens(usage: dict[str, Any], key: str) -> int:
    """What a provider reported. Raises ValueError for what is not a count of tokens."""
    tokens = usage.get(key) or 0
    if isinstance(tokens, bool) or not isinstance(tokens, int | float) or not 0 <= tokens <= MAX_TOKENS:
        raise ValueError(f"{key} is {one_line(json.dumps(tokens), 40)}, not a number from 0 to {MAX_TOKENS:,}")
    return int(tokens)


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
                yield {"role": "user", "content": _prompt(part)}
            case ToolReturnPart():
                yield {
                    "role": "tool",
                    "tool_call_id": part.tool_call_id,
                    "name": part.tool_name,
                    "content": content_text(part.content),
                }
            case _:
                yield {"role": "user", "content": _text(getattr(part, "content", ""))}


def _prompt(part: UserPromptPart) -> str | list[dict[str, Any]]:
    """Its text; with images, a list of blocks."""
    items = [] if isinstance(part.content, str) else part.content
    images = [each for each in items if isinstance(each, BinaryContent) and each.is_image]
    if not images:
        return prompt_text(part.content)
    rest = [each for each in items if each not in images]
    blocks = [{"type": "image_url", "image_url": {"url": image.data_uri}} for image in images]
    return [{"type": "text", "text": prompt_text(rest)}, *blocks]


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
        return "\n".join(_item_text(item) for item in content if file_of(item) is None)
    return content_text(content)


def _item_text(item: Any) -> str:
    text = item.get("text") if isinstance(item, dict) else item
    if isinstance(text, str):
        return text
    address = address_of(item)
    return f"[image: {address}]" if address else "[attachment]"
