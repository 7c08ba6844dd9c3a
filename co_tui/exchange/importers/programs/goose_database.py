"""The database of Goose: a row for each session and each message."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from co_tui.exchange.importers.database import Database, Row
from co_tui.exchange.importers.foreign_files import Record, json_value
from co_tui.exchange.importers.foreign_values import text
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DatabaseImporter
from co_tui.exchange.importers.programs.goose import Head, from_rows

_PART_OF_ANOTHER: Final = ("sub_agent", "hidden")


def recognises(database: Database) -> bool:
    messages = {"session_id", "role", "content_json", "created_timestamp"}
    return messages <= database.columns("messages") and {"id", "working_dir"} <= database.columns("sessions")


def load(database: Database) -> Iterator[ImportedSession]:
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
        session = from_rows(_head(row), messages, database.modified)
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


def _head(row: Row) -> Head:
    config = _json(row.get("model_config_json"))
    model = text(config.get("model_name")) if isinstance(config, dict) else ""
    title = text(row.get("name")) or text(row.get("description"))
    return Head(text(row["id"]), title, text(row.get("working_dir")), model)


IMPORTER: Final = DatabaseImporter("Goose", recognises, load)
