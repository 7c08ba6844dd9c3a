"""Conversations of llm, from its database: the table of responses, and the threads that newer versions write."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.events.storable import storable
from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.database import Database, Row
from co_tui.exchange.importers.foreign_values import EMPTY_REPLIES, count, read_time, readable, text
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DatabaseImporter
from co_tui.exchange.importers.llm_threads import attached, attachments, has_threads, threads
from co_tui.store.session_ids import stable_id

NAME: Final = "llm"
_RESPONSE: Final = (
    *("id", "conversation_id", "datetime_utc", "model", "system", "prompt", "response", "reasoning", "schema_id"),
    *("input_tokens", "output_tokens", "token_details"),
)


def recognises(database: Database) -> bool:
    return _has_responses(database) or has_threads(database)


def _has_responses(database: Database) -> bool:
    return {"prompt", "response", "conversation_id"} <= database.columns("responses")


def load(database: Database) -> Iterator[ImportedSession]:
    """Each conversation of both generations."""
    if _has_responses(database):
        yield from _conversations(database)
    if has_threads(database):
        for thread_id, builder in threads(database):
            yield builder.build(stable_id(NAME, thread_id))


def _conversations(database: Database) -> Iterator[ImportedSession]:
    """Each conversation; a response that belongs to none is one of its own."""
    names = {row.get("id"): row for row in database.select("conversations", ("id", "name"))}
    group: list[Row] = []
    for row in database.select("responses", _RESPONSE, "ORDER BY conversation_id, datetime_utc, rowid"):
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
        builder.mark(str(row.get("id") or ""))
        instructions = "\n\n".join(filter(None, (*_fragments(database, row, "system"), _text(row.get("system")))))
        if instructions and instructions != system:
            builder.system(instructions, time)
            system = instructions
        _exchange(builder, database, row, time)
    if not builder.empty:
        yield builder.build(stable_id(NAME, str(rows[0]["conversation_id"] or rows[0].get("id"))))


def _exchange(builder: SessionBuilder, database: Database, row: Row, time: datetime | None) -> None:
    if results := list(_results(database, row.get("id"))):
        builder.results(results, time)
    names, images = attachments(builder, attached(database, "prompt_attachments", "response_id", row.get("id")))
    texts = (*_fragments(database, row, "prompt"), _text(row["prompt"]), *names)
    builder.prompt("\n\n".join(filter(None, texts)), time, images=images)
    thought = _text(row.get("reasoning"))
    said = _text(row["response"])
    parts: list[ModelResponsePart] = [
        *([ThinkingPart(thought)] if thought else []),
        *([TextPart(said)] if said else []),
        *_calls(database, row.get("id")),
    ]
    if not parts:
        builder.leave_out(EMPTY_REPLIES)
    if row.get("schema_id"):
        builder.leave_out("schemas")
    usage = RequestUsage(
        input_tokens=count(row, "input_tokens"),
        output_tokens=count(row, "output_tokens"),
        cache_read_tokens=_cached(row.get("token_details")),
    )
    builder.reply(parts, time, model=_text(row.get("model")), usage=usage)


def _results(database: Database, response_id: Any) -> Iterator[Result]:
    wanted = ("id", "tool_call_id", "name", "output", "exception")
    for row in database.select("tool_results", wanted, "WHERE response_id = ? ORDER BY id", response_id):
        failed = _text(row.get("exception"))
        said = readable(storable(row.get("output"))) or failed
        yield Result(_text(row.get("tool_call_id")), said, _text(row.get("name")), bool(failed))


def _calls(database: Database, response_id: Any) -> Iterator[ToolCallPart]:
    wanted = ("tool_call_id", "name", "arguments")
    for row in database.select("tool_calls", wanted, "WHERE response_id = ? ORDER BY id", response_id):
        yield ToolCallPart(
            _text(row.get("name")) or "tool", _arguments(row.get("arguments")), _text(row.get("tool_call_id"))
        )


def _arguments(given: Any) -> dict[str, Any] | str:
    try:
        read = json.loads(given)
    except (TypeError, ValueError, RecursionError):
        return {}
    return storable(read) if isinstance(read, dict) else {}


def _fragments(database: Database, row: Row, kind: str) -> Iterator[str]:
    """The texts that a prompt or a system prompt was given by name."""
    if not database.columns(f"{kind}_fragments"):
        return
    pieces = (
        f"SELECT f.content FROM {kind}_fragments p JOIN fragments f ON f.id = p.fragment_id"
        ' WHERE p.response_id = ? ORDER BY p."order"'
    )
    for found in database.rows(pieces, row.get("id")):
        yield _text(found["content"])


def _cached(details: Any) -> int:
    about = _arguments(details)
    held = about.get("prompt_tokens_details") if isinstance(about, dict) else None
    return count(held, "cached_tokens") or count(about, "cached_tokens", "cache_read_input_tokens")


def _text(value: Any) -> str:
    return text(storable(value))


IMPORTERS: Final = (DatabaseImporter("llm", recognises, load),)
