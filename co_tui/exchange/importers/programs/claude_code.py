"""Sessions of Claude Code: one row a line, each a message, a part of one, or a note about the conversation.

Also its web export, which is one object with the same rows as `loglines`.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import (
    blocks_of,
    count,
    prompt_content,
    read_time,
    readable,
    result_content,
    text,
    text_of_blocks,
)
from co_tui.exchange.importers.imported import ImportedSession, stable_id
from co_tui.exchange.importers.importer import DocumentImporter

NAME: Final = "claude-code"
_SYNTHETIC: Final = "<synthetic>"
"""In place of a model's name, for what the program itself said."""
_TITLES: Final = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
"""Where titles are, the strongest first."""


def recognises(document: Document) -> bool:
    return any(_is_row(row) for row in _rows(document)[:200])


def load(document: Document) -> list[ImportedSession]:
    rows = _rows(document)
    # A file of its own for an agent has nothing but side chains; elsewhere they belong to agents.
    only_agents = all(row.get("isSidechain") for row in rows if _is_row(row))
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    compaction: Record | None = None
    for row in rows:
        if row.get("isSidechain") and not only_agents:
            continue
        if row.get("type") == "system" and row.get("subtype") == "compact_boundary":
            _compact(builder, compaction, "")
            compaction = row
        elif row.get("isCompactSummary"):
            _compact(builder, compaction or row, _text_of(row))
            compaction = None
        elif _is_row(row):
            _say(builder, row)
        elif row.get("type") in ("user", "assistant"):
            builder.skipped += 1
        builder.end(text(row.get("uuid")))
        _place(builder, row)
    _compact(builder, compaction, "")
    builder.title = _title(rows)
    return [] if builder.empty else [builder.build(stable_id(NAME, *_identity(rows, document, only_agents)))]


def _rows(document: Document) -> list[Record]:
    if len(document.records) == 1 and isinstance(lines := document.records[0].get("loglines"), list):
        return [row for row in lines if isinstance(row, dict)]
    return document.records


def _is_row(row: Record) -> bool:
    message = row.get("message")
    return row.get("type") in ("user", "assistant") and isinstance(message, dict) and "content" in message


def _identity(rows: list[Record], document: Document, only_agents: bool) -> Iterator[str]:
    named = (text(row.get("sessionId")) for row in rows if _is_row(row))
    yield next(filter(None, named), "") or readable(document.records)
    if only_agents:
        yield next((text(row["agentId"]) for row in rows if text(row.get("agentId"))), "")


def _title(rows: list[Record]) -> str:
    for kind, key in _TITLES:
        titles = [text(row.get(key)) for row in rows if row.get("type") == kind]
        if any(titles):
            return next(title for title in reversed(titles) if title)
    return ""


def _place(builder: SessionBuilder, row: Record) -> None:
    builder.cwd = builder.cwd or text(row.get("cwd"))
    builder.branch = builder.branch or text(row.get("gitBranch"))


def _text_of(row: Record) -> str:
    message = row.get("message")
    return text_of_blocks(message.get("content")) if isinstance(message, dict) else ""


def _compact(builder: SessionBuilder, row: Record | None, summary: str) -> None:
    if row is None:
        return
    about = row.get("compactMetadata")
    details = about if isinstance(about, dict) else {}
    trigger = "manual" if details.get("trigger") == "manual" else "background"
    builder.compacted(summary, read_time(row.get("timestamp")), trigger=trigger, pre_tokens=count(details, "preTokens"))


def _say(builder: SessionBuilder, row: Record) -> None:
    message, time = row["message"], read_time(row.get("timestamp"))
    blocks = list(blocks_of(message.get("content")))
    if row["type"] == "assistant":
        _reply(builder, message, blocks, time)
        return
    results = [_result(block) for block in blocks if block.get("type") == "tool_result"]
    if results:
        builder.results(results, time)
    said = prompt_content([block for block in blocks if block.get("type") != "tool_result"])
    if not row.get("isMeta"):  # what the program said to the model in the user's name
        if not results:
            builder.follow(text(row.get("parentUuid")), time)
        builder.prompt(said.text, time, images=said.images, by_program=bool(results))


def _result(block: Record) -> Result:
    content = result_content(block.get("content"))
    failed = block.get("is_error") is True
    return Result(text(block.get("tool_use_id")), content.text, failed=failed, images=content.images)


def _reply(builder: SessionBuilder, message: Record, blocks: list[Record], time: datetime | None) -> None:
    usage = message.get("usage")
    model = text(message.get("model"))
    builder.reply(
        [part for block in blocks if (part := _part(block)) is not None],
        time,
        model="" if model == _SYNTHETIC else model,
        usage=_usage(usage),
        reply_id=text(message.get("id")),
    )


def _part(block: Record) -> ModelResponsePart | None:
    match block.get("type"):
        case "text":
            return TextPart(text(block.get("text"))) if text(block.get("text")) else None
        case "thinking":
            return ThinkingPart(text(block.get("thinking"))) if text(block.get("thinking")) else None
        case "tool_use" | "server_tool_use":
            arguments = block.get("input")
            args = arguments if isinstance(arguments, dict | str) else {}
            return ToolCallPart(text(block.get("name")) or "tool", args, text(block.get("id")))
        case _:
            return None


def _usage(usage: Any) -> RequestUsage:
    cached, made = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    return RequestUsage(
        input_tokens=count(usage, "input_tokens") + cached + made,
        output_tokens=count(usage, "output_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=made,
    )


IMPORTER: Final = DocumentImporter("Claude Code", recognises, load)
