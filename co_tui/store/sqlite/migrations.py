"""The schema, as numbered steps that are only ever appended to."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from sqlite_utils import Database, Migrations
from sqlite_utils.db import Table

from co_tui.events import BoardChanged, CompactionComplete, SessionRename
from co_tui.kept_file import file_lock
from co_tui.store.search.session_filter import filter_text
from co_tui.store.sqlite import text_rebuild
from co_tui.store.sqlite.index_queue import INDEXES
from co_tui.store.sqlite.lock import another_process
from co_tui.store.sqlite.schema import SCHEMA_VERSION, TEXTS_BY_TIME
from co_tui.store.store_errors import StoreError

Report: TypeAlias = Callable[[str], None]
"""Shows the user a sentence."""

steps = Migrations("co-tui")
MERGED_PIECES = 8
"""Of about the same size become one piece of an index."""
MAX_PIECES = 1_999
"""Of one size, before an insert merges them itself, which takes long; SQLite allows no more."""


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
    """The tool of every text. Its index was replaced by the next step, so it is not made any more."""
    db.execute("ALTER TABLE message_texts ADD COLUMN tool TEXT NOT NULL DEFAULT ''")


@steps(name="003_finding_sessions")
def _finding_sessions(db: Database) -> None:
    """Pins and the trash in a session's row, a text it is filtered by, and indexes that tell what is newest first."""
    _add_pins_and_trash(db)
    _begin_texts_anew(db.conn)
    for index, tokenizer in (("message_grams", "trigram case_sensitive 1"), ("message_short_words", "ascii")):
        db.execute(f"CREATE VIRTUAL TABLE {index} USING fts5(text, content='', tokenize='{tokenizer}', detail='none')")
        db.execute(f"INSERT INTO {index}({index}, rank) VALUES('automerge', 8)")


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


def _begin_texts_anew(connection: sqlite3.Connection) -> None:
    """An empty table of texts, whose ids grow with the time at which they were said; `text_rebuild` fills it."""
    for trigger in ("message_texts_ai", "message_texts_ad", "message_texts_au", "message_grams_ai", "message_grams_ad"):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    for index in ("message_texts_fts", "message_grams"):
        connection.execute(f"DROP TABLE IF EXISTS {index}")
    connection.execute("DROP TABLE message_texts")
    connection.execute(
        "CREATE TABLE message_texts(id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, seq INTEGER NOT NULL,"
        " role TEXT NOT NULL, tool TEXT NOT NULL, text TEXT NOT NULL) STRICT"
    )
    connection.execute("CREATE INDEX message_texts_of_session ON message_texts(session_id, seq)")
    if connection.execute("SELECT 1 FROM events LIMIT 1").fetchone():
        text_rebuild.request(connection)


@steps(name="004_cost_of_summaries")
def _cost_of_summaries(db: Database) -> None:
    """What a session spent outside of its turns, so that its figures are complete before its log is read."""
    db.execute("ALTER TABLE sessions ADD COLUMN summary_cost REAL NOT NULL DEFAULT 0")
    paid = ", ".join(f"'{fact.TYPE}'" for fact in (CompactionComplete, BoardChanged, SessionRename))
    costs = db.execute(
        f"SELECT sum(json_extract(payload, '$.cost')), session_id FROM events WHERE type IN ({paid})"
        " AND json_valid(payload) AND json_type(payload, '$.cost') IN ('real', 'integer') GROUP BY session_id"
    ).fetchall()
    db.conn.executemany("UPDATE sessions SET summary_cost = ? WHERE id = ?", costs)


@steps(name="005_when_a_session_came_from_elsewhere")
def _when_a_session_came_from_elsewhere(db: Database) -> None:
    """So that an old one which was just imported does not count as long unused; empty for those that began here."""
    db.execute("ALTER TABLE sessions ADD COLUMN came_in TEXT NOT NULL DEFAULT ''")


@steps(name="006_indexes_filled_later")
def _indexes_filled_later(db: Database) -> None:
    """A queue of the texts to index, and the sessions that are half written.

    No trigger writes to an index: each would make it write a piece of its own, to be merged soon. It is merged only
    when asked to.
    """
    db.execute("CREATE TABLE texts_to_index(id INTEGER PRIMARY KEY, chars INTEGER NOT NULL) STRICT")
    db.execute(
        "CREATE TABLE unfinished(session_id TEXT PRIMARY KEY, after_seq INTEGER NOT NULL, owner TEXT NOT NULL,"
        " touched TEXT NOT NULL) STRICT"
    )
    db.execute(
        "CREATE TRIGGER message_texts_ai AFTER INSERT ON message_texts BEGIN"
        " INSERT INTO texts_to_index(id, chars) VALUES(new.id, length(new.text)); END"
    )
    db.execute(
        "CREATE TRIGGER message_texts_ad AFTER DELETE ON message_texts BEGIN"
        " DELETE FROM texts_to_index WHERE id = old.id; END"
    )
    for index in INDEXES:
        for trigger in (f"{index}_ai", f"{index}_ad"):
            db.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        for option, value in (("automerge", 0), ("crisismerge", MAX_PIECES), ("usermerge", MERGED_PIECES)):
            db.execute(f"INSERT INTO {index}({index}, rank) VALUES('{option}', {value})")


@steps(name="007_repository_of_a_session")
def _repository_of_a_session(db: Database) -> None:
    """The repository under the name it has on every machine; empty for sessions from before."""
    db.execute("ALTER TABLE sessions ADD COLUMN repository_id TEXT NOT NULL DEFAULT ''")
    db.execute("CREATE INDEX sessions_of_repository ON sessions(repository_id, cwd) WHERE repository_id <> ''")


@steps(name="008_long_texts_in_parts")
def _long_texts_in_parts(db: Database) -> None:
    """How many parts of a long text are in the indexes; those indexed before are there as a whole."""
    db.execute("CREATE TABLE texts_in_parts(id INTEGER PRIMARY KEY, parts INTEGER NOT NULL) STRICT")
    db.execute("DROP TRIGGER message_texts_ad")
    db.execute(
        "CREATE TRIGGER message_texts_ad AFTER DELETE ON message_texts BEGIN"
        " DELETE FROM texts_to_index WHERE id = old.id; DELETE FROM texts_in_parts WHERE id = old.id; END"
    )


@steps(name="009_other_machines")
def _other_machines(db: Database) -> None:
    """Whose a session is, how far it is pushed to a server, and what was deleted."""
    db.execute("ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE sessions ADD COLUMN shared INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE sessions ADD COLUMN pulled INTEGER NOT NULL DEFAULT 0")
    db.execute("CREATE INDEX sessions_of_others ON sessions(owner) WHERE owner <> ''")
    db.execute(
        "CREATE TABLE pushed(server TEXT NOT NULL, session_id TEXT NOT NULL, seq INTEGER NOT NULL,"
        " PRIMARY KEY(server, session_id)) STRICT, WITHOUT ROWID"
    )
    db.execute(
        "CREATE TABLE deletions(session_id TEXT PRIMARY KEY, at TEXT NOT NULL, seq INTEGER NOT NULL,"
        " deleted INTEGER NOT NULL, said TEXT NOT NULL DEFAULT '') STRICT"
    )


@steps(name="010_spent_elsewhere")
def _spent_elsewhere(db: Database) -> None:
    """What was spent and is in no log, as that of a deleted session."""
    db.execute("CREATE TABLE spent_elsewhere(timestamp TEXT NOT NULL, dollars REAL NOT NULL) STRICT")


def migrate(
    connection: sqlite3.Connection, path: Path, locks: Path | None = None, report: Report | None = None
) -> None:
    """Bring the database to the present schema; one process at a time does it, the others wait.

    What takes long is left to idle times: writers call `text_rebuild` and fill the indexes. Raises `StoreError` while
    an older co-tui has a session open that it could not write any more.
    """
    with _file_lock(path.with_name(f"{path.name}.migrate"), report):
        if _version(connection) == SCHEMA_VERSION:  # another process was faster
            return
        if locks is not None:
            _refuse_while_open(connection, locks)
        create_schema(connection)


@contextmanager
def _file_lock(path: Path, report: Report | None) -> Iterator[None]:
    """Hold the lock; reports when another process has it, and waits for that."""
    with ExitStack() as stack:
        try:
            stack.enter_context(file_lock(path, wait_s=0))
        except BlockingIOError:
            if report is not None:
                report("Another co-tui is upgrading your sessions. Waiting for it.")
            stack.enter_context(file_lock(path))
        yield


def create_schema(connection: sqlite3.Connection) -> None:
    """Apply the steps that the database lacks. The caller keeps other processes out."""
    is_from_before = _is_from_before(connection)
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # counts for a new file, and when a file is rewritten
    # Stays with the file. Switching ignores the busy timeout, hence the caller's lock.
    connection.execute("PRAGMA journal_mode=WAL")
    steps.apply(Database(connection))
    if is_from_before:
        _rewrite_file(connection)
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_from_before(connection: sqlite3.Connection) -> bool:
    """Whether the file is from before incremental vacuum, and from a co-tui that could not write the next schema."""
    return 0 < _version(connection) < TEXTS_BY_TIME


def _refuse_while_open(connection: sqlite3.Connection, locks: Path) -> None:
    process = another_process(locks) if _is_from_before(connection) else ""
    if process:
        raise StoreError(
            f"An older co-tui (process {process}) has a session open and could no longer save it. "
            "Close it, then start again."
        )


def _rewrite_file(connection: sqlite3.Connection) -> None:
    """Make it possible to give what is deleted back to the disk bit by bit. Every other process waits for it."""
    # Without room for a copy, or while others read, it stays as it was: larger, and as good.
    with suppress(sqlite3.OperationalError):
        connection.execute("VACUUM")


def _table(db: Database, name: str) -> Table:
    table = db[name]
    assert isinstance(table, Table)
    return table
