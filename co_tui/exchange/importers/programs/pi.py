"""Sessions of pi: a head, then one entry a line."""

from typing import Any, Final

from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import (
    EMPTY_REPLIES,
    HIDDEN_THINKING,
    OTHER_PARTS,
    OTHER_RECORDS,
    blocks_of,
    count,
    prompt_content,
    read_time,
    readable,
    result_content,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.exchange.importers.trees import Node
from co_tui.store.session_ids import stable_id

NAME: Final = "pi"
_ROLES: Final = ("user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary")
_BOOKKEEPING: Final = ("session", "session_info", "model_change", "thinking_level_change", "label", "leaf")
_CUT_SHORT: Final = ("aborted", "error")


def recognises(document: Document) -> bool:
    return any(_is_entry(row) for row in document.records[:200])


def _is_entry(row: Record) -> bool:
    message = row.get("message")
    return row.get("type") == "message" and isinstance(message, dict) and message.get("role") in _ROLES


def load(document: Document) -> list[ImportedSession]:
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    identity = ""
    nodes = [Node(text(row.get("id")), _parent(row), row) for row in document.records]
    for row in builder.walk(nodes, leaf=nodes[-1].id):
        time = read_time(row.get("timestamp"))
        match row.get("type"):
            case "session":
                identity = identity or text(row.get("id"))
                builder.cwd = builder.cwd or text(row.get("cwd"))
            case "session_info":
                builder.title = text(row.get("name")) or builder.title
            case "compaction":
                builder.compacted(
                    text(row.get("summary")),
                    time,
                    pre_tokens=count(row, "tokensBefore"),
                    kept_from=text(row.get("firstKeptEntryId")),
                )
            case "message":
                _say(builder, row.get("message"), time)
            case "branch_summary" | "custom_message":
                _note(builder, row, time)
            case "custom":
                builder.leave_out("data of extensions")
            case other if other not in _BOOKKEEPING:
                builder.leave_out(OTHER_RECORDS)
    identity = identity or readable(document.records)
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _parent(row: Record) -> str | None:
    """An entry that moves the leaf is where it moves it to. The head, and all of the first version, name none."""
    key = "targetId" if row.get("type") == "leaf" else "parentId"
    return text(row[key]) if key in row else None


def _note(builder: SessionBuilder, holder: Record, time: Any) -> None:
    """What the program or an extension says to the model: the summary of a branch, or a message of its own."""
    said = builder.counting(prompt_content(holder.get("summary") or holder.get("content")))
    builder.prompt(said.text, time, images=said.images, by_program=True)


def _say(builder: SessionBuilder, message: Any, time: Any) -> None:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        builder.leave_out(OTHER_RECORDS)
        return
    content = message.get("content")
    match message["role"]:
        case "user":
            said = builder.counting(prompt_content(content))
            builder.prompt(said.text, time, images=said.images)
        case "toolResult":
            failed = message.get("isError") is True
            tool, call_id = text(message.get("toolName")), text(message.get("toolCallId"))
            returned = builder.counting(result_content(content))
            builder.results([Result(call_id, returned.text, tool, failed, returned.images)], time)
        case "bashExecution":
            command = text(message.get("command"))
            builder.ran(command, text(message.get("output")), time)
        case "custom" | "branchSummary":
            _note(builder, message, time)
        case _:
            _reply(builder, message, time)


def _reply(builder: SessionBuilder, message: Record, time: Any) -> None:
    usage = message.get("usage")
    cached, made = count(usage, "cacheRead"), count(usage, "cacheWrite")
    blocks = list(blocks_of(message.get("content")))
    if not blocks:
        builder.leave_out(EMPTY_REPLIES)
    builder.reply(
        [part for block in blocks if (part := _part(builder, block)) is not None],
        time,
        model=text(message.get("model")),
        provider=text(message.get("provider")),
        usage=RequestUsage(
            input_tokens=count(usage, "input") + cached + made,
            output_tokens=count(usage, "output"),
            cache_read_tokens=cached,
            cache_write_tokens=made,
        ),
        interrupted=message.get("stopReason") in _CUT_SHORT,
    )


def _part(builder: SessionBuilder, block: Record) -> ModelResponsePart | None:
    match block.get("type"):
        case "text":
            return TextPart(text(block.get("text"))) if text(block.get("text")) else None
        case "thinking":
            if thought := text(block.get("thinking")):
                return ThinkingPart(thought)
            builder.leave_out(HIDDEN_THINKING)
        case "toolCall":
            arguments = block.get("arguments")
            args = arguments if isinstance(arguments, dict | str) else {}
            return ToolCallPart(text(block.get("name")) or "tool", args, text(block.get("id")))
        case _:
            builder.leave_out(OTHER_PARTS)
    return None


IMPORTERS: Final = (DocumentImporter("pi", recognises, load),)
