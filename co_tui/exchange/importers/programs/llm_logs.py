"""Conversations of llm, from its database of responses."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pydantic_ai.messages import BinaryContent, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.events.storable import storable
from co_tui.exchange.image_blocks import image_from
from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.database import Database, Row
from co_tui.exchange.importers.foreign_values import count, read_time, readable, text
from co_tui.exchange.importers.imported import ImportedSession, stable_id
from co_tui.exchange.importers.importer import DatabaseImporter
from co_tui.inert import one_line

NAME: Final = "llm"


def recognises(database: Database) -> bool:
    return {"prompt", "response", "conversation_id"} <= database.columns("responses")


def load(database: Database) -> Iterator[ImportedSession]:
    """Each conversation; a response that belongs to none is one of its own."""
    names = {row.get("id"): row for row in database.rows("SELECT * FROM conversations")}
    order = "SELECT * FROM responses ORDER BY conversation_id, datetime_utc, rowid"
    group: list[Row] = []
    for row in database.rows(order):
        if group and not (row["conversation_id"] and row["conversation_id"] == group[0]["conversation_id"]):
            yield from _session(database, group, names)
            group = []
        group.append(row)
    if group:
        yield from _session(database, group, names)


def _session(database: Database, rows: list[Row], names: dict[Any, Row]) -> Iterator[ImportedSession]:
    builder = SessionBuilder(NAME, database.modified)
    named = names.get(rows[0]["conversation_id"])
    builder.title = _text(named.get("name")) if named is not None else ""
    system = ""
    for row in rows:
        time = read_time(row.get("datetime_utc"))
        if (instructions := _text(row.get("system"))) and instructions != system:
            builder.system(instructions, time)
            system = instructions
        _exchange(builder, database, row, time)
    if not builder.empty:
        yield builder.build(stable_id(NAME, str(rows[0]["conversation_id"] or rows[0].get("id"))))


def _exchange(builder: SessionBuilder, database: Database, row: Row, time: datetime | None) -> None:
    if results := list(_results(database, row.get("id"))):
        builder.results(results, time)
    names, images = _attachments(database, row.get("id"))
    texts = (*_fragments(database, row.get("id")), _text(row["prompt"]), *names)
    builder.prompt("\n\n".join(filter(None, texts)), time, images=images)
    thought = _text(row.get("reasoning"))
    said = _text(row["response"])
    parts: list[ModelResponsePart] = [
        *([ThinkingPart(thought)] if thought else []),
        *([TextPart(said)] if said else []),
        *_calls(database, row.get("id")),
    ]
    usage = RequestUsage(input_tokens=count(row, "input_tokens"), output_tokens=count(row, "output_tokens"))
    builder.reply(parts, time, model=_text(row.get("model")), usage=usage)


def _results(database: Database, response_id: Any) -> Iterator[Result]:
    if not database.columns("tool_results"):
        return
    for row in database.rows("SELECT * FROM tool_results WHERE response_id = ? ORDER BY id", response_id):
        failed = bool(row.get("exception"))
        yield Result(
            _text(row.get("tool_call_id")), readable(storable(row.get("output"))), _text(row.get("name")), failed
        )


def _calls(database: Database, response_id: Any) -> Iterator[ToolCallPart]:
    if not database.columns("tool_calls"):
        return
    for row in database.rows("SELECT * FROM tool_calls WHERE response_id = ? ORDER BY id", response_id):
        yield ToolCallPart(
            _text(row.get("name")) or "tool", _arguments(row.get("arguments")), _text(row.get("tool_call_id"))
        )


def _arguments(given: Any) -> dict[str, Any] | str:
    try:
        read = json.loads(given)
    except (TypeError, ValueError, RecursionError):
        return {}
    return storable(read) if isinstance(read, dict) else {}


def _fragments(database: Database, response_id: Any) -> Iterator[str]:
    if not database.columns("prompt_fragments"):
        return
    pieces = (
        "SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id"
        ' WHERE p.response_id = ? ORDER BY p."order"'
    )
    for row in database.rows(pieces, response_id):
        yield _text(row["content"])


def _attachments(database: Database, response_id: Any) -> tuple[list[str], list[BinaryContent]]:
    """The files of a prompt: the names of those that lie elsewhere, and the images that are here."""
    names: list[str] = []
    images: list[BinaryContent] = []
    if not database.columns("prompt_attachments"):
        return names, images
    sought = (
        "SELECT a.* FROM prompt_attachments p JOIN attachments a ON a.id = p.attachment_id"
        ' WHERE p.response_id = ? ORDER BY p."order"'
    )
    for row in database.rows(sought, response_id):
        if (image := image_from(row.get("content"))) is not None:
            images.append(image)
        else:
            name = _text(row.get("url")) or _text(row.get("path")) or _text(row.get("type")) or "a file"
            names.append(f"[attachment: {one_line(name, 300)}]")
    return names, images


def _text(value: Any) -> str:
    return text(storable(value))


IMPORTER: Final = DatabaseImporter("llm", recognises, load)
