"""Programs whose files are recognised but not imported, for a refusal that names them."""

from collections.abc import Callable
from typing import Any, Final

from co_tui.exchange.importers.database import Database
from co_tui.exchange.importers.foreign_files import Record


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
