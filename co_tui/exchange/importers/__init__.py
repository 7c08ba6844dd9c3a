"""Sessions that other programs wrote. `load` recognises the program by the content.

Each program has a module with `recognises` and `load`; they share `builder`, `foreign_files` and `foreign_values`.
"""

from pathlib import Path
from typing import Any

from co_tui.exchange.importers import (
    claude_code,
    co_tui_log,
    codex,
    gemini_cli,
    llm_logs,
    openai_chat,
    opencode,
    opencode_database,
    pi,
)
from co_tui.exchange.importers.database import Database
from co_tui.exchange.importers.foreign_files import Document, Record, is_database, read_document, unknown
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused

__all__ = ["ImportRefused", "ImportedSession", "load"]

_DOCUMENTS = (co_tui_log, claude_code, gemini_cli, opencode, pi, codex, openai_chat)
_DATABASES = (llm_logs, opencode_database)
_NAMES = {
    co_tui_log: "co-tui",
    claude_code: "Claude Code",
    gemini_cli: "Gemini CLI",
    opencode: "opencode",
    pi: "pi",
    codex: "Codex CLI",
    openai_chat: "OpenAI's chat format",
    llm_logs: "llm",
    opencode_database: "opencode",
}


def load(path: Path | str) -> list[ImportedSession]:
    """The sessions of a file, or of a storage folder of opencode. Raises `ImportRefused` with a sentence."""
    path = Path(path)
    try:
        if path.is_dir():
            return _folder(path)
        return _from_database(path) if is_database(path) else _from_document(read_document(path))
    except OSError as error:
        raise ImportRefused(f"Cannot read {path}: {error.strerror or error}.") from None
    except RecursionError:
        raise unknown(path, "it is nested too deeply") from None


def _folder(path: Path) -> list[ImportedSession]:
    if opencode.is_storage(path):
        return opencode.load_storage(path)
    raise ImportRefused(f"{path} is a folder. Name its files, or import the folder with `co-tui import`.")


def _from_database(path: Path) -> list[ImportedSession]:
    with Database(path) as database:
        for importer in _DATABASES:
            if importer.recognises(database):
                return _not_empty(list(importer.load(database)), path, importer)
    raise unknown(path, "it is a database, but not from llm or opencode")


def _from_document(document: Document) -> list[ImportedSession]:
    if not document.records:
        why = f"none of its {document.skipped:,} lines is a JSON object" if document.skipped else "it is empty"
        raise unknown(document.path, why)
    if other := _other_program(document.records):
        raise unknown(document.path, f"it looks like a session of {other}")
    for importer in _DOCUMENTS:
        if importer.recognises(document):
            return _not_empty(importer.load(document), document.path, importer)
    raise unknown(document.path, "it is JSON in an unknown format")


def _not_empty(sessions: list[ImportedSession], path: Path, importer: Any) -> list[ImportedSession]:
    if not sessions:
        raise ImportRefused(f"{path} is an empty {_NAMES[importer]} session.")
    return sessions


def _other_program(records: list[Record]) -> str:
    """The name of a program whose sessions are recognised but not supported."""
    first = records[0]
    if first.get("type") == "session.start" and isinstance(first.get("data"), dict):
        return "Copilot CLI"
    if first.get("type") == "metadata" and "protocol_version" in first:
        return "Kimi"
    if {"version", "messages_path"} <= first.keys() or {"version", "agent", "sessionId", "messages"} <= first.keys():
        return "Cline"
    return ""
