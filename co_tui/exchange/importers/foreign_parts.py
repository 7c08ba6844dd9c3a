"""Parts of replies from what other programs wrote, and what those programs write that has no place here."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.importers.foreign_values import OTHER_RECORDS, count, text

SYSTEM_PROMPTS: Final = "system prompts"
ATTACHED_FILES: Final = "attached files"
IMAGES: Final = "images"
APPROVALS: Final = "approvals"
EMPTY: Final = "empty messages"


def said(value: Any) -> list[ModelResponsePart]:
    return [TextPart(value)] if isinstance(value, str) and value.strip() else []


def thought(value: Any) -> list[ModelResponsePart]:
    return [ThinkingPart(value)] if isinstance(value, str) and value.strip() else []


def called(name: Any, arguments: Any, call_id: Any) -> ToolCallPart:
    return ToolCallPart(text(name) or "tool", arguments if isinstance(arguments, dict | str) else {}, text(call_id))


def labelled(kind: str, name: str) -> str:
    """The text that replaces what cannot be in it."""
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def tokens(record: Any, read: str, write: str, other: str, output: str) -> RequestUsage:
    """Usage where the input is what was neither read from a cache nor written to it."""
    cached, made = count(record, read), count(record, write)
    return RequestUsage(
        input_tokens=count(record, other) + cached + made,
        output_tokens=count(record, output),
        cache_read_tokens=cached,
        cache_write_tokens=made,
    )


def kind_of(record_type: Any, words: Mapping[str, str]) -> str:
    """What a record is called when it is left out: by its type, or by the longest beginning of it."""
    name = text(record_type)
    while name:
        if name in words:
            return words[name]
        name = name.rpartition(".")[0]
    return OTHER_RECORDS
