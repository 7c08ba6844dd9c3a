"""Blocks of Anthropic's messages, as its API and Claude Code write them."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from pydantic_ai.messages import FilePart, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.events.storable import dump
from co_tui.exchange.file_blocks import file_of
from co_tui.exchange.importers.builder import NO_USAGE, Result, SessionBuilder
from co_tui.exchange.importers.citations import sources
from co_tui.exchange.importers.foreign_files import Record
from co_tui.exchange.importers.foreign_values import (
    HIDDEN_THINKING,
    OTHER_PARTS,
    Content,
    count,
    objects,
    prompt_content,
    result_content,
    text,
)

_THINKING: Final = ("thinking", "redacted_thinking")


def is_call(block: Record) -> bool:
    """Whether it calls a tool of the program or of the provider."""
    return text(block.get("type")) in ("tool_use", "server_tool_use", "mcp_tool_use")


def is_result(block: Record) -> bool:
    return text(block.get("type")).endswith("tool_result")


def reply(
    builder: SessionBuilder,
    blocks: Iterable[Record],
    time: datetime | None,
    *,
    model: str = "",
    usage: RequestUsage = NO_USAGE,
    interrupted: bool = False,
    reply_id: str = "",
) -> None:
    """What the model said. The provider's own tools return within a reply: what follows was said after that.

    Their calls become ordinary ones, which every provider understands.
    """
    steps = list(_steps(blocks))
    for number, step in enumerate(steps, 1):
        is_last = number == len(steps)
        builder.reply(
            [
                *(part for block in step if not is_result(block) for part in _parts(builder, block)),
                *sources(each for block in step for each in objects(block.get("citations"))),
            ],
            time,
            model=model,
            usage=usage if is_last else NO_USAGE,
            interrupted=interrupted and is_last,
            reply_id=reply_id,
        )
        results(builder, step, time)


def results(builder: SessionBuilder, blocks: Iterable[Record], time: datetime | None) -> None:
    """What tools returned."""
    if found := [_result(builder, block) for block in blocks if is_result(block)]:
        builder.results(found, time)


def prompt_blocks(blocks: Iterable[Record]) -> Content:
    """What the user said next to results."""
    return prompt_content([block for block in blocks if not is_result(block)])


def _steps(blocks: Iterable[Record]) -> Iterator[list[Record]]:
    step: list[Record] = []
    for block in blocks:
        if step and is_result(step[-1]) and not is_result(block):
            yield step
            step = []
        step.append(block)
    if step:
        yield step


def _parts(builder: SessionBuilder, block: Record) -> Iterator[ModelResponsePart]:
    kind = block.get("type")
    if kind == "text":
        if said := text(block.get("text")):
            yield TextPart(said)
    elif kind in _THINKING:
        if thought := text(block.get("thinking")):
            yield ThinkingPart(thought)
        else:
            builder.leave_out(HIDDEN_THINKING)
    elif is_call(block):
        given = block.get("input")
        yield ToolCallPart(
            text(block.get("name")) or "tool", given if isinstance(given, dict | str) else {}, text(block.get("id"))
        )
    elif (file := file_of(block)) is not None:
        yield FilePart(file)
    else:
        builder.leave_out(OTHER_PARTS)


def _result(builder: SessionBuilder, block: Record) -> Result:
    given = block.get("content")
    is_own = block.get("type") in ("tool_result", "mcp_tool_result")
    content = builder.counting(result_content(given)) if is_own else Content(_server_text(given))
    failed = block.get("is_error") is True or (isinstance(given, dict) and text(given.get("type")).endswith("_error"))
    return Result(text(block.get("tool_use_id")), content.text, failed=failed, images=content.images)


def _server_text(content: Any) -> str:
    """What a tool of the provider returned: the pages it found, the page it read, or its data as JSON."""
    if isinstance(content, list):
        return "\n\n".join(_server_text(each) for each in objects(content))
    if not isinstance(content, dict):
        return text(content)
    if content.get("type") == "web_search_result":
        return "\n".join(filter(None, (text(content.get(key)) for key in ("title", "url", "page_age"))))
    if content.get("type") == "web_fetch_result":
        return "\n".join(filter(None, (text(content.get("url")), prompt_content(content.get("content")).text)))
    if said := text(content.get("text")):
        return said
    return dump({key: value for key, value in content.items() if not key.startswith("encrypted_")})


def usage_of(usage: Any) -> RequestUsage:
    """The tokens of a reply; what was cached is part of the input."""
    cached, made = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    return RequestUsage(
        input_tokens=count(usage, "input_tokens") + cached + made,
        output_tokens=count(usage, "output_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=made,
    )
