"""What only a store on a server can show: who may write, lost connections, and what its errors say."""

import contextlib
import logging
import multiprocessing
import random
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest

from co_tui.events import SessionStart
from co_tui.store.postgres import server as server_module
from co_tui.store.postgres import writer as writer_module
from co_tui.store.sync.server.migrations import STEPS
from co_tui.store.sync.server.server import PROGRAM, Server, check_version
from co_tui.store.postgres.store import PostgresStore
from co_tui.store.store_errors import SessionBusy, StoreError
from tests.store.test_contract import said
from tests.support.cut_connections import CutConnections, cut_connections
from tests.support.long_run import drawn
from tests.support.postgres import ASKED, PostgresServer, postgres_server, postgres_store
from tests.support.waiting import PATIENCE_S, wait_until

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def store(url: str, home: Path) -> Iterator[PostgresStore]:
    with postgres_store(home, url) as store:
        yield store


@pytest.fixture
def elsewhere(url: str, home: Path) -> Iterator[PostgresStore]:
    """The same database as another process has it."""
    with postgres_store(home / "elsewhere", url) as store:
        yield store


@pytest.fixture
def way(server: PostgresServer) -> Iterator[CutConnections]:
    with cut_connections(server.socket) as way:
        yield way


def name_of(url: str) -> str:
    return url.split("?")[0].rpartition("/")[2]


def texts(store: PostgresStore, session_id: str) -> list[str]:
    with store.reading() as reading:
        return [event.fact.message["parts"][0]["content"] for event in reading.events(session_id)]


# One writer a session


def expire(server: PostgresServer, url: str) -> None:
    server.execute("UPDATE co_tui.leases SET expires = now() - interval '1 second'", name_of(url))


def test_a_session_that_is_open_elsewhere_is_refused_with_the_name_of_the_host(
    store: PostgresStore, elsewhere: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module.platform, "node", lambda: "blue-laptop")
    with store.claim("s"):
        assert store.claimed() == elsewhere.claimed() == {"s"}
        with pytest.raises(SessionBusy, match="on blue-laptop"):
            elsewhere.claim("s")
        with pytest.raises(SessionBusy, match="on blue-laptop"):
            elsewhere.writing().append("s", [said("unasked")]).result()
        store.writing().append("s", [said("mine")]).result()
    with elsewhere.claim("s"):
        elsewhere.writing().append("s", [said("now mine")]).result()
    assert texts(store, "s") == ["mine", "now mine"] and store.claimed() == frozenset()


def test_who_wakes_up_before_anyone_took_over_goes_on(
    server: PostgresServer, url: str, store: PostgresStore, elsewhere: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.claim("s"):
        expire(server, url)
        monkeypatch.setattr(writer_module, "RENEW_S", 0.0)
        store.writing().append("s", [said("still mine")]).result()
        store.writing().append("s", [said("and renewed")]).result()
        with pytest.raises(SessionBusy):
            elsewhere.claim("s")


def test_what_a_killed_process_of_this_machine_held_is_free_at_once(
    server: PostgresServer, url: str, store: PostgresStore, elsewhere: PostgresStore
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    store.claim("s")
    server.execute(f"UPDATE co_tui.leases SET process = {ended.pid}", name_of(url))
    assert elsewhere.claimed() == frozenset()
    elsewhere.claim("s").release()
    server.execute("UPDATE co_tui.leases SET machine = 'another'", name_of(url))


def test_many_claims_at_once_have_one_winner(store: PostgresStore, elsewhere: PostgresStore) -> None:
    won: list[object] = []

    def claim(on: PostgresStore) -> None:
        for _ in range(5):
            with contextlib.suppress(SessionBusy):
                won.append(on.claim("s"))

    threads = [threading.Thread(target=claim, args=(on,)) for on in (store, elsewhere) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


# Lost connections


@pytest.mark.parametrize("done", [True, False])
def test_a_commit_whose_answer_is_lost_is_made_once(way: CutConnections, url: str, home: Path, done: bool) -> None:
    with postgres_store(home, way.url(name_of(url))) as store:
        with store.claim("s"):
            store.writing().append("s", [said("one")]).result()
            way.cut_next_commit(done=done)
            (event,) = store.writing().append("s", [said("two")]).result()
            assert event.seq == 2
            store.writing().append("s", [said("three")]).result()
        assert texts(store, "s") == ["one", "two", "three"]


@pytest.mark.parametrize("done", [True, False])
def test_who_tries_again_after_a_failure_saves_nothing_twice(
    way: CutConnections, url: str, home: Path, done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    with PostgresStore(_paths(home), way.url(name_of(url)), report=told.append) as store:
        lease = store.claim("s")
        store.writing().append("s", [said("one")]).result()
        monkeypatch.setattr(writer_module, "PATIENCE_S", 0.0)
        (home / "state").mkdir(parents=True, exist_ok=True)
        (home / "state" / "kept").touch()  # nothing can be kept here either
        way.cut_next_commit(done=done, then_down=True)
        for _ in range(2):
            with pytest.raises(StoreError, match="kept"):
                store.writing().append("s", [said("two")]).result()
        way.is_down = False
        wait_until(lambda: any("is back" in sentence for sentence in told))
        events = store.writing().append("s", [said("two"), said("three")]).result()
        assert [(event.seq, event.fact) for event in events] == [(2, said("two")), (3, said("three"))]
        assert store.writing().append("s", [said("two")]).result()[0].seq == 4, "said again later, it is another"
        lease.release()
        assert texts(store, "s") == ["one", "two", "three", "two"]


def test_a_lost_connection_of_which_the_server_does_not_know_holds_nothing_up(
    way: CutConnections, server: PostgresServer, url: str, home: Path
) -> None:
    with postgres_store(home, way.url(name_of(url))) as store:
        store.writing().append("s", [said("one")]).result()
        writer = store.writing().leases.owner.writer
        with psycopg.connect(server.url(name_of(url)), application_name=f"{PROGRAM} {writer}") as lost:
            lost.execute("UPDATE co_tui.writers SET seen = now()")  # it waits for the rest, for hours
            way.cut()
            assert store.writing().append("s", [said("two")]).result(PATIENCE_S)[0].seq == 2
            with contextlib.suppress(psycopg.Error):
                lost.rollback()
            lost.close()


def test_a_reader_that_is_closed_while_it_is_cancelled_gives_its_connection_back(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    starting, closing = threading.Event(), threading.Event()
    start = threading.Thread.start

    def started_late(thread: threading.Thread) -> None:
        if thread.name == "cancelling":
            starting.set()
            closing.wait(0.2)  # long enough for a close that does not wait
        start(thread)

    reading = store.reading()
    assert reading.count() == 0
    monkeypatch.setattr(threading.Thread, "start", started_late)
    cancelling = threading.Thread(target=reading.cancel)
    cancelling.start()
    assert starting.wait(PATIENCE_S)
    reading.close()
    closing.set()
    cancelling.join()
    with store.reading() as other:
        assert other.count() == 0


def test_a_claim_whose_answer_is_lost_is_made_once(way: CutConnections, url: str, home: Path) -> None:
    with postgres_store(home, way.url(name_of(url))) as store:
        store.writing()
        way.cut_next_commit(done=True)
        with store.claim("s"), pytest.raises(SessionBusy):
            store.claim("s")
        store.claim("s").release()


def test_a_server_killed_at_any_moment_loses_nothing_that_it_acknowledged(
    server: PostgresServer, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "PATIENCE_S", PATIENCE_S)
    chance, acknowledged, stop = random.Random(7), threading.Semaphore(0), threading.Event()
    written: list[int] = []

    def talk() -> None:
        while not stop.is_set():
            number = len(written)
            assert store.writing().append("s", [said(f"{number}")]).result()[0].seq == number + 1
            written.append(number)
            acknowledged.release()

    talking = threading.Thread(target=talk)
    with store.claim("s"):
        talking.start()
        for _ in range(drawn(3)):
            for _ in range(chance.randrange(1, 40)):
                assert acknowledged.acquire(timeout=PATIENCE_S)
            server.kill()
            server.start()
        stop.set()
        talking.join()
    assert texts(store, "s") == [str(number) for number in written], "all once, in order, also by a reader from before"


def test_a_reader_connects_again_by_itself(server: PostgresServer, store: PostgresStore) -> None:
    store.writing().append("s", [said("kept")]).result()
    with store.reading() as reading:
        assert reading.count() == 1
        server.kill()
        with pytest.raises(StoreError, match="cannot be reached"):
            reading.count()
        server.start()
        assert reading.count() == 1


def _talk(url: str, home: Path, acknowledged: Connection) -> None:
    with postgres_store(home, url) as store:
        store.claim("s")
        number = 0
        while True:
            store.writing().append("s", [said(f"{number}")]).result()
            acknowledged.send(number)
            number += 1


def test_a_killed_process_leaves_all_that_it_acknowledged_and_its_session_to_the_next(
    url: str, store: PostgresStore, home: Path
) -> None:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_talk, args=(url, home, theirs))
    process.start()
    theirs.close()
    assert ours.poll(PATIENCE_S)
    while ours.recv() < 20:
        pass
    with pytest.raises(SessionBusy):
        store.claim("s")
    process.kill()
    process.join()
    last = 20
    try:
        while True:
            last = ours.recv()
    except EOFError:
        ours.close()
    with store.claim("s"):
        kept = texts(store, "s")
        assert kept == [str(number) for number in range(len(kept))] and len(kept) in (last + 1, last + 2)
    process.close()


# Opening


def test_processes_that_create_the_schema_at_the_same_moment_all_succeed(server: PostgresServer, home: Path) -> None:
    url = server.empty_database()
    stores = [postgres_store(home, url) for _ in range(4)]
    threads = [
        threading.Thread(target=lambda each=each, n=n: each.writing().append(f"s{n}", [SessionStart()]).result())
        for n, each in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with stores[0].reading() as reading:
        assert reading.count() == 4
    for each in stores:
        each.close()


def test_a_database_of_a_newer_version_is_refused(server: PostgresServer, url: str, store: PostgresStore) -> None:
    server.execute(f"INSERT INTO co_tui.schema_steps(number, name) VALUES({len(STEPS) + 1}, 'later')", name_of(url))
    with pytest.raises(StoreError, match="from a newer co-tui"):
        store.writing()
    with store.reading() as reading, pytest.raises(StoreError, match="from a newer co-tui"):
        reading.count()


def test_a_password_is_used_and_never_shown(
    server: PostgresServer, url: str, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.execute(f"DROP ROLE IF EXISTS {ASKED}")
    server.execute(f"CREATE ROLE {ASKED} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    asked = url.replace("postgres@", f"{ASKED}@")
    for given in ("", "wrong " + PASSWORD):
        store = PostgresStore(_paths(home), asked, lambda given=given: given)
        with pytest.raises(StoreError, match="refused the password") as failure, store.reading() as reading:
            reading.count()
        shown = "".join(traceback.format_exception(failure.value)) + repr(vars(failure.value)) + caplog.text
        assert PASSWORD not in shown
    with PostgresStore(_paths(home), asked, lambda: PASSWORD) as store, store.reading() as reading:
        assert reading.count() == 0
        assert PASSWORD not in store.location + repr(Server(asked, lambda: PASSWORD)) + repr(reading._connection)


def _paths(home: Path):  # type: ignore[no-untyped-def]
    from co_tui.paths import locate

    return locate({"CO_TUI_HOME": str(home)})


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("postgresql://me@localhost:1/x", r"cannot be reached: connection refused\. Try again later\."),
        ("postgresql://me@nowhere.invalid/x", "cannot be reached: failed to resolve host"),
        ("postgresql://me@h/x?no_such=1", "is not a valid URL"),
        ("postgresql://me:secret@h/x", "must not contain a password"),
    ],
)
def test_a_server_that_cannot_be_used_is_one_sentence(home: Path, url: str, sentence: str) -> None:
    with PostgresStore(_paths(home), url) as store:
        writing = [] if "cannot be reached" in sentence else [store.writing]
        for use in (*writing, lambda: store.reading().count(), store.claimed):
            with pytest.raises(StoreError, match=sentence) as failure:
                use()
            assert "secret" not in str(failure.value) and "\n" not in str(failure.value)


def test_a_missing_database_and_an_old_server_are_one_sentence(server: PostgresServer, home: Path) -> None:
    with PostgresStore(_paths(home), server.url("missing")) as store, pytest.raises(StoreError, match="does not exist"):
        store.writing()
    with pytest.raises(StoreError, match=r"runs PostgreSQL 9\.6, which is too old\. Use 11 or newer\."):
        check_version(90_600, "postgresql://h/x")


@pytest.mark.parametrize(
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
