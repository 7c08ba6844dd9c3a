"""The schema, as numbered steps that are only ever appended to."""

import sqlite3
from pathlib import Path

from sqlite_utils import Database, Migrations
from sqlite_utils.db import Table

from co_tui.store.sqlite.lock import file_lock
from co_tui.store.sqlite.schema import SCHEMA_VERSION

steps = Migrations("co-tui")


@steps(name="001_sessions_and_events")
def _sessions_and_events(db: Database) -> None:
    """The log, and one row a session with its counters, so that listing never counts."""
    _table(db, "sessions").create(
        {
            "id": str,
            "title": str,
            "created": str,
            "updated": str,
            "model": str,
            "policy": str,
            "cwd": str,
            "repository": str,
            "branch": str,
            "last_seq": int,
            "turns": int,
            "messages": int,
            "compactions": int,
            "tokens": int,
            "token_limit": int,
            "cost": float,
            "usage": str,
        },
        pk="id",
        not_null={"id", "title", "created", "updated", "last_seq", "turns", "messages", "compactions", "cost"},
        strict=True,
    )
    _table(db, "sessions").create_index(["updated"])
    _table(db, "sessions").create_index(["cwd", "updated"])
    _table(db, "events").create(
        {"session_id": str, "seq": int, "type": str, "timestamp": str, "version": int, "payload": str},
        not_null={"session_id", "seq", "type", "timestamp", "version", "payload"},
        foreign_keys=[("session_id", "sessions", "id")],
        strict=True,
    )
    _table(db, "events").create_index(["session_id", "seq"], unique=True)
    # What is being written right now and is not an event yet: a streaming reply, waiting prompts.
    _table(db, "drafts").create(
        {"session_id": str, "slot": str, "body": str},
        pk=("session_id", "slot"),
        not_null={"body"},
        foreign_keys=[("session_id", "sessions", "id")],
        strict=True,
    )
    texts = _table(db, "message_texts")
    texts.create(
        {"id": int, "session_id": str, "seq": int, "role": str, "text": str},
        pk="id",
        not_null={"session_id", "seq", "role", "text"},
        strict=True,
    )
    texts.create_index(["session_id", "seq"])
    texts.enable_fts(["text"], create_triggers=True, tokenize="unicode61 remove_diacritics 2")
    # Small merges at every insert instead of a rare long pause.
    db.execute("INSERT INTO message_texts_fts(message_texts_fts, rank) VALUES('automerge', 8)")


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the database to the present schema; one process at a time does it, the others wait."""
    with file_lock(path.with_name(f"{path.name}.migrate")):
        # Stays with the file. Switching ignores the busy timeout, hence inside the lock.
        connection.execute("PRAGMA journal_mode=WAL")
        steps.apply(Database(connection))
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def _table(db: Database, name: str) -> Table:
    table = db[name]
    assert isinstance(table, Table)
    return table
