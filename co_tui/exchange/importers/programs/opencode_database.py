"""Sessions of opencode, from its database."""

import json
from collections.abc import Iterator
from typing import Any, Final

from co_tui.events.storable import storable
from co_tui.exchange.importers.database import Database, Row
from co_tui.exchange.importers.foreign_files import Record
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DatabaseImporter
from co_tui.exchange.importers.programs.opencode import StoredMessage, from_rows


def recognises(database: Database) -> bool:
    return {"session_id", "data"} <= database.columns("message") and {"message_id", "data"} <= database.columns("part")


def load(database: Database) -> Iterator[ImportedSession]:
    wanted = ("id", "parent_id", "title", "directory", "time_created")
    for row in database.select("session", wanted, "ORDER BY id"):
        yield from from_rows(_info(row), _messages(database, row["id"]), database.modified)


def _info(row: Row) -> Record:
    info: Record = {key: storable(value) for key, value in row.items() if not isinstance(value, bytes)}
    return {**info, "time": {"created": info.get("time_created")}}


def _messages(database: Database, session_id: Any) -> list[StoredMessage]:
    parts: dict[str, list[Record]] = {}
    mine = "WHERE session_id = ? ORDER BY"
    for row in database.select("part", ("id", "message_id", "data"), f"{mine} id", session_id):
        parts.setdefault(str(row["message_id"]), []).append(_object(row))
    rows = database.select("message", ("id", "data"), f"{mine} time_created, id", session_id)
    return [StoredMessage(_object(row), parts.get(str(row["id"]), [])) for row in rows]


def _object(row: Row) -> Record:
    try:
        read = json.loads(row["data"])
    except (TypeError, ValueError, RecursionError):
        read = {}
    return {"id": str(row["id"]), **storable(read)} if isinstance(read, dict) else {"id": str(row["id"])}


IMPORTER: Final = DatabaseImporter("opencode", recognises, load)
