"""A server that is away: what is said is kept here, and handed over once, in order, or as a fork."""

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from co_tui.events import Event, Message, SessionFork, SessionRename, SessionResume, SessionStart
from co_tui.paths import locate
from co_tui.store.postgres import writer as writer_module
from co_tui.store.postgres.away import reconnect as reconnect_module
from co_tui.store.postgres.store import PostgresStore
from co_tui.store.store_errors import SessionBusy, StoreError
from tests.store.test_contract import said
from tests.support.cut_connections import CutConnections, cut_connections
from tests.support.postgres import PostgresServer, postgres_server, postgres_store
from tests.support.waiting import PATIENCE_S, wait_until

NO_SERVER = "postgresql://me@localhost:1/db"


class Told(list[str]):
    """What a store reported."""

    def wait_for(self, words: str) -> str:
        wait_until(lambda: any(words in sentence for sentence in self))
        return next(sentence for sentence in self if words in sentence)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "PATIENCE_S", 0.0)
    monkeypatch.setattr(reconnect_module, "FIRST_TRY_S", 0.01)
    monkeypatch.setattr(reconnect_module, "LONGEST_PAUSE_S", 0.01)


@pytest.fixture(scope="module")
def server() -> PostgresServer:
    return postgres_server()


@pytest.fixture
def database(server: PostgresServer) -> str:
    """Its name."""
    return server.new_database().split("?")[0].rpartition("/")[2]


@pytest.fixture
def way(server: PostgresServer) -> Iterator[CutConnections]:
    with cut_connections(server.socket) as way:
        yield way


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def store(way: CutConnections, database: str, home: Path, told: Told) -> Iterator[PostgresStore]:
    """By way of connections that can be cut."""
    with opened(home, way.url(database), told) as store:
        yield store


@pytest.fixture
def elsewhere(server: PostgresServer, database: str, home: Path) -> Iterator[PostgresStore]:
    """The same database from another machine, which always reaches it."""
    with postgres_store(home / "elsewhere", server.url(database)) as store:
        yield store


def opened(home: Path, url: str, told: Told) -> PostgresStore:
    return PostgresStore(locate({"CO_TUI_HOME": str(home)}), url, report=told.append)


def append(store: PostgresStore, session_id: str, *texts: str) -> tuple[Event, ...]:
    return store.writing().append(session_id, [said(text) for text in texts]).result(PATIENCE_S)


def log(store: PostgresStore, session_id: str) -> list[tuple[int | None, str]]:
    """Seqs with texts, or with the type of what is no message."""
    with store.reading() as reading:
        return [(event.seq, word(event)) for event in reading.events(session_id)]


def word(event: Event) -> str:
    return event.fact.message["parts"][0]["content"] if isinstance(event.fact, Message) else event.type


def expire(server: PostgresServer, database: str) -> None:
    server.execute("UPDATE co_tui.leases SET expires = now() - interval '1 second'", database)


def kept_files(home: Path) -> list[Path]:
    return list((home / "state" / "kept").rglob("*.db"))


def test_what_is_said_while_the_server_is_away_is_handed_over_when_it_is_back(
    store: PostgresStore, elsewhere: PostgresStore, way: CutConnections, told: Told, home: Path
) -> None:
    with store.claim("s"):
        append(store, "s", "before")
        way.take_down()
        assert [event.seq for event in append(store, "s", "one", "two")] == [2, 3]
        append(store, "s", "three")
        assert len(told) == 1 and told[0].startswith("Database postgresql://postgres@127.0.0.1:")
        assert told[0].endswith("What is said meanwhile is kept on this machine and handed over later.")
        assert {file.stat().st_mode & 0o077 for file in kept_files(home)} == {0}
        way.is_down = False
        told.wait_for("is back and has what was kept here.")
        append(store, "s", "after")
        with pytest.raises(SessionBusy):
            elsewhere.claim("s")
    assert log(elsewhere, "s") == list(enumerate(["before", "one", "two", "three", "after"], 1))
    assert len(told) == 2 and kept_files(home) == []


@pytest.mark.parametrize("done", [True, False])
def test_a_commit_whose_answer_is_lost_is_handed_over_once(
    store: PostgresStore, elsewhere: PostgresStore, way: CutConnections, told: Told, done: bool
) -> None:
    with store.claim("s"):
        append(store, "s", "one")
        way.cut_next_commit(done=done, then_down=True)
        assert [event.seq for event in append(store, "s", "two")] == [2]
        append(store, "s", "three")
        assert log(elsewhere, "s") == list(enumerate(["one", "two"] if done else ["one"], 1))
        way.is_down = False
        told.wait_for("is back")
    assert log(elsewhere, "s") == list(enumerate(["one", "two", "three"], 1))


def test_a_session_begun_while_the_server_is_away_is_read_here_and_handed_over_whole(
    store: PostgresStore, elsewhere: PostgresStore, way: CutConnections, told: Told
) -> None:
    way.take_down()
    with store.claim("new"):
        with pytest.raises(SessionBusy):
            store.claim("new")
        store.writing().append("new", [SessionStart(cwd="/here"), said("hello")]).result()
        store.writing().save_reply("new", 0, "{}").result()
        assert log(store, "new") == [(1, "session.start"), (2, "hello")]
        with store.reading() as reading:
            assert reading.session("new").title == "hello" and reading.partial_reply("new") == ["{}"]
            assert [event.seq for event in reading.last_events("new", 1)] == [2]
            assert reading.preview("new").first_prompt == "hello"
        way.is_down = False
        told.wait_for("is back")
        assert elsewhere.claimed() == {"new"}
        with elsewhere.reading() as reading:
            assert reading.session("new").title == "hello" and reading.partial_reply("new") == ["{}"]
    assert log(elsewhere, "new") == log(store, "new") == [(1, "session.start"), (2, "hello")]
    assert elsewhere.claimed() == frozenset()


def test_a_partial_reply_goes_on_here_and_there(
    store: PostgresStore, elsewhere: PostgresStore, way: CutConnections, told: Told
) -> None:
    with store.claim("s"):
        append(store, "s", "question")
        store.writing().save_reply("s", 0, "a").result()
        way.take_down()
        store.writing().save_reply("s", 1, "b").result()
        way.is_down = False
        told.wait_for("is back")
        with elsewhere.reading() as reading:
            assert reading.partial_reply("s") == ["a", "b"]
            way.take_down()
            store.writing().append("s", [said("done")], ends_draft=True).result()
            store.writing().save_reply("s", 0, "next").result()
            way.is_down = False
            wait_until(lambda: reading.partial_reply("s") == ["next"])
    assert log(elsewhere, "s") == [(1, "question"), (2, "done")]


def test_what_was_kept_becomes_a_fork_when_the_session_was_continued_elsewhere(
    store: PostgresStore,
    elsewhere: PostgresStore,
    server: PostgresServer,
    database: str,
    way: CutConnections,
    told: Told,
    home: Path,
) -> None:
    (home / "data" / "sessions" / "s").mkdir(parents=True)
    (home / "data" / "sessions" / "s" / "001.md").write_text("a checkpoint")
    lease = store.claim("s")
    append(store, "s", "shared")
    way.take_down()
    append(store, "s", "here")
    expire(server, database)
    with elsewhere.claim("s", take_over=True):
        append(elsewhere, "s", "there")
    way.is_down = False
    sentence = told.wait_for("was continued elsewhere meanwhile")
    told.wait_for("is back")
    with elsewhere.reading() as reading:
        (fork,) = (row for row in reading.sessions() if row.id != "s")
        events = list(reading.events(fork.id))
    assert fork.id in sentence and fork.title in sentence and fork.title.startswith("shared (from ")
    assert (home / "data" / "sessions" / fork.id / "001.md").read_text() == "a checkpoint"
    assert [word(event) for event in events] == ["shared", "here", "session.fork", "session.rename"]
    assert events[2].fact.source_session_id == "s" and events[2].fact.source_seq == 1  # type: ignore[union-attr]
    assert log(elsewhere, "s") == [(1, "shared"), (2, "there")]
    (later,) = append(store, "s", "and on")
    assert (later.session_id, later.seq) == (fork.id, 5), "what is open here goes on in the fork"
    assert log(store, "s") == log(elsewhere, fork.id)
    assert elsewhere.claimed() == {fork.id}
    lease.release()
    assert elsewhere.claimed() == frozenset() and log(store, "s") == [(1, "shared"), (2, "there")]


def test_a_fork_whose_commit_was_not_answered_gets_what_is_said_until_the_next_try(
    store: PostgresStore,
    elsewhere: PostgresStore,
    server: PostgresServer,
    database: str,
    way: CutConnections,
    told: Told,
) -> None:
    store.claim("s")
    append(store, "s", "shared")
    expire(server, database)
    with elsewhere.claim("s", take_over=True):
        append(elsewhere, "s", "there")
    way.cut_next_commit(done=False)
    append(store, "s", "late")  # kept here: its connection is lost
    way.cut_next_commit(done=True, then_down=True)
    wait_until(lambda: way.is_down)
    append(store, "s", "later")
    way.is_down = False
    told.wait_for("is back")
    (last,) = append(store, "s", "last")
    forked = ["shared", "late", "later", "session.fork", "session.rename", "last"]
    assert log(elsewhere, last.session_id) == list(enumerate(forked, 1))
    with elsewhere.reading() as reading:
        assert len(reading.sessions()) == 2


def test_a_lease_that_another_took_and_gave_back_without_a_word_is_taken_again(
    store: PostgresStore,
    elsewhere: PostgresStore,
    server: PostgresServer,
    database: str,
    way: CutConnections,
    told: Told,
) -> None:
    with store.claim("s"):
        append(store, "s", "one")
        way.take_down()
        append(store, "s", "two")
        expire(server, database)
        elsewhere.claim("s", take_over=True).release()
        way.is_down = False
        told.wait_for("is back")
        append(store, "s", "three")
        assert elsewhere.claimed() == {"s"}
    assert log(elsewhere, "s") == list(enumerate(["one", "two", "three"], 1)) and len(told) == 2


def test_who_wakes_up_late_goes_on_in_a_fork_of_what_it_knew(
    store: PostgresStore, elsewhere: PostgresStore, server: PostgresServer, database: str, told: Told
) -> None:
    asleep = store.claim("s")
    append(store, "s", "before")
    expire(server, database)
    with elsewhere.claim("s", take_over=True):
        append(elsewhere, "s", "after")
        (late,) = append(store, "s", "late")
        assert "was continued elsewhere" in told.wait_for("What was said here is in session")
        store.writing().save_reply("s", 0, "{}").result()
        (later,) = append(store, "s", "later")
        assert later.session_id != "s"
        with pytest.raises(SessionBusy):
            store.writing().delete("s").result()
        asleep.release()
        assert elsewhere.claimed() == {"s"}
    assert late.seq == 2 and log(elsewhere, "s") == [(1, "before"), (2, "after")]
    forked = ["before", "late", "session.fork", "session.rename", "later"]
    assert log(elsewhere, later.session_id) == list(enumerate(forked, 1)) and len(told) == 2


def test_what_needs_the_server_is_refused_in_one_sentence(
    store: PostgresStore, elsewhere: PostgresStore, way: CutConnections, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "LONG_PATIENCE_S", 0.0)
    append(elsewhere, "s", "there")
    store.writing()
    way.take_down()
    writing = store.writing()
    requests: list[Callable[[], object]] = [
        lambda: writing.delete("s").result(),
        lambda: writing.fork("s", "t", None, SessionFork(source_session_id="s", source_seq=1)).result(),
        lambda: writing.import_log([Event(session_id="i", seq=1, timestamp="", fact=SessionStart())]).result(),
        lambda: writing.append("s", [SessionRename(title="new")]).result(),
    ]
    for request in requests:
        with pytest.raises(StoreError, match=r"cannot be reached.* This needs the database: try again when it is back"):
            request()
    with store.claim("s"), pytest.raises(StoreError, match="Session s can be opened when it is back"):
        writing.recover("s").result()
    way.is_down = False
    told.wait_for("is back")
    assert log(elsewhere, "s") == [(1, "there")]


def _talk(url: str, home: Path, acknowledged: Connection) -> None:
    with opened(home, url, Told()) as store:
        store.claim("new")
        store.writing().append("new", [SessionStart(), said("0")]).result()
        store.writing().save_reply(
            "new", 0, '{"turn": 1, "message": {"kind": "response", "parts": [{"content": "partial"}]}}'
        ).result()
        number = 0
        while True:
            acknowledged.send(number)
            number += 1
            append(store, "new", f"{number}")


def test_the_next_start_finds_what_a_killed_process_kept_and_goes_on_with_it(
    way: CutConnections, database: str, home: Path, elsewhere: PostgresStore, told: Told
) -> None:
    way.take_down()
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_talk, args=(way.url(database), home, theirs))
    process.start()
    theirs.close()
    assert ours.poll(PATIENCE_S)
    while (last := ours.recv()) < 10:
        pass
    process.kill()
    process.join()
    try:
        while True:
            last = ours.recv()
    except EOFError:
        ours.close()
    process.close()
    with opened(home, way.url(database), told) as store, store.claim("new"):
        recovered = store.writing().recover("new").result()
        assert [type(event.fact).__name__ for event in recovered] == ["Message", "SessionInterrupted"]
        kept = [text for _, text in log(store, "new")]
        count = len(kept) - 3
        assert kept[1 : count + 1] == [str(number) for number in range(count)] and count in (last + 1, last + 2)
        store.writing().append("new", [SessionResume(), said("and on")]).result()
        way.is_down = False
        told.wait_for("is back")
        append(store, "new", "at last")
        assert elsewhere.claimed() == {"new"}
    assert [text for _, text in log(elsewhere, "new")] == [*kept, "session.resume", "and on", "at last"]
    assert kept_files(home) == []


def test_what_was_kept_is_handed_over_by_the_next_start_that_reaches_the_server(
    way: CutConnections, database: str, home: Path, elsewhere: PostgresStore
) -> None:
    first, then = Told(), Told()
    with opened(home, way.url(database), first) as store:
        lease = store.claim("s")
        append(store, "s", "one")
        way.take_down()
        append(store, "s", "two")
        assert lease is not None  # never released: as after a power cut
    way.is_down = False
    with opened(home, way.url(database), then) as store:
        store.writing()
        then.wait_for("has what was kept here")
    assert log(elsewhere, "s") == [(1, "one"), (2, "two")] and elsewhere.claimed() == frozenset()
    assert kept_files(home) == []


def test_what_belongs_to_another_server_or_to_a_running_process_stays_where_it_is(
    way: CutConnections, database: str, home: Path, elsewhere: PostgresStore, told: Told
) -> None:
    with opened(home, NO_SERVER, told) as store:
        append(store, "other", "for another server")
    way.take_down()
    with opened(home, way.url(database), told) as running:
        append(running, "s", "mine")
        way.is_down = False
        told.wait_for("is back")
    with opened(home, way.url(database), told) as store:
        append(store, "t", "also mine")
    with elsewhere.reading() as reading:
        assert {row.id for row in reading.sessions()} == {"s", "t"}
    assert len(kept_files(home)) == 1
