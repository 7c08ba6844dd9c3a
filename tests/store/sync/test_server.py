"""How a server is reached, and what is said when it cannot be used."""

import logging
import threading
import traceback
from collections.abc import Iterator
from io import StringIO

import pytest

from co_tui.store.store_errors import StoreError
from co_tui.store.sync.server import server_rows
from co_tui.store.sync.server.migrations import STEPS, migrate
from co_tui.store.sync.server.server import Server, check_version
from tests.support.cases import each_case
from tests.support.postgres import ASKED, PostgresServer, postgres_server
from tests.support.pushing import connect, log_of, push_log

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """All that is logged meanwhile, whatever its level."""
    handler, root = logging.StreamHandler(StringIO()), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler.stream
    root.removeHandler(handler)
    root.setLevel(before)


def test_processes_that_create_the_schema_at_the_same_moment_all_succeed(server: PostgresServer) -> None:
    url = server.empty_database()

    def begin(number: int) -> None:
        with connect(url) as connection:
            migrate(connection, "it")
            push_log(connection, log_of(f"s{number}", "x"))

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with connect(url) as connection:
        assert len(server_rows.listing(connection).own) == 4


def test_a_database_of_a_newer_version_is_refused(server: PostgresServer) -> None:
    with connect(server.new_database()) as connection:
        connection.execute("INSERT INTO schema_steps(number, name) VALUES(%s, 'later')", (len(STEPS) + 1,))
        with pytest.raises(StoreError, match="from a newer co-tui"):
            migrate(connection, "it")


def test_a_password_is_used_and_never_shown(server: PostgresServer, logged: StringIO) -> None:
    server.execute(f"DROP ROLE IF EXISTS {ASKED}")
    server.execute(f"CREATE ROLE {ASKED} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    asked = server.new_database().replace("postgres@", f"{ASKED}@")
    for given in ("", "wrong " + PASSWORD):
        with pytest.raises(StoreError, match="refused the password") as failure:
            Server(asked, lambda given=given: given).connect()
        shown = "".join(traceback.format_exception(failure.value)) + repr(vars(failure.value)) + logged.getvalue()
        assert PASSWORD not in shown
    right = Server(asked, lambda: PASSWORD)
    with right.connect() as connection:
        assert server_rows.listing(connection).own == {}
        assert PASSWORD not in right.location + repr(right) + repr(connection)


@each_case(
    ("url", "sentence"),
    [
        ("postgresql://me@localhost:1/x", r"cannot be reached: connection refused\. Try again later\."),
        ("postgresql://me@nowhere.invalid/x", "cannot be reached: failed to resolve host"),
        ("postgresql://me@h/x?no_such=1", "is not a valid URL"),
        ("postgresql://me:secret@h/x", "must not contain a password"),
    ],
)
def test_a_server_that_cannot_be_used_is_one_sentence(url: str, sentence: str) -> None:
    with pytest.raises(StoreError, match=sentence) as failure:
        Server(url).connect()
    assert "secret" not in str(failure.value) and "\n" not in str(failure.value)


def test_a_missing_database_and_an_old_server_are_one_sentence(server: PostgresServer) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        connect(server.url("missing"))
    with pytest.raises(StoreError, match=r"runs PostgreSQL 9\.6, which is too old\. Use 11 or newer\."):
        check_version(90_600, "postgresql://h/x")


@each_case(
    ("url", "sslmode"),
    [
        ("postgresql://u@db.example/x", "verify-full"),
        ("postgresql://u@localhost,db.example/x", "verify-full"),
        ("postgresql://u@localhost/x?hostaddr=192.0.2.1", "verify-full"),
        ("postgresql:///x", "verify-full"),
        ("postgresql://u@localhost:5433/x", None),
        ("postgresql://u@[::1]/x", None),
        ("postgresql://u@db.example/x?sslmode=require", "require"),
    ],
)
def test_the_servers_certificate_is_checked_unless_it_is_here_or_the_url_decides(url: str, sslmode: str | None) -> None:
    assert Server(url).parameters.get("sslmode") == sslmode
