"""Sessions of opencode: a database, or a folder with a file for each session, message and part, or an export.

Versions before 0.6 kept one such folder a project, with everything in its `session` folder.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.events.storable import storable
from co_tui.exchange.file_blocks import file_of, files_in
from co_tui.exchange.importers.builder import NO_USAGE, Place, Result, SessionBuilder
from co_tui.exchange.importers.database import Database, Row
from co_tui.exchange.importers.foreign_files import Document, Record, read_value
from co_tui.exchange.importers.foreign_values import (
    EMPTY_REPLIES,
    ERROR_MESSAGES,
    FILE_SNAPSHOTS,
    OTHER_PARTS,
    OTHER_RECORDS,
    count,
    objects,
    read_time,
    readable,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused
from co_tui.exchange.importers.importer import DatabaseImporter, DocumentImporter
from co_tui.inert import one_line
from co_tui.store.session_ids import stable_id

NAME: Final = "opencode"
_MAX_FILES: Final = 200_000
NAME_CHARS: Final = 300
"""Of a file: its address may hold all of it."""
_NO_OUTPUT_YET: Final = ("pending", "running")
_SPOKEN: Final = ("text", "reasoning", "tool")
_BOOKKEEPING: Final = ("step-start", "step-finish", "compaction", "agent")
"""Parts that say nothing of their own; an agent is named in the text too."""
_LEFT_OUT: Final = {
    "snapshot": FILE_SNAPSHOTS,
    "patch": "file changes",
    "retry": ERROR_MESSAGES,
    "file": "attached files",
}


class StoredMessage(NamedTuple):
    """A message with its parts, wherever they were kept."""

    info: Record
    parts: list[Record]


def recognises(document: Document) -> bool:
    record = document.records[0]
    return _is_info(record) or _is_export(record) or _is_piece(record) or _is_in_project(document)


def _is_info(record: Record) -> bool:
    return "projectID" in record and "directory" in record and isinstance(record.get("time"), dict)


def _is_export(record: Record) -> bool:
    return isinstance(info := record.get("info"), dict) and _is_info(info) and isinstance(record.get("messages"), list)


def _is_piece(record: Record) -> bool:
    """A message or a part on its own."""
    times = record.get("time")
    is_bare_part = record.get("type") in ("text", "reasoning") and isinstance(times, dict) and "start" in times
    return "sessionID" in record or "messageID" in record or is_bare_part


def load(document: Document) -> list[ImportedSession]:
    """Raises `ImportRefused` for a file that is only a piece of a session."""
    record = document.records[0]
    if _is_export(record):
        messages = [
            StoredMessage(info if isinstance(info := each.get("info"), dict) else {}, list(objects(each.get("parts"))))
            for each in objects(record["messages"])
        ]
        return _session(record["info"], messages, document.modified)
    if _is_in_project(document):
        session = document.path.absolute().parent.parent
        return _session(record, _project_messages(session, text(record.get("id"))), document.modified)
    if not _is_info(record):
        raise ImportRefused(
            f"{document.path} is only part of an opencode session. "
            "Import storage/session, the storage folder, or opencode.db."
        )
    storage = document.path.absolute().parent.parent.parent
    return _session(record, _stored_messages(storage, text(record.get("id"))), document.modified)


def _is_in_project(document: Document) -> bool:
    """Whether it is about a session of a version that kept its sessions by project."""
    folder, record = document.path.absolute().parent, document.records[0]
    is_there = folder.name == "info" and folder.parent.name == "session"
    return is_there and isinstance(record.get("id"), str) and isinstance(record.get("time"), dict)


def is_storage(folder: Path) -> bool:
    return (folder / "session").is_dir() and ((folder / "message").is_dir() or _by_project(folder).is_dir())


def _by_project(storage: Path) -> Path:
    return storage / "session" / "info"


def load_storage(folder: Path) -> list[ImportedSession]:
    """Every session of a storage folder."""
    found: list[ImportedSession] = []
    is_by_project = _by_project(folder).is_dir()
    for file in sorted((_by_project(folder) if is_by_project else folder / "session").rglob("*.json"))[:_MAX_FILES]:
        info = read_value(file)
        if not isinstance(info, dict):
            continue
        if is_by_project:
            found += _session(info, _project_messages(folder / "session", text(info.get("id"))), datetime.now(UTC))
        elif _is_info(info):
            found += _session(info, _stored_messages(folder, text(info.get("id"))), datetime.now(UTC))
    return found


def _project_messages(session: Path, session_id: str) -> list[StoredMessage]:
    infos = [_with_metadata(_read(file)) for file in _files(session / "message", session_id)]
    parts = session / "part" / session_id if _is_name(session_id) else session
    return [StoredMessage(info, _parts_in(parts, id) or _parts_inside(info)) for info, id in _named(infos)]


def _with_metadata(info: Record) -> Record:
    """A message of the first versions, with its time and its model where later ones have them."""
    about = info.get("metadata")
    if not isinstance(about, dict):
        return info
    by = about.get("assistant")
    return {**(by if isinstance(by, dict) else {}), **info, "time": about.get("time")}


def _parts_inside(info: Record) -> list[Record]:
    """The parts that the first versions kept in the message itself."""
    return [_later_form(part) for part in objects(info.get("parts"))]


def _later_form(part: Record) -> Record:
    call = part.get("toolInvocation")
    if not isinstance(call, dict):
        return part
    status = "completed" if call.get("state") == "result" else "running"
    state = {"status": status, "input": call.get("args"), "output": call.get("result")}
    return {"type": "tool", "callID": call.get("toolCallId"), "tool": call.get("toolName"), "state": state}


def _stored_messages(storage: Path, session_id: str) -> list[StoredMessage]:
    infos = [_read(file) for file in _files(storage / "message", session_id)]
    loose = _loose_parts(storage)
    return [
        StoredMessage(info, [*(loose.get(id, ()) if id else ()), *_parts_in(storage / "part", id)])
        for info, id in _named(infos)
    ]


def _named(infos: list[Record]) -> Iterator[tuple[Record, str]]:
    """The messages in order, each with the name that its parts are kept under, if any."""
    first = datetime.min.replace(tzinfo=UTC)
    for info in sorted(infos, key=lambda info: (_created(info) or first, text(info.get("id")))):
        name = text(info.get("id"))
        yield info, name if _is_name(name) else ""


def _read(file: Path) -> Record:
    """What a file holds; a damaged one holds nothing that is known, and is counted so."""
    value = read_value(file)
    return value if isinstance(value, dict) else {}


def _files(folder: Path, id: str) -> list[Path]:
    """Ids come from the files: none of them may lead out of the folder."""
    return sorted((folder / id).glob("*.json"))[:_MAX_FILES] if _is_name(id) else []


def _is_name(id: str) -> bool:
    return bool(id) and id not in (".", "..") and "/" not in id and "\\" not in id


def _parts_in(folder: Path, id: str) -> list[Record]:
    return [_read(file) for file in _files(folder, id)]


def _loose_parts(storage: Path) -> dict[str, list[Record]]:
    """Of the first versions, which kept all parts in one folder."""
    found: dict[str, list[Record]] = {}
    for part in _parts_in(storage, "part"):
        found.setdefault(text(part.get("messageID")), []).append(part)
    return found


def from_rows(info: Record, messages: list[StoredMessage], modified: datetime) -> list[ImportedSession]:
    """A session as the database keeps it."""
    return _session(info, messages, modified)


def _session(info: Record, messages: list[StoredMessage], modified: datetime) -> list[ImportedSession]:
    builder = SessionBuilder(NAME, _created(info) or modified)
    builder.title = text(info.get("title"))
    builder.cwd = text(info.get("directory")) or next(filter(None, map(_folder_of, messages)), "")
    tail = ""
    begun = False
    messages, undone = _divided(messages, info.get("revert"))
    kept: Place | None = None
    for number, message in enumerate((*messages, *undone)):
        kept = builder.place if number == len(messages) else kept
        builder.mark(text(message.info.get("id")))
        boundary = next((part for part in message.parts if part.get("type") == "compaction"), None)
        if message.info.get("role") == "user":
            _prompt(builder, message)
        elif message.info.get("role") != "assistant":
            builder.leave_out(OTHER_RECORDS)
        elif message.info.get("summary") is True:
            builder.compacted(_texts(message.parts), _created(message.info), kept_from=tail)
            _count_left_out(builder, message.parts, "text")
            begun = False
        else:
            _reply(builder, message)
        if boundary is not None:
            begun, tail = True, text(boundary.get("tail_start_id"))
    if begun:
        builder.compacted("", None)
    if undone:
        builder.go_back(kept)
    identity = text(info.get("id"))
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _divided(messages: list[StoredMessage], revert: Any) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """What counts, and what the user undid: all from a message on, or from a part of it. It is kept until the next
    prompt."""
    first = text(revert.get("messageID")) if isinstance(revert, dict) else ""
    place = next((n for n, each in enumerate(messages) if first and text(each.info.get("id")) == first), len(messages))
    if place == len(messages):
        return messages, []
    message, part = messages[place], text(revert.get("partID"))
    cut = next((n for n, each in enumerate(message.parts) if part and text(each.get("id")) == part), 0)
    kept = [message._replace(parts=message.parts[:cut])] if cut else []
    return [*messages[:place], *kept], [message._replace(parts=message.parts[cut:]), *messages[place + 1 :]]


def _folder_of(message: StoredMessage) -> str:
    path = message.info.get("path")
    return text(path.get("cwd")) if isinstance(path, dict) else ""


def _created(info: Record) -> datetime | None:
    times = info.get("time")
    return read_time(times.get("created")) if isinstance(times, dict) else None


def _texts(parts: list[Record]) -> str:
    return "\n".join(text(part.get("text")) for part in parts if part.get("type") == "text" and text(part.get("text")))


def _count_left_out(builder: SessionBuilder, parts: list[Record], *carried: str) -> None:
    for part in parts:
        kind = text(part.get("type"))
        if kind not in carried and kind not in _BOOKKEEPING:
            builder.leave_out(_LEFT_OUT.get(kind, OTHER_PARTS))


def _prompt(builder: SessionBuilder, message: StoredMessage) -> None:
    _count_left_out(builder, message.parts, "text", "file", "subtask")
    files = [part for part in message.parts if part.get("type") == "file"]
    others = [text(part.get("filename") or part.get("url")) for part in files if file_of(part) is None]
    if inside := sum(text(part.get("url")).startswith("data:") for part in files if file_of(part) is None):
        builder.leave_out("attached files", inside)
    asked = (text(part.get("prompt")) for part in message.parts if part.get("type") == "subtask")
    said = "\n".join(filter(None, (_texts(message.parts), *asked))) or _told_body(message.info)
    prompt = "\n".join(filter(None, (said, *(f"[file: {one_line(name, NAME_CHARS)}]" for name in others))))
    builder.prompt(prompt, _created(message.info), images=files_in(files))


def _told_body(info: Record) -> str:
    """The first versions kept a prompt's text in its summary as well, and some files have lost the part."""
    summary = info.get("summary")
    return text(summary.get("body")) if isinstance(summary, dict) else ""


def _reply(builder: SessionBuilder, message: StoredMessage) -> None:
    """A message may hold several steps: words after a call were said once its result was there."""
    steps = list(_steps(message.parts))
    error = message.info.get("error")
    aborted = isinstance(error, dict) and error.get("name") == "MessageAbortedError"
    _count_left_out(builder, message.parts, *_SPOKEN)
    if error and not aborted:
        builder.leave_out(ERROR_MESSAGES)
    elif not steps:
        builder.leave_out(EMPTY_REPLIES)
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        calls = [part for part in step if part.get("type") == "tool"]
        builder.reply(
            [part for each in step if (part := _part(each)) is not None],
            _created(message.info),
            model=_model(message.info),
            provider=_provider(message.info),
            usage=_usage(message.info.get("tokens")) if last else NO_USAGE,
            interrupted=aborted and last,
        )
        for call in calls:
            _answer(builder, call)


def _steps(parts: list[Record]) -> Iterator[list[Record]]:
    step: list[Record] = []
    for part in parts:
        if part.get("type") not in _SPOKEN:
            continue
        if step and step[-1].get("type") == "tool" and part.get("type") != "tool":
            yield step
            step = []
        step.append(part)
    if step:
        yield step


def _part(part: Record) -> ModelResponsePart | None:
    said = text(part.get("text"))
    match part.get("type"):
        case "text":
            return TextPart(said) if said else None
        case "reasoning":
            return ThinkingPart(said) if said else None
        case _:
            given = _state(part).get("input")
            arguments = given if isinstance(given, dict) else {}
            return ToolCallPart(text(part.get("tool")) or "tool", arguments, text(part.get("callID")))


def _answer(builder: SessionBuilder, part: Record) -> None:
    state = _state(part)
    if state.get("status") in _NO_OUTPUT_YET:
        return
    failed = state.get("status") == "error"
    content = readable(state.get("error") if failed else state.get("output"))
    times = state.get("time")
    time = read_time(times.get("end")) if isinstance(times, dict) else None
    images = files_in(objects(state.get("attachments")))
    builder.results([Result(text(part.get("callID")), content, text(part.get("tool")), failed, images)], time)


def _state(part: Record) -> Record:
    state = part.get("state")
    return state if isinstance(state, dict) else {}


def _model(info: Record) -> str:
    model = info.get("model")
    return text(info.get("modelID")) or (text(model.get("modelID")) if isinstance(model, dict) else "")


def _provider(info: Record) -> str:
    model = info.get("model")
    return text(info.get("providerID")) or (text(model.get("providerID")) if isinstance(model, dict) else "")


def _usage(tokens: Any) -> RequestUsage:
    cache = tokens.get("cache") if isinstance(tokens, dict) else None
    cached, made = count(cache, "read"), count(cache, "write")
    return RequestUsage(
        input_tokens=count(tokens, "input") + cached + made,
        output_tokens=count(tokens, "output") + count(tokens, "reasoning"),
        cache_read_tokens=cached,
        cache_write_tokens=made,
    )


def is_database(database: Database) -> bool:
    return {"session_id", "data"} <= database.columns("message") and {"message_id", "data"} <= database.columns("part")


def load_database(database: Database) -> Iterator[ImportedSession]:
    wanted = ("id", "parent_id", "title", "directory", "revert", "time_created")
    for row in database.select("session", wanted, "ORDER BY id"):
        yield from from_rows(_session_info(row), _database_messages(database, row["id"]), database.modified)


def _session_info(row: Row) -> Record:
    info: Record = {key: storable(value) for key, value in row.items() if not isinstance(value, bytes)}
    revert = _read_object(info.get("revert"))
    return {**info, "revert": revert, "time": {"created": info.get("time_created")}}


def _database_messages(database: Database, session_id: Any) -> list[StoredMessage]:
    parts: dict[str, list[Record]] = {}
    mine = "WHERE session_id = ? ORDER BY"
    for row in database.select("part", ("id", "message_id", "data"), f"{mine} id", session_id):
        parts.setdefault(str(row["message_id"]), []).append(_object(row))
    rows = database.select("message", ("id", "data"), f"{mine} time_created, id", session_id)
    return [StoredMessage(_object(row), parts.get(str(row["id"]), [])) for row in rows]


def _object(row: Row) -> Record:
    return {"id": str(row["id"]), **_read_object(row["data"])}


def _read_object(value: Any) -> Record:
    """The object in a column; an empty one when it holds something else."""
    try:
        read = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return {}
    return storable(read) if isinstance(read, dict) else {}


IMPORTERS: Final = (
    DocumentImporter("opencode", recognises, load),
    DatabaseImporter("opencode", is_database, load_database),
)
