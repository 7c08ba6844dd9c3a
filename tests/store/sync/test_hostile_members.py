"""A member of the database who uses another program: no other user is locked out, read, changed or misled."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import Deletion
from co_tui.store.sync.server import checked_rows, server_rows
from co_tui.store.sync.server.leases import Leases
from co_tui.store.sync.server.migrations import migrate
from co_tui.store.sync.server.server import Connection
from co_tui.store.sync.server.server_failures import DatabaseUnreachable, explained
from co_tui.store.sync.server.server_rows import Push
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.pushing import connect, log_of, push_log

TABLES = ("sessions", "events", "drafts", "files", "leases", "deletions", "schema_steps")
REFUSED = (errors.InsufficientPrivilege, errors.UniqueViolation)


@pytest.fixture(scope="module")
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def alice(server: PostgresServer, url: str) -> Iterator[Connection]:
    """With a private and a shared session, and one row in each table."""
    with connect(server.url_for("alice", url)) as connection:
        push_log(connection, log_of("private", "a night heron"))
        push_log(connection, log_of("public", "a grey heron"))
        server_rows.share(connection, "public", shared=True)
        server_rows.put_deletion(connection, Deletion("gone", "2026-01-01T10:00:00.000000Z"))
        connection.execute("INSERT INTO drafts VALUES('private', 0, 'half')")
        connection.execute("INSERT INTO files(name, body) VALUES('approvals/x', 'allowed')")
        Leases("blue-laptop").take(connection, "private")
        yield connection


@pytest.fixture
def mallory(server: PostgresServer, url: str) -> Iterator[Connection]:
    with connect(server.url_for("mallory", url)) as connection:
        yield connection


def everything(server: PostgresServer, url: str) -> dict[str, list[tuple[object, ...]]]:
    database = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(server.url(database)) as connection:
        return {
            table: sorted(connection.execute(f"SELECT * FROM co_tui.{table}".encode()), key=repr) for table in TABLES
        }


CHANGES = (
    "INSERT INTO schema_steps VALUES(99, 'later')",
    "INSERT INTO schema_steps VALUES(6, 'later')",
    "UPDATE schema_steps SET number = number + 90",
    "DELETE FROM schema_steps",
    "UPDATE leases SET expires = 'infinity'",
    "DELETE FROM leases",
    "INSERT INTO leases(owner, session_id, writer, host, machine, process, expires)"
    " VALUES('alice', 'public', 'x', 'x', 'x.y', 1, 'infinity')",
    "UPDATE deletions SET deleted = false",
    "DELETE FROM deletions",
    "INSERT INTO deletions VALUES('alice', 'public', '9999', 0, true)",
    "UPDATE files SET body = 'allow all'",
    "DELETE FROM files",
    "INSERT INTO files(owner, name, body) VALUES('alice', 'approvals/y', 'allow all')",
    "UPDATE sessions SET title = 'x'",
    "UPDATE sessions SET owner = current_user, shared = true",
    "DELETE FROM sessions",
    "INSERT INTO sessions(id, created, updated, owner) VALUES('planted', '', '', 'alice')",
    "INSERT INTO sessions(id, created, updated) VALUES('public', '', '')"
    " ON CONFLICT (id) DO UPDATE SET title = 'x', owner = current_user",
    "DELETE FROM events",
    "UPDATE events SET payload = '{}'",
    "INSERT INTO events VALUES('public', 99, 'message', '', 1, '{}')",
    "INSERT INTO events VALUES('private', 3, 'message', '', 1, '{}')",
    "DELETE FROM drafts",
    "INSERT INTO drafts VALUES('private', 1, 'planted')",
    "TRUNCATE events",
    "DROP TABLE events",
    "CREATE TABLE co_tui.planted(x int)",
    "ALTER TABLE events DISABLE ROW LEVEL SECURITY",
    "SELECT setval('lease_numbers', 1)",
)


def test_no_row_of_others_is_changed(server: PostgresServer, url: str, alice: Connection, mallory: Connection) -> None:
    before = everything(server, url)
    for statement in CHANGES:
        try:
            assert mallory.execute(statement.encode()).rowcount <= 0, statement
        except psycopg.Error as error:
            assert isinstance(error, REFUSED), statement
        assert everything(server, url) == before, statement
        migrate(alice, "it")
        assert server_rows.listing(alice).own == {"private": 2, "public": 2}, statement


def test_only_what_is_shared_is_read(alice: Connection, mallory: Connection) -> None:
    for table in ("drafts", "files", "leases", "deletions"):
        assert mallory.execute(f"SELECT * FROM {table}".encode()).fetchall() == []
    assert mallory.execute("SELECT DISTINCT session_id FROM events").fetchall() == [("public",)]
    assert server_rows.events(mallory, "private", 0) == [] == server_rows.tips(mallory, "private", 0)
    assert server_rows.size(mallory, "private", 0) == 0 and server_rows.partial_replies(mallory) == set()
    assert server_rows.events(mallory, "public", 0) == server_rows.events(alice, "public", 0)
    assert [row.id for row in server_rows.listing(mallory).others] == ["public"]
    server_rows.share(alice, "public", shared=False)
    assert server_rows.listing(mallory).others == [] == server_rows.events(mallory, "public", 0)


def test_superusers_too_get_and_change_only_their_own_through_co_tui(url: str, alice: Connection) -> None:
    with connect(url) as postgres:
        assert server_rows.listing(postgres).own == {}
        assert server_rows.events(postgres, "private", 0) == [] and server_rows.deletions(postgres) == []
        assert push_log(postgres, log_of("private", "mine")) is Push.TAKEN
        assert server_rows.put_deletion(postgres, Deletion("private", "2027", 99)) is Push.DONE
        server_rows.drop_partial_reply(postgres, "private")
        assert Leases("here").live(postgres) == {}
    assert len(server_rows.events(alice, "private", 0)) == 2 and server_rows.partial_reply(alice, "private") == ["half"]


@pytest.mark.parametrize("table", TABLES)
def test_a_lock_ends_a_statement_with_a_sentence(alice: Connection, mallory: Connection, table: str) -> None:
    limits = "SELECT setting::int FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout')"
    assert all(0 < limit_ms <= 60_000 for (limit_ms,) in alice.execute(limits))
    alice.execute("SET lock_timeout TO '20ms'")
    with mallory.transaction():
        mallory.execute(f"LOCK TABLE {table}".encode())
        with pytest.raises(psycopg.Error) as failed:
            migrate(alice, "it")
            push_log(alice, log_of("new", "x"))
            server_rows.put_deletion(alice, Deletion("new", "2027", 99))
    sentence = explained(failed.value, "it")
    assert isinstance(sentence, DatabaseUnreachable) and "is locked by another of its users" in str(sentence)
    assert push_log(alice, log_of("newer", "x")) is Push.DONE, "then all is as before"


def test_a_statement_that_takes_too_long_is_one_sentence(alice: Connection) -> None:
    alice.execute("SET statement_timeout TO '10ms'")
    with pytest.raises(errors.QueryCanceled) as failed:
        alice.execute("SELECT pg_sleep(10)")
    assert str(explained(failed.value, "x")) == "Database x does not answer in time. Try again later."


def test_an_expiry_that_no_lease_has_counts_as_expired(alice: Connection) -> None:
    for expiry in ("'infinity'", "'-infinity'", "now() + interval '1 day'"):
        alice.execute(f"UPDATE leases SET expires = {expiry}, machine = 'x.y', writer = 'w'".encode())
        assert Leases("here").live(alice) == {}
        log = log_of("private", "a night heron", "more")
        assert push_log(alice, log, after=2) is Push.DONE
        with pytest.raises(StoreError, match="was not closed there"):
            Leases("here").take(alice, "private")
    assert Leases("here").take(alice, "private", take_over=True)


# IDs that another user took first


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_taken_id_concerns_that_session_alone(alice: Connection, mallory: Connection, is_shared: bool) -> None:
    push_log(mallory, log_of("squatted", "mine"))
    server_rows.share(mallory, "squatted", shared=is_shared)
    assert push_log(alice, log_of("squatted", "hers")) is Push.TAKEN
    assert push_log(alice, log_of("another", "hers")) is Push.DONE
    assert server_rows.put_deletion(alice, Deletion("squatted", "2027", 99)) is Push.DONE
    assert server_rows.events(mallory, "squatted", 0)[1].fact == log_of("squatted", "mine")[1].fact


def test_what_another_user_left_under_an_id_is_not_taken_for_ones_own(
    server: PostgresServer, url: str, alice: Connection, mallory: Connection
) -> None:
    push_log(mallory, log_of("later", "planted", "planted", "planted"))
    mallory.execute("INSERT INTO drafts VALUES('later', 0, 'planted')")
    mallory.execute("DELETE FROM sessions WHERE id = 'later'")
    log = log_of("later", "hers")
    assert push_log(alice, log) is Push.DONE
    assert server_rows.events(alice, "later", 0) == log and server_rows.partial_reply(alice, "later") == []
    database = url.partition("?")[0].rpartition("/")[2]
    # As by a transaction that began while the ID was another's.
    server.execute(
        "INSERT INTO co_tui.events SELECT 'later', 3, type, timestamp, 1, payload FROM co_tui.events"
        " WHERE session_id = 'later' AND seq = 2",
        database,
    )
    assert server_rows.events(alice, "later", 0) == log == server_rows.events(alice, "later", 0, 9)
    assert server_rows.tip(alice, "later", 3) is None
    longer = [*log, *log_of("later", "more of hers", after=2)]
    assert push_log(alice, longer, after=2) is Push.DONE and server_rows.events(alice, "later", 0) == longer


# Rows that no co-tui writes


BAD = (
    "id = E'evil\\n\\x1b[31m'",
    "id = '../../etc'",
    "id = repeat('x', 500)",
    "updated = 'soon'",
    "updated = '9999-01-01T00:00:00Z'",
    "created = ''",
    "last_seq = -1",
    "turns = 9223372036854775807",
    "tokens = -5",
    "cost = 'NaN'",
    "cost = 'infinity'",
    "summary_cost = -1",
)


def test_each_bad_row_is_left_out_with_a_sentence(alice: Connection, mallory: Connection) -> None:
    push_log(mallory, log_of("good", "x"))
    for number, values in enumerate(BAD):
        push_log(mallory, log_of(f"evil{number}", "x"))
        mallory.execute(f"UPDATE sessions SET {values} WHERE id = 'evil{number}'".encode())
    mallory.execute("UPDATE sessions SET shared = true WHERE owner = current_user")
    found = server_rows.listing(alice)
    assert [row.id for row in found.others] == ["good"] and found.own.keys() == {"private", "public"}
    assert len(found.bad) == len(BAD)
    for sentence in found.bad:
        assert "shared by mallory, is left out of the list: " in sentence
        assert sentence.isprintable() and len(sentence) < 200


def test_texts_of_others_are_short_and_inert(alice: Connection, mallory: Connection) -> None:
    push_log(mallory, log_of("long", "x"))
    mallory.execute(
        "UPDATE sessions SET shared = true, pinned = true, title = E'\\x1b[2J\\n' || repeat('x', 1000000),"
        " cwd = repeat('/y', 500000) WHERE id = 'long'"
    )
    (row,) = server_rows.listing(alice).others
    assert len(row.title) <= 1000 and row.title.isprintable() and len(row.cwd) <= 1000
    assert (row.owner, row.pinned, row.shared) == ("mallory", False, True)


def test_one_users_many_sessions_do_not_hide_those_of_others(
    server: PostgresServer, url: str, alice: Connection, mallory: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    mallory.execute(
        "INSERT INTO sessions(id, created, updated, shared)"
        " SELECT 'm' || n, '2026-06-01', '2026-06-01', true FROM generate_series(1, 30) n"
    )
    monkeypatch.setattr(server_rows, "_OTHERS", server_rows._OTHERS.replace(str(server_rows.MOST_OTHERS), "10"))
    with connect(server.url_for("bob", url)) as bob:
        found = server_rows.listing(bob)
        assert len(found.others) == 10 and "public" in {row.id for row in found.others}


@pytest.mark.parametrize("at", ["soon", "", "9" * 500])
def test_a_bad_deletion_is_left_out(alice: Connection, at: str) -> None:
    alice.execute("UPDATE deletions SET at = %s", (at,))
    assert server_rows.deletions(alice) == []
    assert checked_rows.is_session_id("20260101-101010-abcdef") and not checked_rows.is_session_id("a/b")
