"""Sessions of opencode: a database, or a folder with a file for each session, message and part, or an export."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.image_blocks import image_of, images_in
from co_tui.exchange.importers.builder import NO_USAGE, Result, SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record, read_value
from co_tui.exchange.importers.foreign_values import count, objects, read_time, readable, text
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused, stable_id
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.inert import one_line

NAME: Final = "opencode"
_MAX_FILES: Final = 200_000
NAME_CHARS: Final = 300
"""Of a file: its address may hold all of it."""
_NO_OUTPUT_YET: Final = ("pending", "running")


class StoredMessage(NamedTuple):
    """A message with its parts, wherever they were kept."""

    info: Record
    parts: list[Record]


def recognises(document: Document) -> bool:
    return any(_is_info(record) or _is_export(record) or _is_piece(record) for record in document.records[:1])


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
            StoredMessage(info, list(objects(each.get("parts"))))
            for each in objects(record["messages"])
            if isinstance(info := each.get("info"), dict)
        ]
        return _session(record["info"], messages, document.modified)
    if not _is_info(record):
        raise ImportRefused(
            f"{document.path} is only part of an opencode session. "
            "Import storage/session, the storage folder, or opencode.db."
        )
    storage = document.path.absolute().parent.parent.parent
    return _session(record, _stored_messages(storage, text(record.get("id"))), document.modified)


def is_storage(folder: Path) -> bool:
    return (folder / "session").is_dir() and (folder / "message").is_dir()


def load_storage(folder: Path) -> list[ImportedSession]:
    """Every session of a storage folder."""
    found: list[ImportedSession] = []
    for file in sorted((folder / "session").rglob("*.json"))[:_MAX_FILES]:
        info = read_value(file)
        if isinstance(info, dict) and _is_info(info):
            found += _session(info, _stored_messages(folder, text(info.get("id"))), datetime.now(UTC))
    return found


def _stored_messages(storage: Path, session_id: str) -> list[StoredMessage]:
    infos = [value for file in _files(storage / "message", session_id) if isinstance(value := read_value(file), dict)]
    loose = _loose_parts(storage)
    return [StoredMessage(info, [*loose.get(id, ()), *_parts_in(storage / "part", id)]) for info, id in _named(infos)]


def _named(infos: list[Record]) -> Iterator[tuple[Record, str]]:
    for info in sorted(infos, key=lambda info: (_created(info) or datetime.min.replace(tzinfo=UTC), text(info["id"]))):
        if _is_name(id := text(info.get("id"))):
            yield info, id


def _files(folder: Path, id: str) -> list[Path]:
    """Ids come from the files: none of them may lead out of the folder."""
    return sorted((folder / id).glob("*.json"))[:_MAX_FILES] if _is_name(id) else []


def _is_name(id: str) -> bool:
    return bool(id) and id not in (".", "..") and "/" not in id and "\\" not in id


def _parts_in(folder: Path, id: str) -> list[Record]:
    return [value for file in _files(folder, id) if isinstance(value := read_value(file), dict)]


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
    builder.title, builder.cwd = text(info.get("title")), text(info.get("directory"))
    tail = ""
    begun = False
    for message in messages:
        builder.mark(text(message.info.get("id")))
        boundary = next((part for part in message.parts if part.get("type") == "compaction"), None)
        if message.info.get("role") == "user":
            _prompt(builder, message)
        elif message.info.get("summary") is True:
            builder.compacted(_texts(message.parts), _created(message.info), kept_from=tail)
            begun = False
        else:
            _reply(builder, message)
        if boundary is not None:
            begun, tail = True, text(boundary.get("tail_start_id"))
    if begun:
        builder.compacted("", None)
    identity = text(info.get("id"))
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _created(info: Record) -> datetime | None:
    times = info.get("time")
    return read_time(times.get("created")) if isinstance(times, dict) else None


def _texts(parts: list[Record]) -> str:
    return "\n".join(text(part.get("text")) for part in parts if part.get("type") == "text" and text(part.get("text")))


def _prompt(builder: SessionBuilder, message: StoredMessage) -> None:
    files = [part for part in message.parts if part.get("type") == "file"]
    others = (text(part.get("filename") or part.get("url")) for part in files if image_of(part) is None)
    said = _texts(message.parts) or _told_body(message.info)
    prompt = "\n".join(filter(None, (said, *(f"[file: {one_line(name, NAME_CHARS)}]" for name in others))))
    builder.prompt(prompt, _created(message.info), images=images_in(files))


def _told_body(info: Record) -> str:
    """The first versions kept a prompt's text in its summary as well, and some files have lost the part."""
    summary = info.get("summary")
    return text(summary.get("body")) if isinstance(summary, dict) else ""


def _reply(builder: SessionBuilder, message: StoredMessage) -> None:
    """A message may hold several steps: words after a call were said once its result was there."""
    steps = list(_steps(message.parts))
    error = message.info.get("error")
    aborted = isinstance(error, dict) and error.get("name") == "MessageAbortedError"
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        calls = [part for part in step if part.get("type") == "tool"]
        builder.reply(
            [part for each in step if (part := _part(each)) is not None],
            _created(message.info),
            model=_model(message.info),
            usage=_usage(message.info.get("tokens")) if last else NO_USAGE,
            interrupted=aborted and last,
        )
        for call in calls:
            _answer(builder, call)


def _steps(parts: list[Record]) -> Iterator[list[Record]]:
    step: list[Record] = []
    for part in parts:
        if part.get("type") not in ("text", "reasoning", "tool"):
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
    images = images_in(objects(state.get("attachments")))
    builder.results([Result(text(part.get("callID")), content, text(part.get("tool")), failed, images)], time)


def _state(part: Record) -> Record:
    state = part.get("state")
    return state if isinstance(state, dict) else {}


def _model(info: Record) -> str:
    model = info.get("model")
    return text(info.get("modelID")) or (text(model.get("modelID")) if isinstance(model, dict) else "")


def _usage(tokens: Any) -> RequestUsage:
    cache = tokens.get("cache") if isinstance(tokens, dict) else None
    cached, made = count(cache, "read"), count(cache, "write")
    return RequestUsage(
        input_tokens=count(tokens, "input") + cached + made,
        output_tokens=count(tokens, "output") + count(tokens, "reasoning"),
        cache_read_tokens=cached,
        cache_write_tokens=made,
    )


IMPORTER: Final = DocumentImporter("opencode", recognises, load)
