"""Sessions that other programs wrote. `load` recognises the program by the content.

Each module in `programs` declares its `IMPORTERS`; they share `builder`, `foreign_files` and `foreign_values`.
"""

import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from co_tui.exchange.importers import programs
from co_tui.exchange.importers.archive import ZIP_HEADERS, Archive
from co_tui.exchange.importers.database import Database
from co_tui.exchange.importers.foreign_files import SQLITE_HEADER, Document, Record, read_document, read_head, read_text
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused
from co_tui.exchange.importers.importer import (
    LOOSE,
    MARKED,
    DatabaseImporter,
    DocumentImporter,
    Importer,
    TextImporter,
)

__all__ = ["ImportRefused", "ImportedSession", "load"]

_FORMATS = "Anthropic- and OpenAI-style JSONL and co-tui's own exports"
"""Formats that no single program writes, for people."""


@cache
def importers() -> tuple[Importer, ...]:
    """The importers of all modules in `programs`, strictest first; they are imported when the first file is read."""
    names = [each.name for each in pkgutil.iter_modules(programs.__path__)]
    found: list[Importer] = []
    for name in names:
        found += import_module(f"{programs.__name__}.{name}").IMPORTERS
    return tuple(sorted(found, key=lambda each: each.looseness))


def load(path: Path | str) -> list[ImportedSession]:
    """The sessions of a file, or of a storage folder of opencode. Raises `ImportRefused` with a sentence."""
    path = Path(path)
    try:
        return _folder(path) if path.is_dir() else _file(path, read_head(path))
    except OSError as error:
        raise ImportRefused(f"Cannot read {path}: {error.strerror or error}.") from None
    except RecursionError:
        raise _unknown(path, "it is nested too deeply") from None


def _folder(path: Path) -> list[ImportedSession]:
    from co_tui.exchange.importers.programs import opencode

    if not opencode.is_storage(path):
        raise ImportRefused(f"{path} is a folder. Name its files, or import the folder with `co-tui import`.")
    if not (sessions := opencode.load_storage(path)):
        raise _unknown(path, "it is an opencode folder without sessions")
    return sessions


def _file(path: Path, head: bytes) -> list[ImportedSession]:
    """By how it begins: a database, a zip, a text, or JSON."""
    if head.startswith(SQLITE_HEADER):
        return _from_database(path)
    if head.startswith(ZIP_HEADERS):
        with Archive(path) as archive:
            return _from_document(archive.document())
    beginning = head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").lstrip()
    for importer in importers():
        if isinstance(importer, TextImporter) and importer.recognises(beginning):
            return _not_empty(importer.load(read_text(path)), path, importer)
    return _from_document(read_document(path))


def _from_database(path: Path) -> list[ImportedSession]:
    known = [each for each in importers() if isinstance(each, DatabaseImporter)]
    with Database(path) as database:
        for importer in known:
            if importer.recognises(database):
                return _not_empty(importer.load(database), path, importer)
        if other := database_of(database):
            raise _unknown(path, f"it looks like the database of {other}")
    raise _unknown(path, f"it is a database, but not from {' or '.join(each.label for each in known)}")


def _from_document(document: Document) -> list[ImportedSession]:
    if not document.records:
        why = f"none of its {document.skipped:,} lines is a JSON object" if document.skipped else "it is empty"
        raise _unknown(document.path, why)
    if other := session_of(document.records):
        raise _unknown(document.path, f"it looks like {other}")
    for importer in importers():
        if isinstance(importer, DocumentImporter) and importer.recognises(document):
            return _not_empty(importer.load(document), document.path, importer)
    raise _unknown(document.path, "it is JSON in an unknown format")


def _not_empty(sessions: Iterable[ImportedSession], path: Path, importer: Importer) -> list[ImportedSession]:
    if not (found := list(sessions)):
        raise ImportRefused(f"{path} is an empty {importer.label} session.")
    return found


def _unknown(path: Path, why: str) -> ImportRefused:
    """The refusal of what is in none of the known formats."""
    labels = {each.label for each in importers() if each.looseness in (MARKED, LOOSE)}
    known = ", ".join((*sorted(labels, key=str.casefold), _FORMATS))
    return ImportRefused(f"Cannot import {path}: {why}. Supported: {known}.")


def session_of(records: list[Record]) -> str:
    """What a file is, in words for people; empty when it is none of these."""
    first = records[0]
    return next((words for words, is_it in _FILES if is_it(first)), "")


def database_of(database: Database) -> str:
    """The name of the program that keeps such a database; empty when it is none of these."""
    return next((name for name, table, columns in _DATABASES if columns <= database.columns(table)), "")


def _has(*keys: str) -> Callable[[Record], bool]:
    needed = frozenset(keys)
    return lambda record: needed <= record.keys()


def _inside(record: Record, *keys: str) -> Any:
    value: Any = record
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_amp(record: Record) -> bool:
    return {"v", "id", "created", "messages"} <= record.keys() and str(record["id"]).startswith("T-")


def _is_lm_studio(record: Record) -> bool:
    messages = record.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(first, dict) and {"versions", "currentlySelected"} <= first.keys()


def _is_open_webui(record: Record) -> bool:
    return isinstance(_inside(record, "chat", "history", "messages"), dict)


def _is_droid(record: Record) -> bool:
    return record.get("type") == "session_start" and "id" in record and "payload" not in record


def _is_deepseek(record: Record) -> bool:
    return isinstance(record.get("mapping"), dict) and "inserted_at" in record


def _is_aider_analytics(record: Record) -> bool:
    about = record.get("properties")
    return {"event", "user_id"} <= record.keys() and isinstance(about, dict) and "aider_version" in about


_FILES: Final[tuple[tuple[str, Callable[[Record], bool]], ...]] = (
    ("a thread of Amp", _is_amp),
    ("a session of Continue", _has("sessionId", "workspaceDirectory", "history")),
    ("a chat of LM Studio", _is_lm_studio),
    ("an export of Open WebUI", _is_open_webui),
    ("a session of Droid", _is_droid),
    ("an export of DeepSeek", _is_deepseek),
    ("a chat of Copilot in VS Code", _has("requesterUsername", "responderUsername", "requests")),
    ("a prompt of Google AI Studio", _has("runSettings", "chunkedPrompt")),
    ("a conversation of Amazon Q", _has("conversation_id", "history", "transcript")),
    ("the analytics of aider, whose conversations are in .aider.chat.history.md", _is_aider_analytics),
    (
        "the screen's half of a Cline task; its conversation is in api_conversation_history.json",
        lambda record: "ts" in record and record.get("type") in ("say", "ask") and record.get("type") in record,
    ),
)
_DATABASES: Final = (
    ("Cursor", "cursorDiskKV", frozenset({"key", "value"})),
    ("VS Code or an editor made from it", "ItemTable", frozenset({"key", "value"})),
    ("Zed", "threads", frozenset({"id", "summary", "updated_at", "data_type", "data"})),
    ("Crush", "messages", frozenset({"id", "session_id", "role", "parts", "model", "finished_at"})),
    ("Open WebUI", "chat", frozenset({"id", "user_id", "title", "chat"})),
    (
        "Cline, which keeps its conversations in files next to it",
        "sessions",
        frozenset({"session_id", "messages_path"}),
    ),
)
"""Each by a table and columns of it."""
