"""A database of the version before, opened by this one; and one that was damaged."""

from collections.abc import Iterator

import psycopg
import pytest

from co_tui.store.store_errors import StoreError
from co_tui.store.sync.server import migrations, server_rows
from co_tui.store.sync.server.leases import Leases
from co_tui.store.sync.server.migrations import STEPS, migrate
from co_tui.store.sync.server.policies import POLICIES, missing_policies
from co_tui.store.sync.server.server import Connection
from co_tui.store.sync.server.server_rows import Push
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.pushing import connect, log_of, push_log

FOURTH = 4
OLD_POLICIES = """
ALTER TABLE files ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_files ON files USING (owner = current_user) WITH CHECK (owner = current_user);
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON sessions FOR SELECT USING (owner = current_user::text OR (shared AND trashed = ''));
CREATE POLICY own ON sessions USING (owner = current_user::text) WITH CHECK (owner = current_user::text)
"""
OLD_POLICIES_OF_A_SESSION = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON {table} FOR SELECT USING (EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id));
CREATE POLICY own ON {table}
    USING (EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id AND s.owner = current_user::text))
    WITH CHECK (EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id AND s.owner = current_user::text))
"""
ROWS = """
INSERT INTO sessions(id, title, created, updated, last_seq, owner, shared, filter_text) VALUES
    ('hers', 'A heron', '2026-01-01T10:00:00Z', '2026-01-01T10:00:00Z', 1, 'alice', true, 'a heron'),
    ('own', 'An egret', '2026-01-01T10:00:00Z', '2026-01-01T10:00:00Z', 2, 'bob', false, 'an egret');
INSERT INTO events VALUES
    ('hers', 1, 'message', '2026-01-01T10:00:00Z', 1, '{"turn": 1, "message": {"kind": "request", "parts": []}}', NULL),
    ('own', 1, 'message', '2026-01-01T10:00:00Z', 1, '{"turn": 1, "message": {"kind": "request", "parts": []}}', NULL),
    ('own', 2, 'session.rename', '2026-01-01T10:00:01Z', 1, '{"title": "An egret", "cost": 0.5}', 0.5);
INSERT INTO drafts VALUES('own', 0, 'half a reply');
INSERT INTO message_texts VALUES('own', 1, 0, 1, 'user', '', 'the heron', '{1}');
INSERT INTO writers(id) VALUES('w');
INSERT INTO leases VALUES('own', 7, 'w', 'host', 'm', 1, 'infinity');
INSERT INTO files(owner, name, body, updated) VALUES
    ('bob', 'deleted/gone', NULL, '2026-03-04T05:06:07.5Z'),
    ('bob', 'deleted/own', NULL, '2026-03-04T05:06:07Z'),
    ('alice', 'deleted/own', NULL, '2026-03-04T05:06:07Z'),
    ('bob', 'sessions/own/x', 'kept', '2026-03-04T05:06:07Z');
"""


@pytest.fixture(scope="module")
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def old(server: PostgresServer) -> str:
    """The URL of a database as the version before wrote it, in use by two members."""
    url = server.empty_database()
    with connect(url) as connection:
        connection.execute("CREATE SCHEMA co_tui")
        connection.execute(
            "CREATE TABLE schema_steps(number bigint PRIMARY KEY, name text NOT NULL,"
            " applied timestamptz NOT NULL DEFAULT now())"
        )
        for number, (name, statements) in enumerate(STEPS[:FOURTH], 1):
            connection.execute(statements.encode())
            connection.execute("INSERT INTO schema_steps VALUES(%s, %s)", (number, name))
        connection.execute(OLD_POLICIES.encode())
        for table in ("events", "drafts", "message_texts"):
            connection.execute(OLD_POLICIES_OF_A_SESSION.format(table=table).encode())
        connection.execute(ROWS.encode())
    for member in ("alice", "bob"):
        server.url_for(member, url)
    return url


@pytest.fixture
def present(server: PostgresServer) -> Iterator[Connection]:
    with connect(server.new_database()) as connection:
        yield connection


def as_member(url: str, name: str) -> Connection:
    """Without granting anything."""
    connection = connect(url.replace("postgres@", f"{name}@"))
    migrate(connection, "it")
    return connection


def test_a_filled_database_of_the_version_before_is_carried_over(old: str) -> None:
    with connect(old) as owner:
        migrate(owner, "it")
        migrate(owner, "it")
        tables = {row[0] for row in owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'co_tui'")}
        assert tables == {"sessions", "events", "drafts", "files", "leases", "deletions", "schema_steps"}
    with as_member(old, "bob") as bob:
        found = server_rows.listing(bob)
        assert found.own == {"own": 2} and not found.bad
        assert [(row.id, row.owner, row.title) for row in found.others] == [("hers", "alice", "A heron")]
        assert [event.seq for event in server_rows.events(bob, "own", 0)] == [1, 2]
        assert server_rows.partial_reply(bob, "own") == ["half a reply"]
        assert server_rows.deletions(bob) == [("gone", "2026-03-04T05:06:07.500000Z", 1 << 62, True, "")]
        assert bob.execute("SELECT name FROM files").fetchall() == [("sessions/own/x",)]
        assert push_log(bob, log_of("gone", "back?")) is Push.DELETED
        assert Leases("here").take(bob, "own"), "what the version before held is not held any more"
        assert push_log(bob, log_of("new", "one")) is Push.DONE, "members go on without new rights"
    with as_member(old, "alice") as alice:
        assert [each.session_id for each in server_rows.deletions(alice)] == ["own"], "each user's own decisions"


def test_a_version_that_somebody_made_up_is_not_one(old: str) -> None:
    with connect(old) as owner:
        owner.execute("INSERT INTO schema_steps VALUES(99, 'made up'), (-3, 'made up')")
        migrate(owner, "it")
        numbers = owner.execute("SELECT number FROM schema_steps WHERE number > 0 ORDER BY 1").fetchall()
        assert [number for (number,) in numbers] == list(range(1, len(STEPS) + 1))


def test_a_member_says_who_has_to_upgrade(server: PostgresServer, old: str) -> None:
    with (
        connect(old.replace("postgres@", "bob@")) as bob,
        pytest.raises(StoreError, match="The user who owns its tables upgrades it: `co-tui doctor`"),
    ):
        migrate(bob, "it")
    empty = server.empty_database().replace("postgres@", "bob@")
    with connect(empty) as bob, pytest.raises(psycopg.errors.InsufficientPrivilege):
        migrate(bob, "it")


def test_a_lock_of_another_user_ends_the_upgrade(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "_PATIENT", "SET LOCAL lock_timeout TO '20ms'")
    with connect(old) as owner, connect(old.replace("postgres@", "bob@")) as bob:
        bob.execute("SELECT pg_advisory_lock(%s)", (migrations._LOCK,))
        with pytest.raises(psycopg.errors.LockNotAvailable):
            migrate(owner, "it")
        bob.execute("SELECT pg_advisory_unlock_all()")
        migrate(owner, "it")


# Damage


@pytest.mark.parametrize("table", ["leases", "deletions", "files", "drafts"])
def test_a_missing_table_is_made_again_by_the_owner(server: PostgresServer, table: str) -> None:
    url = server.new_database()
    member = server.url_for("bob", url)
    with connect(url) as owner, connect(member) as bob:
        owner.execute(f"DROP TABLE {table}".encode())
        with pytest.raises(
            StoreError, match=f"damaged: table {table} is missing. The user who owns its tables repairs"
        ):
            migrate(bob, "it")
        migrate(owner, "it")
        migrate(bob, "it")
        assert bob.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)


@pytest.mark.parametrize(
    "damage",
    [f"DROP POLICY {policy.name} ON {policy.table}" for policy in POLICIES[-6:]]
    + ["ALTER TABLE events DISABLE ROW LEVEL SECURITY"],
)
def test_a_missing_policy_is_made_again_by_the_owner(server: PostgresServer, damage: str) -> None:
    url = server.new_database()
    member = server.url_for("bob", url)
    with connect(url) as owner, connect(member) as bob:
        owner.execute(damage.encode())
        with pytest.raises(StoreError, match=r"is not protected from other users|upgrades it"):
            migrate(bob, "it")
        migrate(owner, "it")
        migrate(bob, "it")
        assert not missing_policies(bob)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("DROP TABLE events", "table events is missing"),
        ("ALTER TABLE sessions DROP COLUMN title", "table sessions has no column title"),
        ("ALTER TABLE leases DROP COLUMN host", "table leases has no column host"),
        ("DELETE FROM schema_steps", 'relation "sessions" already exists'),
    ],
)
def test_damage_that_cannot_be_repaired_is_one_sentence_with_what_to_do(
    present: Connection, damage: str, what: str
) -> None:
    present.execute(damage.encode())
    with pytest.raises(
        StoreError, match=rf"is damaged: {what}\. Restore it from a backup, or drop schema co_tui"
    ) as failed:
        migrate(present, "Database it")
    assert "\n" not in str(failed.value)
