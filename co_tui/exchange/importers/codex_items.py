"""Items of the Responses API, as Codex CLI keeps them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from co_tui.events.storable import dump
from co_tui.events.stored_messages import REPLACES
from co_tui.exchange.file_blocks import file_of
from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.citations import sources
from co_tui.exchange.importers.foreign_files import Record
from co_tui.exchange.importers.foreign_values import (
    HIDDEN_THINKING,
    Content,
    blocks_of,
    count,
    objects,
    prompt_content,
    result_content,
    text,
    text_of_blocks,
)

CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "tool_call")
OUTPUTS: Final = ("function_call_output", "custom_tool_call_output", "tool_search_output", "tool_result")
_MADE_IMAGE: Final = "image_generation_call"
ITEMS: Final = ("message", "reasoning", "web_search_call", _MADE_IMAGE, *CALLS, *OUTPUTS)
_LONG_AGO: Final = datetime(2025, 1, 1, tzinfo=UTC)
"""Of what has no time: before that there was no Codex CLI."""


def parts_of(builder: SessionBuilder, item: Record) -> list[ModelResponsePart]:
    kind = item.get("type")
    if kind == "message":
        said = builder.counting(prompt_content(item.get("content"))).text
        cited = (each for block in blocks_of(item.get("content")) for each in objects(block.get("annotations")))
        return [*([TextPart(said)] if said.strip() else []), *sources(cited)]
    if kind == "reasoning":
        thought = text_of_blocks(item.get("summary") or []) or text_of_blocks(item.get("content") or [])
        builder.left_out.update([] if thought else [HIDDEN_THINKING])
        return [ThinkingPart(thought)] if thought else []
    if kind == "web_search_call":  # done by the provider, within the reply
        action = item.get("action")
        return [NativeToolCallPart("web_search", action if isinstance(action, dict) else {}, text(item.get("id")))]
    if kind == _MADE_IMAGE:
        image = file_of(item)
        builder.left_out.update([] if image else ["images"])
        return [FilePart(image)] if image else []
    return [_call(item)]


def _call(item: Record) -> ToolCallPart:
    function = item.get("function")
    named = function if isinstance(function, dict) else {}
    name = text(item.get("name")) or text(named.get("name")) or str(item.get("type")).removesuffix("_call")
    given: Any = next((item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), {})
    return ToolCallPart(name, _arguments(given), text(item.get("call_id")))


def _arguments(given: Any) -> dict[str, Any] | str:
    """As JSON, which is what a call has; a plain text becomes one."""
    if isinstance(given, dict):
        return given
    if isinstance(given, str):
        try:
            read = json.loads(given)
        except (ValueError, RecursionError):
            read = None
        return given if isinstance(read, dict) else {"input": given}
    return {"input": given}


def result_of(builder: SessionBuilder, item: Record) -> Result:
    output = next((item[key] for key in ("output", "result", "tools") if item.get(key) is not None), "")
    failed = isinstance(output, dict) and output.get("success") is False
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        output = output["content"]
    is_data = "tools" in item and output is item["tools"]  # definitions, which only look like blocks
    content = Content(dump(output)) if is_data else builder.counting(result_content(output))
    return Result(text(item.get("call_id")), content.text, text(item.get("name")), failed, content.images)


def messages_of(item: Record, when: datetime | None) -> Iterator[ModelMessage]:
    """What replaces the compacted messages: text only."""
    said = text_of_blocks([block for block in blocks_of(item.get("content")) if text(block.get("text"))])
    time = when or _LONG_AGO
    if item.get("type") != "message" or not said:
        return
    if item.get("role") == "user":
        yield ModelRequest(parts=[UserPromptPart(said, timestamp=time)], timestamp=time, metadata={REPLACES: 0})
    elif item.get("role") == "assistant":
        yield ModelResponse(parts=[TextPart(said)], timestamp=time)


def usage_of(usage: Any) -> RequestUsage:
    return RequestUsage(
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        cache_read_tokens=count(usage, "cached_input_tokens"),
        cache_write_tokens=count(usage, "cache_write_input_tokens"),
    )
