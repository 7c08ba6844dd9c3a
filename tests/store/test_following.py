"""Watching a session that another process writes, on a server that reports changes."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from co_tui.store.port import Store
from co_tui.store.postgres import change_listener
from co_tui.store.postgres.store import PostgresStore
from tests.store.test_contract import said
from tests.support.delayed_connections import DelayedConnections, delayed_connections
from tests.support.postgres import PostgresServer, postgres_server, postgres_store
from tests.support.stores import store_in
from tests.support.waiting import PATIENCE_S, wait_until


@pytest.fixture
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def writer(url: str, home: Path) -> Iterator[PostgresStore]:
    with postgres_store(home, url) as store:
        yield store


@pytest.fixture
def way(server: PostgresServer) -> Iterator[DelayedConnections]:
    with delayed_connections(server.socket) as way:
        yield way


@pytest.fixture
def reader(way: DelayedConnections, url: str, home: Path) -> Iterator[PostgresStore]:
    """The same database from another machine."""
    with postgres_store(home / "elsewhere", way.url(url.split("?")[0].rpartition("/")[2])) as store:
        yield store


def listening(server: PostgresServer) -> int:
    found = server.execute("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
    return int(str(found[0][0]))


def seqs(store: Store, session_id: str, after: int = 0) -> list[int | None]:
    with store.reading() as reading:
        return [event.seq for event in reading.events(session_id, after=after)]


def test_an_append_elsewhere_is_reported_to_those_who_follow_that_session(
    writer: PostgresStore, reader: PostgresStore
) -> None:
    mine, other = threading.Event(), threading.Event()
    with reader.follow("mine", mine.set) as following, reader.follow("other", other.set):
        wait_until(lambda: mine.is_set() and other.is_set())  # both listen now
        assert following.poll_s == change_listener.POLL_LISTENING_S
        mine.clear(), other.clear()
        writer.writing().append("mine", [said("hello")]).result()
        assert mine.wait(PATIENCE_S) and not other.is_set()
        assert seqs(reader, "mine") == [1]


def test_what_was_said_while_the_connection_was_lost_is_reported_once_it_is_back(
    writer: PostgresStore, reader: PostgresStore, way: DelayedConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_listener, "RECONNECT_S", 0.01)
    changed = threading.Event()
    with reader.follow("mine", changed.set) as following:
        assert changed.wait(PATIENCE_S)
        changed.clear()
        with way.held():
            way.cut()
            wait_until(lambda: following.poll_s == change_listener.POLL_S)
            writer.writing().append("mine", [said("hello")]).result()
        assert changed.wait(PATIENCE_S)
        assert seqs(reader, "mine") == [1]


def test_one_connection_listens_for_all_and_ends_with_the_last(
    reader: PostgresStore, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, heard = listening(server), [threading.Event() for _ in range(3)]
    following = [reader.follow(f"s-{number}", each.set) for number, each in enumerate(heard)]
    wait_until(lambda: all(each.is_set() for each in heard))
    assert listening(server) == before + 1
    for each in following:
        each.close()
    wait_until(lambda: listening(server) == before)


def test_a_server_without_notifications_is_polled_and_appended_to_as_usual(
    writer: PostgresStore, reader: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(change_listener, "can_notify", lambda connection: asked.append(connection))
    with reader.follow("mine", lambda: None) as following:
        wait_until(lambda: asked)
        writer.writing().append("mine", [said("hello")]).result()
        assert following.poll_s == change_listener.POLL_S
        assert seqs(reader, "mine") == [1]


def test_a_report_carries_no_content(writer: PostgresStore, url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"LISTEN {change_listener.CHANNEL}".encode())
        writer.writing().append("mine", [said("a secret"), said("another")]).result()
        heard = next(connection.notifies(timeout=PATIENCE_S))
    assert heard.payload == "2 mine"


def test_sqlite_is_polled(home: Path) -> None:
    with store_in(home) as store, store.follow("mine", lambda: None) as following:
        assert following.poll_s == 0.5
