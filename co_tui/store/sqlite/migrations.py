"""The schema, as numbered steps that are only ever appended to."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlite_utils import Database, Migrations
from sqlite_utils.db import Table

from co_tui.events import BoardChanged, CompactionComplete, Message, SessionRename
from co_tui.events.event import stored
from co_tui.store.file_lock import file_lock
from co_tui.store.search.searchable_text import SAID, searchable
from co_tui.store.search.session_filter import filter_text
from co_tui.store.sqlite.lock import another_process
from co_tui.store.sqlite.message_index import fill_indexes, seconds_of
from co_tui.store.sqlite.schema import SCHEMA_VERSION
from co_tui.store.store_errors import StoreError

steps = Migrations("co-tui")
INCREMENTAL = 2
"""As `PRAGMA auto_vacuum` tells it."""
FILLED_BY_FUNCTIONS = 3
"""From this schema on, adding text needs functions that an older co-tui does not have."""


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


@steps(name="003_finding_sessions")
def _finding_sessions(db: Database) -> None:
    """Pins and the trash in a session's row, a text it is filtered by, and indexes that tell what is newest first."""
    _add_pins_and_trash(db)
    _order_texts_by_time(db.conn)
    for index, tokenizer, filled_by in (
        ("message_grams", "trigram case_sensitive 1", "index_text"),
        ("message_short_words", "ascii", "index_short_words"),
    ):
        db.execute(f"CREATE VIRTUAL TABLE {index} USING fts5(text, content='', tokenize='{tokenizer}', detail='none')")
        db.execute(f"INSERT INTO {index}({index}, rank) VALUES('automerge', 8)")
        db.execute(
            f"CREATE TRIGGER {index}_ai AFTER INSERT ON message_texts BEGIN"
            f" INSERT INTO {index}(rowid, text) VALUES(new.id, {filled_by}(new.tool, new.text)); END"
        )
        db.execute(
            f"CREATE TRIGGER {index}_ad AFTER DELETE ON message_texts BEGIN"
            f" INSERT INTO {index}({index}, rowid, text)"
            f" VALUES('delete', old.id, {filled_by}(old.tool, old.text)); END"
        )
    fill_indexes(db.conn)


def _add_pins_and_trash(db: Database) -> None:
    db.execute("ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE sessions ADD COLUMN trashed TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE sessions ADD COLUMN filter_text TEXT NOT NULL DEFAULT ''")
    rows = db.execute("SELECT title, coalesce(cwd, ''), id FROM sessions").fetchall()
    db.conn.executemany(
        "UPDATE sessions SET filter_text = ? WHERE id = ?", [(filter_text(title, cwd), id_) for title, cwd, id_ in rows]
    )
    db.execute("DROP INDEX idx_sessions_updated")
    db.execute("DROP INDEX idx_sessions_cwd_updated")
    db.execute("CREATE INDEX sessions_newest ON sessions(updated, filter_text) WHERE trashed = ''")
    db.execute("CREATE INDEX sessions_of_folder ON sessions(cwd, updated, filter_text) WHERE trashed = ''")
    db.execute("CREATE INDEX sessions_in_trash ON sessions(trashed) WHERE trashed <> ''")
    db.execute("CREATE INDEX sessions_pinned ON sessions(updated) WHERE pinned = 1")


def _order_texts_by_time(connection: sqlite3.Connection) -> None:
    """Give the texts ids that grow with the time at which they were said; the indexes on them begin anew."""
    for trigger in ("message_texts_ai", "message_texts_ad", "message_grams_ai", "message_grams_ad"):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    for index in ("message_texts_fts", "message_grams"):
        connection.execute(f"DROP TABLE {index}")
    connection.execute("ALTER TABLE message_texts RENAME TO texts_as_they_came")
    connection.execute(
        "CREATE TABLE message_texts(id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, seq INTEGER NOT NULL,"
        " role TEXT NOT NULL, tool TEXT NOT NULL, text TEXT NOT NULL) STRICT"
    )
    ordered = connection.execute(
        "SELECT t.id, coalesce(e.timestamp, '') FROM texts_as_they_came t"
        " LEFT JOIN events e ON e.session_id = t.session_id AND e.seq = t.seq ORDER BY 2, 1"
    ).fetchall()
    connection.executemany(
        "INSERT INTO message_texts SELECT ?, session_id, seq, role, tool, text FROM texts_as_they_came WHERE id = ?",
        _with_new_ids(ordered),
    )
    connection.execute("DROP TABLE texts_as_they_came")
    connection.execute("CREATE INDEX message_texts_of_session ON message_texts(session_id, seq)")


def _with_new_ids(ordered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    new = 0
    for old, timestamp in ordered:
        new = max(new + 1, seconds_of(timestamp))
        yield new, old


@steps(name="004_cost_of_summaries")
def _cost_of_summaries(db: Database) -> None:
    """What a session spent outside of its turns, so that its figures are complete before its log is read."""
    db.execute("ALTER TABLE sessions ADD COLUMN summary_cost REAL NOT NULL DEFAULT 0")
    paid = ", ".join(f"'{fact.TYPE}'" for fact in (CompactionComplete, BoardChanged, SessionRename))
    db.execute(
        "UPDATE sessions SET summary_cost = coalesce((SELECT sum(json_extract(payload, '$.cost')) FROM events e"
        f" WHERE e.session_id = sessions.id AND e.type IN ({paid}) AND json_valid(payload)"
        " AND json_type(payload, '$.cost') IN ('real', 'integer')), 0.0)"
    )


@steps(name="005_when_a_session_came_from_elsewhere")
def _when_a_session_came_from_elsewhere(db: Database) -> None:
    """So that an old one which was just imported does not count as long unused; empty for those that began here."""
    db.execute("ALTER TABLE sessions ADD COLUMN came_in TEXT NOT NULL DEFAULT ''")


def migrate(connection: sqlite3.Connection, path: Path, locks: Path | None = None) -> None:
    """Bring the database to the present schema; one process at a time does it, the others wait.

    Raises `StoreError` while an older co-tui has a session open that it could not write any more.
    """
    with file_lock(path.with_name(f"{path.name}.migrate")):
        if locks is not None:
            _refuse_while_open(connection, locks)
        create_schema(connection)


def create_schema(connection: sqlite3.Connection) -> None:
    """Apply the steps that the database lacks. The caller keeps other processes out."""
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # counts for a new file
    # Stays with the file. Switching ignores the busy timeout, hence the caller's lock.
    connection.execute("PRAGMA journal_mode=WAL")
    steps.apply(Database(connection))
    _enable_incremental_vacuum(connection)
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def _refuse_while_open(connection: sqlite3.Connection, locks: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    process = another_process(locks) if 0 < version < FILLED_BY_FUNCTIONS else ""
    if process:
        raise StoreError(
            f"An older co-tui (process {process}) has a session open and could no longer save it. "
            "Close it, then start again."
        )


def _enable_incremental_vacuum(connection: sqlite3.Connection) -> None:
    """An older file is written anew once, so that what is deleted can be given back to the disk bit by bit."""
    if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != INCREMENTAL:
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        # Without room for a copy, or while others read, it stays as it was: larger, and as good.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("VACUUM")


def _table(db: Database, name: str) -> Table:
    table = db[name]
    assert isinstance(table, Table)
    return table
