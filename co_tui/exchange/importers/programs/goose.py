"""Sessions of Goose: a head and one message a line, an export, or the rows of its database."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelResponsePart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.database import Database, Row
from co_tui.exchange.importers.foreign_files import Document, Record, json_value
from co_tui.exchange.importers.foreign_parts import APPROVALS, EMPTY, called, said, thought
from co_tui.exchange.importers.foreign_values import (
    ERROR_MESSAGES,
    HIDDEN_THINKING,
    NOTICES,
    OTHER_PARTS,
    OTHER_RECORDS,
    blocks_of,
    count,
    objects,
    prompt_content,
    read_time,
    readable,
    result_content,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DatabaseImporter, DocumentImporter
from co_tui.store.session_ids import stable_id

_PART_OF_ANOTHER: Final = ("sub_agent", "hidden")

NAME: Final = "goose"
_BLOCKS: Final = ("toolRequest", "toolResponse", "frontendToolRequest")
_LEFT_OUT: Final = {
    "actionRequired": APPROVALS,
    "contextLengthExceeded": ERROR_MESSAGES,
    "conversationCompacted": NOTICES,
    "error": ERROR_MESSAGES,
    "redactedThinking": HIDDEN_THINKING,
    "summarizationRequested": NOTICES,
    "systemNotification": NOTICES,
    "toolConfirmationRequest": APPROVALS,
}
"""How blocks are called that have no place here."""


class Head(NamedTuple):
    """What is known about a session."""

    session_id: str
    title: str = ""
    cwd: str = ""
    model: str = ""


def recognises(document: Document) -> bool:
    rows = document.records[:200]
    return _is_export(rows[0]) or _is_head(rows[0]) or any(map(_has_block, rows))


def _is_head(row: Record) -> bool:
    return {"description", "message_count"} <= row.keys() and "role" not in row


def _is_export(row: Record) -> bool:
    return isinstance(row.get("conversation"), list) and "working_dir" in row


def _has_block(row: Record) -> bool:
    return "created" in row and any(block.get("type") in _BLOCKS for block in objects(row.get("content")))


def load(document: Document) -> list[ImportedSession]:
    first, *rest = document.records
    if _is_export(first):
        session = from_rows(_head(first), list(objects(first["conversation"])), document.modified, left=len(rest))
        return [session] if session else []
    rows = rest if _is_head(first) else document.records
    head = _head(first if _is_head(first) else {})
    began = {"created": rows[0].get("created"), "said": rows[0].get("content")} if rows else {}
    # A file of the older form has its id for a name, and nothing else that says it.
    head = head._replace(session_id=head.session_id or readable(began))
    session = from_rows(head, rows, document.modified, skipped=document.skipped)
    return [session] if session else []


def _head(row: Record) -> Head:
    config = row.get("model_config")
    return Head(
        text(row.get("id")),
        text(row.get("name")) or text(row.get("description")),
        text(row.get("working_dir")),
        text(config.get("model_name")) if isinstance(config, dict) else "",
    )


def from_rows(
    head: Head, messages: list[Record], modified: datetime, *, skipped: int = 0, left: int = 0
) -> ImportedSession | None:
    """A session with its messages, wherever they were kept; None when nothing was said."""
    builder = SessionBuilder(NAME, modified)
    builder.title, builder.cwd, builder.skipped = head.title, head.cwd, skipped
    builder.leave_out(OTHER_RECORDS, left)
    hidden = False
    for message in messages:
        about = message.get("metadata")
        seen = about if isinstance(about, dict) else {}
        agent, user = seen.get("agentVisible") is not False, seen.get("userVisible") is not False
        if hidden and agent and not user and message.get("role") == "user":
            # What the model no longer sees became the summary that only the model sees.
            words = prompt_content(message.get("content")).text
            builder.compacted(words, read_time(message.get("created")))
            hidden = False
            continue
        hidden = not agent or (hidden and not user)
        builder.mark(text(message.get("id")))
        _say(builder, message, seen, head.model, by_program=not user)
    # Ids are a day and a number, and the same on every machine.
    began = readable(messages[0].get("created")) if messages else ""
    return None if builder.empty else builder.build(stable_id(NAME, head.session_id, began))


def _say(builder: SessionBuilder, message: Record, about: Record, model: str, *, by_program: bool) -> None:
    time = read_time(message.get("created"))
    blocks = list(blocks_of(message.get("content")))
    if message.get("role") == "assistant":
        inference = about.get("inference")
        names = inference if isinstance(inference, dict) else {}
        model = text(names.get("resolvedModel")) or text(names.get("requestedModel")) or model
        parts = [part for block in blocks for part in _parts(builder, block)]
        builder.reply(parts, time, model=model, usage=_usage(about.get("usage")))
    elif message.get("role") == "user":
        results = [_result(builder, block) for block in blocks if block.get("type") == "toolResponse"]
        if results:
            builder.results(results, time)
        for kind in (text(block.get("type")) for block in blocks):
            builder.leave_out(_LEFT_OUT.get(kind, ""), 1 if kind in _LEFT_OUT else 0)
        taken = ("toolResponse", *_LEFT_OUT)
        content = builder.counting(prompt_content([block for block in blocks if block.get("type") not in taken]))
        builder.prompt(content.text, time, images=content.images, by_program=by_program or bool(results))
    else:
        builder.skipped += 1
    builder.leave_out(EMPTY, 0 if blocks else 1)


def _parts(builder: SessionBuilder, block: Record) -> list[ModelResponsePart]:
    kind = text(block.get("type"))
    match kind:
        case "text":
            return said(block.get("text"))
        case "thinking" | "reasoning":
            return thought(block.get("thinking") or block.get("text"))
        case "toolRequest" | "frontendToolRequest":
            call = _inside(block.get("toolCall"))
            about = call if isinstance(call, dict) else {"arguments": {"error": readable(call)}}
            return [called(about.get("name"), about.get("arguments"), block.get("id"))]
        case _:
            builder.leave_out(_LEFT_OUT.get(kind, OTHER_PARTS))
            return []


def _inside(outcome: Any) -> Any:
    """What is in an outcome: the forms of several versions, and a bare value."""
    if isinstance(outcome, dict):
        for key in ("value", "Ok", "error", "Err"):
            if key in outcome:
                return outcome[key]
    return outcome


def _result(builder: SessionBuilder, block: Record) -> Result:
    outcome = block.get("toolResult")
    value = _inside(outcome)
    failed = isinstance(outcome, dict) and ("error" in outcome or "Err" in outcome)
    if isinstance(value, dict) and "content" in value:
        failed = failed or value.get("isError") is True
        value = value["content"]
    content = builder.counting(result_content(value))
    return Result(text(block.get("id")), content.text, "", failed, content.images)


def _usage(usage: Any) -> RequestUsage:
    return RequestUsage(
        input_tokens=count(usage, "inputTokens", "input_tokens"),
        output_tokens=count(usage, "outputTokens", "output_tokens"),
        cache_read_tokens=count(usage, "cacheReadTokens", "cache_read_tokens"),
        cache_write_tokens=count(usage, "cacheWriteTokens", "cache_write_tokens"),
    )


def is_database(database: Database) -> bool:
    messages = {"session_id", "role", "content_json", "created_timestamp"}
    return messages <= database.columns("messages") and {"id", "working_dir"} <= database.columns("sessions")


def load_database(database: Database) -> Iterator[ImportedSession]:
    rows = list(database.rows(f"SELECT {_columns(database)} FROM sessions ORDER BY id"))
    known = {text(row["id"]) for row in rows}
    inner: Counter[str] = Counter()
    for row in rows:
        if row.get("session_type") in _PART_OF_ANOTHER and text(row.get("parent_session_id")) in known:
            inner[text(row["parent_session_id"])] += 1
    for row in rows:
        if row.get("session_type") in _PART_OF_ANOTHER and text(row.get("parent_session_id")) in known:
            continue
        messages = [_message(found) for found in _messages(database, row["id"])]
        session = from_rows(_database_head(row), messages, database.modified)
        if session is not None:
            count = inner[text(row["id"])]
            yield session.but(left_out={**session.left_out, **({"sessions of sub-agents": count} if count else {})})


def _columns(database: Database) -> str:
    """Those that this version of the database has."""
    wanted = ("id", "name", "description", "working_dir", "session_type", "parent_session_id", "model_config_json")
    return ", ".join(name for name in wanted if name in database.columns("sessions"))


def _messages(database: Database, session_id: Any) -> Iterator[Row]:
    known = database.columns("messages")
    newer = ", ".join(f"{name if name in known else 'NULL'} AS {name}" for name in ("message_id", "metadata_json"))
    sql = f"SELECT role, content_json, created_timestamp, {newer} FROM messages"
    return database.rows(f"{sql} WHERE session_id = ? ORDER BY rowid", session_id)


def _message(row: Row) -> Record:
    created = row["created_timestamp"]
    return {
        "id": row["message_id"],
        "role": row["role"],
        "created": created if isinstance(created, int | float | str) else None,
        "content": _json(row["content_json"]),
        "metadata": _json(row["metadata_json"]),
    }


def _json(value: Any) -> Any:
    return json_value(value.encode(errors="replace")) if isinstance(value, str) else None


def _database_head(row: Row) -> Head:
    config = _json(row.get("model_config_json"))
    model = text(config.get("model_name")) if isinstance(config, dict) else ""
    title = text(row.get("name")) or text(row.get("description"))
    return Head(text(row["id"]), title, text(row.get("working_dir")), model)


IMPORTERS: Final = (DocumentImporter("Goose", recognises, load), DatabaseImporter("Goose", is_database, load_database))
