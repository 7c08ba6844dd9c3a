"""What the version before kept in files of its own while the server was away."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from co_tui.store.event_rows import EventRow
from co_tui.store.stored_values import Deletion
from co_tui.store.sync.server.server import Connection, Server
from co_tui.store.sync.server.server_rows import put_deletion
from tests.support.machines import Machine
from tests.support.old_schemas import create_old_schema
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.pushing import connect, log_of, push_log

KEPT = (
    "CREATE TABLE kept(session_id TEXT PRIMARY KEY, base INTEGER NOT NULL, lease INTEGER NOT NULL,"
    " ends_reply INTEGER NOT NULL, fork_id TEXT NOT NULL)"
)
SESSION = (
    "INSERT INTO sessions(id, title, created, updated, last_seq, turns, messages, compactions, cost)"
    " VALUES(?, '', '2026-01-01T10:00:00Z', '2026-01-01T10:00:00Z', ?, 0, 0, 0, 0)"
)


@pytest.fixture(scope="module")
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    with connect(url) as connection:
        yield connection


def keep(home: Path, url: str, *texts: str, base: int = 2, replies: dict[str, str] | None = None) -> Path:
    """What a process of that version left of session `s`, behind a seq."""
    folder = home / "state" / "kept" / hashlib.sha256(Server(url).location.encode()).hexdigest()[:16]
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "a.db", isolation_level=None)) as journal:
        create_old_schema(journal, 7)
        journal.execute(KEPT)
        journal.execute("INSERT INTO kept VALUES('s', ?, 0, 0, 'fork')", (base,))
        journal.execute(SESSION, ("s", base + len(texts)))
        for event in log_of("s", *texts, after=base, minute=9):
            row = EventRow.of(event)
            values = (row.session_id, row.seq, row.type, row.timestamp, row.version, row.payload)
            journal.execute("INSERT INTO events VALUES(?, ?, ?, ?, ?, ?)", values)
        for slot, body in (replies or {}).items():
            journal.execute("INSERT INTO drafts VALUES('s', ?, ?)", (slot, body))
    return folder


def test_kept_words_follow_those_of_the_server_and_the_file_is_removed(
    home: Path, url: str, connection: Connection
) -> None:
    push_log(connection, log_of("s", "one"))
    folder = keep(home, url, "two")
    with Machine(home, url) as machine:
        machine.settle()
        assert machine.said("s") == ["session.start", "one", "two"]
    assert not list(folder.glob("a.db*"))


def test_kept_words_of_a_session_that_was_deleted_are_a_fork(home: Path, url: str, connection: Connection) -> None:
    push_log(connection, log_of("s", "one"))
    put_deletion(connection, Deletion("s", "2026-01-01T10:05:00.000000Z", 2))
    keep(home, url, "two")
    with Machine(home, url) as machine:
        machine.settle()
        with machine.reading() as reading:
            (row,) = reading.sessions()
        assert row.title == "two (from another machine)" and machine.said(row.id)[-1] == "two"


@pytest.mark.parametrize("is_continued_elsewhere", [False, True])
def test_a_kept_reply_is_whole_with_its_beginning_on_the_server(
    home: Path, url: str, connection: Connection, is_continued_elsewhere: bool
) -> None:
    log = log_of("s", "one")
    push_log(connection, log)
    connection.execute("INSERT INTO drafts VALUES('s', 0, 'The '), ('s', 1, 'heron ')")
    keep(home, url, "two", replies={"reply#00000002": "fishes."})
    if is_continued_elsewhere:
        push_log(connection, [*log, *log_of("s", "there", after=2)], after=2)
    with Machine(home, url) as machine:
        machine.settle()
        with machine.reading() as reading:
            replies = {row.id[:6]: reading.partial_reply(row.id) for row in reading.sessions()}
    whole = ["The ", "heron ", "fishes."]
    assert replies == ({"s": [], "co-tui": whole} if is_continued_elsewhere else {"s": whole})
