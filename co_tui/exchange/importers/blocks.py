"""Blocks as Anthropic's format writes them, in the messages of several programs."""

from typing import Any

from pydantic_ai.messages import ModelResponsePart

from co_tui.exchange.importers.builder import NO_USAGE, Result, SessionBuilder
from co_tui.exchange.importers.foreign_files import Record
from co_tui.exchange.importers.foreign_parts import HIDDEN_THINKING, UNKNOWN_BLOCKS, called, said, thought
from co_tui.exchange.importers.foreign_values import result_content, text


def say_blocks(
    builder: SessionBuilder, blocks: list[Record], time: Any, *, model: str = "", usage: Any = NO_USAGE
) -> None:
    """What an assistant said; results that stand among its blocks end a reply."""
    parts: list[ModelResponsePart] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            builder.reply(parts, time, model=model, usage=usage)
            builder.results([block_result(block)], time)
            parts, usage = [], NO_USAGE
        elif found := _parts(block):
            parts += found
        elif block.get("type") in ("redacted_thinking", "redactedThinking"):
            builder.leave_out(HIDDEN_THINKING)
        elif block.get("type") not in ("text", "thinking"):  # these are empty
            builder.leave_out(UNKNOWN_BLOCKS)
    builder.reply(parts, time, model=model, usage=usage)


def _parts(block: Record) -> list[ModelResponsePart]:
    match block.get("type"):
        case "text" | "voice_note":
            return said(block.get("text"))
        case "thinking" | "reasoning":
            return thought(block.get("thinking") or block.get("text"))
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return [called(block.get("name"), block.get("input"), block.get("id"))]
        case _:
            return []


def block_result(block: Record) -> Result:
    content = result_content(block.get("content"))
    tool = text(block.get("name"))
    failed = block.get("is_error") is True
    return Result(text(block.get("tool_use_id")), content.text, tool, failed, content.images)
