"""Sessions of Qwen Code: one record a line, with contents as Gemini's interface has them."""

from datetime import datetime
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelResponsePart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.file_blocks import files_in
from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_parts import EMPTY, called, said, thought
from co_tui.exchange.importers.foreign_values import (
    FILE_SNAPSHOTS,
    NOTICES,
    OTHER_PARTS,
    OTHER_RECORDS,
    SUB_AGENTS,
    beginning,
    count,
    objects,
    read_time,
    readable,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.exchange.importers.trees import Node
from co_tui.store.session_ids import stable_id

NAME: Final = "qwen-code"
_TYPES: Final = ("user", "assistant", "tool_result")
_TYPED: Final = (None, "mid_turn_user_message", "realtime_message")
"""Subtypes of what the user said; the others are said by the program in the user's name."""
_LEFT_OUT: Final = {
    "attribution_snapshot": FILE_SNAPSHOTS,
    "file_history_snapshot": FILE_SNAPSHOTS,
    "notification": "notifications",
    "slash_command": "slash commands",
    "ui_telemetry": "telemetry",
}
"""How notes are called that have no place here; all others are notes of the program."""


def recognises(document: Document) -> bool:
    return any(map(_is_record, document.records[:200]))


def _is_record(row: Record) -> bool:
    message = row.get("message")
    has_parts = isinstance(message, dict) and isinstance(message.get("parts"), list)
    return row.get("type") in _TYPES and has_parts and {"uuid", "sessionId"} <= row.keys()


def load(document: Document) -> list[ImportedSession]:
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    only_agents = all(row.get("isSidechain") for row in document.records if _is_record(row))
    rows = [row for row in document.records if only_agents or not row.get("isSidechain")]
    builder.leave_out(SUB_AGENTS, len(document.records) - len(rows))
    nodes = [Node(text(row.get("uuid")), text(row["parentUuid"]) if "parentUuid" in row else None, row) for row in rows]
    for row in builder.walk(nodes):
        _read(builder, row, document.modified)
        builder.cwd = builder.cwd or text(row.get("cwd"))
        builder.branch = builder.branch or text(row.get("gitBranch"))
        builder.window_tokens = count(row, "contextWindowSize") or builder.window_tokens
    sessions = (text(row.get("sessionId")) for row in document.records if _is_record(row))
    agents = (text(row.get("agentId")) for row in document.records if only_agents)
    identity = (
        next(filter(None, sessions), "") or beginning(document.records, _is_record),
        next(filter(None, agents), ""),
    )
    return [] if builder.empty else [builder.build(stable_id(NAME, *identity))]


def _read(builder: SessionBuilder, row: Record, modified: datetime) -> None:
    time = read_time(row.get("timestamp"))
    if _is_record(row):
        _say(builder, row["type"], row["message"]["parts"], time, row)
    elif row.get("type") == "system":
        _note(builder, row, time, modified)
    elif row.get("type") in _TYPES:
        builder.skipped += 1
    else:
        builder.leave_out(OTHER_RECORDS)


def _note(builder: SessionBuilder, row: Record, time: Any, modified: datetime) -> None:
    payload = row.get("systemPayload")
    about = payload if isinstance(payload, dict) else {}
    match row.get("subtype"):
        case "custom_title":
            builder.title = text(about.get("customTitle")) or builder.title
        case "chat_compression":
            info = about.get("info")
            left = _history(about.get("compressedHistory"), time or modified)
            builder.compacted("", time, pre_tokens=count(info, "originalTokenCount"), replacement=left)
        case subtype:
            builder.leave_out(_LEFT_OUT.get(text(subtype), NOTICES))


def _history(contents: Any, time: datetime) -> list[ModelMessage]:
    """What the model goes on with after a compression."""
    other = SessionBuilder(NAME, time)
    for content in objects(contents):
        kind = "assistant" if content.get("role") == "model" else "user"
        parts = content.get("parts")
        _say(other, kind, parts if isinstance(parts, list) else [], time, {})
    return [] if other.empty else other.build("").messages


def _say(builder: SessionBuilder, kind: str, parts: list[Any], time: Any, row: Record) -> None:
    pieces = list(objects(parts))
    builder.skipped += len(parts) - len(pieces)
    if kind == "assistant":
        found = [part for piece in pieces for part in _parts(builder, piece)]
        model = text(row.get("model"))
        builder.reply(found, time, model=model, usage=_usage(row.get("usageMetadata")))
        builder.leave_out(EMPTY, 0 if pieces else 1)
        return
    images = files_in(pieces)
    results = [_result(piece) for piece in pieces if isinstance(piece.get("functionResponse"), dict)]
    if results:
        builder.results([*results[:-1], results[-1]._replace(images=(*results[-1].images, *images))], time)
        images = ()
    words = "\n".join(filter(None, (text(piece.get("text")) for piece in pieces)))
    by_program = kind != "user" or row.get("subtype") not in _TYPED
    builder.prompt(words, time, images=images, by_program=by_program)
    builder.leave_out(EMPTY, 0 if words.strip() or images or results else 1)


def _parts(builder: SessionBuilder, piece: Record) -> list[ModelResponsePart]:
    call = piece.get("functionCall")
    if isinstance(call, dict):
        return [called(call.get("name"), call.get("args"), call.get("id"))]
    if "text" not in piece:
        builder.leave_out(OTHER_PARTS)
    return thought(piece.get("text")) if piece.get("thought") is True else said(piece.get("text"))


def _result(piece: Record) -> Result:
    answer = piece["functionResponse"]
    response = answer.get("response")
    failed = isinstance(response, dict) and "error" in response and "output" not in response
    output = response.get("output", response.get("error", response)) if isinstance(response, dict) else response
    images = files_in(objects(answer.get("parts")))
    return Result(text(answer.get("id")), readable(output), text(answer.get("name")), failed, images)


def _usage(usage: Any) -> RequestUsage:
    return RequestUsage(
        input_tokens=count(usage, "promptTokenCount"),
        output_tokens=count(usage, "candidatesTokenCount") + count(usage, "thoughtsTokenCount"),
        cache_read_tokens=count(usage, "cachedContentTokenCount"),
    )


IMPORTERS: Final = (DocumentImporter("Qwen Code", recognises, load),)
