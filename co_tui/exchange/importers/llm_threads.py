"""Threads of llm's message store, which replaced its table of responses: messages that each name the one before."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic_ai.messages import BinaryContent, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.events.storable import storable
from co_tui.exchange.file_blocks import file_from
from co_tui.exchange.importers.builder import NO_USAGE, Result, SessionBuilder
from co_tui.exchange.importers.database import Database, Row
from co_tui.exchange.importers.foreign_values import HIDDEN_THINKING, OTHER_PARTS, count, read_time, readable, text
from co_tui.inert import one_line

NAME_CHARS: Final = 300
MAX_MESSAGES: Final = 200_000
_TURN: Final = (
    *("tip_message_hash", "parent_message_hash", "datetime_utc"),
    *("input_tokens", "output_tokens", "resolved_model", "model"),
)


def has_threads(database: Database) -> bool:
    return "tip_message_hash" in database.columns("threads") and "parent_hash" in database.columns("messages")


def threads(database: Database) -> Iterator[tuple[str, SessionBuilder]]:
    """Each thread that holds something, under its id."""
    for thread in database.select("threads", ("id", "name", "datetime_utc", "tip_message_hash"), "ORDER BY id"):
        builder = SessionBuilder("llm", database.modified)
        builder.title = text(storable(thread.get("name")))
        builder.start(read_time(thread.get("datetime_utc")))
        turns = {row.get("tip_message_hash"): row for row in _turns(database, thread.get("id"))}
        times = {row.get("parent_message_hash"): row.get("datetime_utc") for row in turns.values()}
        for message in _chain(database, thread.get("tip_message_hash")):
            builder.mark(str(message["hash"]))
            time = times.get(message["hash"]) or turns.get(message["hash"], {}).get("datetime_utc")
            _say(builder, database, message, turns.get(message["hash"], {}), read_time(time))
        if not builder.empty:
            yield str(thread.get("id")), builder


def _turns(database: Database, thread_id: Any) -> Iterator[Row]:
    return database.select("turns", _TURN, "WHERE thread_id = ? ORDER BY id", thread_id)


def _chain(database: Database, tip: Any) -> list[Row]:
    """The messages that lead to the tip, the oldest first."""
    found: dict[Any, Row] = {}
    while tip and tip not in found and len(found) < MAX_MESSAGES:
        row = next(database.select("messages", ("hash", "parent_hash", "role"), "WHERE hash = ?", tip), None)
        if row is None:
            break
        found[tip] = row
        tip = row.get("parent_hash")
    return list(reversed(found.values()))


def _say(builder: SessionBuilder, database: Database, message: Row, turn: Row, time: Any) -> None:
    order = "WHERE message_hash = ? ORDER BY position"
    parts = list(database.select("parts", ("id", "type", "text", "payload", "tool_name"), order, message["hash"]))
    results = [_result(part) for part in parts if part.get("type") == "tool_result"]
    if results:
        builder.results(results, time)
    rest = [part for part in parts if part.get("type") != "tool_result"]
    if message.get("role") == "assistant":
        said = [found for part in rest for found in _reply_parts(builder, database, part)]
        usage = RequestUsage(input_tokens=count(turn, "input_tokens"), output_tokens=count(turn, "output_tokens"))
        model = text(storable(turn.get("resolved_model"))) or text(storable(turn.get("model")))
        builder.reply(said, time, model=model, usage=usage if turn else NO_USAGE)
    elif message.get("role") == "system":
        builder.system("\n\n".join(_text_of(database, part) for part in rest), time)
    else:
        texts, images = _prompt(builder, database, rest)
        builder.prompt("\n\n".join(filter(None, texts)), time, images=images)


def _reply_parts(builder: SessionBuilder, database: Database, part: Row) -> Iterator[ModelResponsePart]:
    said, kind = _text_of(database, part), part.get("type")
    if kind == "tool_call":
        about = _payload(part)
        given = about.get("arguments")
        name = text(about.get("name")) or text(storable(part.get("tool_name"))) or "tool"
        yield ToolCallPart(name, given if isinstance(given, dict) else {}, text(about.get("tool_call_id")))
    elif kind == "text" and said:
        yield TextPart(said)
    elif kind == "reasoning" and said:
        yield ThinkingPart(said)
    elif kind != "text":
        builder.leave_out(HIDDEN_THINKING if kind == "reasoning" else OTHER_PARTS)


def _result(part: Row) -> Result:
    about = _payload(part)
    name = text(about.get("name")) or text(storable(part.get("tool_name")))
    failed = text(about.get("exception"))
    said = text(storable(part.get("text"))) or readable(about.get("output")) or failed
    return Result(text(about.get("tool_call_id")), said, name, bool(failed))


def _prompt(builder: SessionBuilder, database: Database, parts: Iterable[Row]) -> tuple[list[str], list[BinaryContent]]:
    texts: list[str] = []
    images: list[BinaryContent] = []
    for part in parts:
        if part.get("type") == "attachment":
            names, found = attachments(builder, attached(database, "part_attachments", "part_id", part.get("id")))
            texts += names
            images += found
        elif part.get("type") == "text":
            texts.append(_text_of(database, part))
        else:
            builder.leave_out(OTHER_PARTS)
    return texts, images


def attached(database: Database, links: str, key: str, identity: Any) -> Iterator[Row]:
    """The attachments that a table links to a part or a response."""
    known = database.columns("attachments")
    named = ", ".join(f"a.{name}" for name in ("url", "path", "type", "content") if name in known)
    joined = f"{links} p JOIN attachments a ON a.id = p.attachment_id"
    if named and database.columns(links):
        yield from database.rows(f'SELECT {named} FROM {joined} WHERE p.{key} = ? ORDER BY p."order"', identity)


def attachments(builder: SessionBuilder, rows: Iterable[Row]) -> tuple[list[str], list[BinaryContent]]:
    """Files of a prompt: the names of those that are elsewhere, and the images that are here."""
    names: list[str] = []
    images: list[BinaryContent] = []
    for row in rows:
        if (image := file_from(row.get("content"))) is not None:
            images.append(image)
            continue
        known = (text(storable(row.get(key))) for key in ("url", "path", "type"))
        names.append(f"[attachment: {one_line(next(filter(None, known), 'a file'), NAME_CHARS)}]")
        if row.get("content"):
            builder.leave_out("attached files")
    return names, images


def _text_of(database: Database, part: Row) -> str:
    """Its text; pieces that are kept as fragments are put back in."""
    if said := text(storable(part.get("text"))):
        return said
    about = _payload(part)
    pieces = about.get("text_ref")
    if not isinstance(pieces, list):
        return text(about.get("text"))
    return "".join(_piece(database, piece) for piece in pieces if isinstance(piece, dict))


def _piece(database: Database, piece: dict[str, Any]) -> str:
    if "fragment" not in piece or not database.columns("fragments"):
        return text(piece.get("literal"))
    row = next(database.rows("SELECT content FROM fragments WHERE id = ?", readable(piece["fragment"])), None)
    return text(storable(row["content"])) if row else ""


def _payload(part: Row) -> dict[str, Any]:
    try:
        read = storable(json.loads(part.get("payload") or "{}"))
    except (TypeError, ValueError, RecursionError):
        read = {}
    return read if isinstance(read, dict) else {}
