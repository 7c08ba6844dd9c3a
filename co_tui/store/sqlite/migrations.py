"""The schema, as numbered steps that are only ever appended to."""

import sqlite3
from pathlib import Path

from sqlite_utils import Database, Migrations
from sqlite_utils.db import Table

from co_tui.events import Message
from co_tui.events.event import stored
from co_tui.store.file_lock import file_lock
from co_tui.store.searchable import SAID, searchable
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


@steps(name="002_words_within_a_session")
def _words_within_a_session(db: Database) -> None:
    """Every part of every message with its tool, and an index that finds words anywhere in them."""
    db.execute("ALTER TABLE message_texts ADD COLUMN tool TEXT NOT NULL DEFAULT ''")
    db.execute("DROP TRIGGER message_texts_au")  # texts never change, and naming their tools is no change of them
    _complete_texts(db.conn)
    db.execute(
        "CREATE VIRTUAL TABLE message_grams USING fts5"
        "(tool, text, content='message_texts', content_rowid='id', tokenize='trigram', detail='none')"
    )
    db.execute("INSERT INTO message_grams(message_grams, rank) VALUES('automerge', 8)")
    db.execute("INSERT INTO message_grams(message_grams) VALUES('rebuild')")
    db.execute(
        "CREATE TRIGGER message_grams_ai AFTER INSERT ON message_texts BEGIN"
        " INSERT INTO message_grams(rowid, tool, text) VALUES(new.id, new.tool, new.text); END"
    )
    db.execute(
        "CREATE TRIGGER message_grams_ad AFTER DELETE ON message_texts BEGIN"
        " INSERT INTO message_grams(message_grams, rowid, tool, text)"
        " VALUES('delete', old.id, old.tool, old.text); END"
    )


def _complete_texts(connection: sqlite3.Connection) -> None:
    """Name the tools of the texts that are there, and add those that the first schema did without."""
    events = connection.execute(
        "SELECT session_id, seq, type, timestamp, version, payload FROM events WHERE type = ?", (Message.TYPE,)
    )
    for row in events:
        session_id, seq, *_ = row
        fact = stored(*row).fact
        there = connection.execute(
            "SELECT id FROM message_texts WHERE session_id = ? AND seq = ? ORDER BY id", (session_id, seq)
        )
        ids = iter([number for (number,) in there.fetchall()])
        for role, tool, text in searchable(fact) if isinstance(fact, Message) else ():
            known = next(ids, None) if role in SAID and text.strip() else None
            if known is None:
                connection.execute(
                    "INSERT INTO message_texts(session_id, seq, role, tool, text) VALUES(?, ?, ?, ?, ?)",
                    (session_id, seq, role, tool, text),
                )
            elif tool:
                connection.execute("UPDATE message_texts SET tool = ? WHERE id = ?", (tool, known))


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
