"""Sessions on several machines that share a server: pushed, pulled, forked where both went on, deleted everywhere."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from co_tui.events import Event, Message, SessionFork, SessionPinned, SessionRename, SessionResume, SessionStart
from co_tui.store.store_errors import SessionAbandoned, SessionBusy, SessionNotFound, SessionOfAnother, StoreError
from co_tui.store.sync.server import server as server_module
from co_tui.store.sync.server import server_rows
from co_tui.store.sync.server.others_sessions import OthersSessions
from co_tui.store.sync.server.server import Connection, Server
from tests.store.test_contract import said
from tests.support.cut_connections import CutConnections, cut_connections
from tests.support.forked import forked
from tests.support.machines import Machine, hurry
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.waiting import PATIENCE_S, wait_until


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


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
def laptop(way: CutConnections, database: str, home: Path) -> Iterator[Machine]:
    """By way of connections that can be cut."""
    with Machine(home / "laptop", way.url(database)) as machine:
        yield machine


@pytest.fixture
def desktop(server: PostgresServer, database: str, home: Path) -> Iterator[Machine]:
    with Machine(home / "desktop", server.url(database)) as machine:
        yield machine


def append(machine: Machine, session_id: str, *texts: str) -> tuple[Event, ...]:
    return machine.writing().append(session_id, [said(text) for text in texts]).result(PATIENCE_S)


def begun(machine: Machine, session_id: str, *texts: str) -> None:
    """A session that was started and closed."""
    with machine.claim(session_id):
        machine.writing().append(session_id, [SessionStart(cwd="/x", host="laptop"), *map(said, texts)]).result()


def titles(machine: Machine) -> dict[str, str]:
    with machine.reading() as reading:
        return {row.title: row.id for row in reading.sessions()}


def test_what_is_said_on_one_machine_is_continued_on_another(laptop: Machine, desktop: Machine) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    assert desktop.sync.refresh() == "" and desktop.said("s", "o") == ["one"]
    with desktop.claim("s"):
        append(desktop, "s", "two")
    desktop.settle()
    with laptop.claim("s"):
        assert laptop.said("s")[-1] == "two", "claiming pulls the newest events first"
    assert not laptop.reports and not desktop.reports


def test_while_the_server_is_away_everything_works_and_is_pushed_later(
    laptop: Machine, desktop: Machine, way: CutConnections
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    way.take_down()
    with laptop.claim("s"):
        append(laptop, "s", "two", "three")
        begun(laptop, "new", "begun away")
        wait_until(lambda: laptop.reported("cannot be reached") == 1)
        assert laptop.sync.unpushed().text == "2 sessions not pushed yet" and laptop.sync.unpushed().reason
        assert "cannot be reached" in laptop.sync.refresh()
        way.bring_back()
        laptop.settle()
    assert laptop.reported("is back.") >= 1 and not laptop.sync.unpushed()
    desktop.settle()
    assert desktop.said("s")[1:] == ["one", "two", "three"] and desktop.said("new")[1:] == ["begun away"]


def test_the_next_process_pushes_what_a_killed_one_left(
    server: PostgresServer, database: str, home: Path, desktop: Machine
) -> None:
    context = forked()
    process = context.Process(target=_say_and_die, args=(home / "laptop",))
    process.start()
    process.join(PATIENCE_S)
    assert process.exitcode == -signal.SIGKILL
    with Machine(home / "laptop", server.url(database)) as laptop:
        assert laptop.sync.unpushed().sessions == 1
        laptop.settle()
    desktop.settle()
    assert desktop.said("s")[1:] == ["said before the kill"]


def test_a_process_that_ends_before_the_server_answers_still_pushes_what_was_left(
    server: PostgresServer, database: str, home: Path, desktop: Machine
) -> None:
    with Machine(home / "laptop", "postgresql://me@localhost:1/db") as laptop:
        begun(laptop, "old", "said while it was away")
    with Machine(home / "laptop", server.url(database)) as laptop:

        def late() -> Server:
            wait_until(lambda: laptop.sync._is_closing)
            return Server(server.url(database))

        laptop.sync._make = late
        begun(laptop, "new", "said in a hurry")
    desktop.settle()
    assert desktop.said("old")[1:] == ["said while it was away"] and desktop.said("new")[1:] == ["said in a hurry"]


def _say_and_die(home: Path) -> None:
    laptop = Machine(home, "postgresql://me@localhost:1/db")
    begun(laptop, "s", "said before the kill")
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_both_machines_said_is_in_the_session_and_in_a_fork_of_it(
    laptop: Machine, desktop: Machine, way: CutConnections
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    desktop.settle()
    way.take_down()
    with laptop.claim("s"):
        laptop.writing().append("s", [SessionResume(host="laptop")]).result()
        append(laptop, "s", "on the laptop")
    with desktop.claim("s"):
        append(desktop, "s", "on the desktop")
    desktop.settle()
    way.bring_back()
    for machine in (laptop, desktop, laptop, desktop):
        machine.settle()
    assert titles(laptop) == titles(desktop) and set(titles(laptop)) == {"one", "one (from laptop)"}
    fork = titles(laptop)["one (from laptop)"]
    for machine in (laptop, desktop):
        assert machine.said("s")[1:] == ["one", "on the desktop"]
        assert [word for word in machine.said(fork) if "." not in word] == ["one", "on the laptop"]
    assert laptop.reported(f"was continued twice: see also {fork}") == 1


def test_a_session_that_is_open_here_becomes_a_fork_when_it_is_closed(
    laptop: Machine, desktop: Machine, way: CutConnections, server: PostgresServer, database: str
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    way.take_down()
    with laptop.claim("s"):
        append(laptop, "s", "away")
        desktop.settle()
        with desktop.claim("s"):
            append(desktop, "s", "there")
        desktop.settle()
        way.bring_back()
        laptop.sync.refresh()
        wait_until(lambda: laptop.reported("was continued elsewhere") == 1)
        append(laptop, "s", "still open")
        assert laptop.said("s")[1:] == ["one", "away", "still open"], "nothing changes under an open session"
        assert laptop.sync.unpushed().sessions == 1
    laptop.settle()
    desktop.settle()
    fork = titles(desktop)["one (from laptop)"]
    assert [word for word in desktop.said(fork) if "." not in word] == ["one", "away", "still open"]
    assert laptop.said("s")[1:] == desktop.said("s")[1:] == ["one", "there"]


def test_a_pin_and_a_new_name_on_two_machines_fork_nothing(
    laptop: Machine, desktop: Machine, way: CutConnections
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    desktop.settle()
    way.take_down()
    laptop.writing().append("s", [SessionPinned()]).result()
    desktop.writing().append("s", [SessionRename(title="Named")]).result()
    desktop.settle()
    way.bring_back()
    for machine in (laptop, desktop):
        machine.settle()
        assert set(titles(machine)) == {"Named"}
        with machine.reading() as reading:
            assert reading.session("s").pinned


def test_a_deleted_session_is_deleted_everywhere_and_words_it_did_not_have_come_back(
    laptop: Machine, desktop: Machine, way: CutConnections
) -> None:
    begun(laptop, "s", "one")
    begun(laptop, "t", "other")
    for machine in (laptop, desktop):
        machine.settle()
    way.take_down()
    with laptop.claim("s"):
        append(laptop, "s", "said before it was known")
    for session_id in ("s", "t"):
        with desktop.claim(session_id):
            desktop.delete(session_id)
    desktop.settle()
    way.bring_back()
    for machine in (laptop, desktop, laptop):
        machine.settle()
    for machine in (laptop, desktop):
        assert set(titles(machine)) == {"one (from laptop)"}
        fork = titles(machine)["one (from laptop)"]
        assert [word for word in machine.said(fork) if "." not in word] == ["one", "said before it was known"]


def test_a_session_that_is_open_elsewhere_is_refused_and_taken_over_when_it_was_left(
    laptop: Machine, desktop: Machine, server: PostgresServer, database: str
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    desktop.settle()
    with laptop.claim("s"):
        with pytest.raises(SessionBusy, match="is open in another co-tui"):
            desktop.claim("s")
        desktop.settle()
        assert "s" in desktop.claimed()
        server.execute("UPDATE co_tui.leases SET expires = now() - interval '1 second', machine = 'x'", database)
        with pytest.raises(SessionAbandoned):
            desktop.claim("s")
        with desktop.claim("s", take_over=True):
            append(desktop, "s", "two")
    desktop.settle()
    laptop.settle()
    assert laptop.said("s")[1:] == ["one", "two"]


def test_a_session_that_was_closed_while_the_server_was_away_can_be_opened_everywhere(
    laptop: Machine, desktop: Machine, way: CutConnections
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    claim = laptop.claim("s")
    way.take_down()
    append(laptop, "s", "two")
    wait_until(lambda: laptop.reported("cannot be reached"))
    claim.release()
    assert "cannot be reached" in laptop.sync.refresh(), "the lease could not be released"
    way.bring_back()
    laptop.settle()
    for machine in (laptop, desktop):
        machine.settle()
        machine.claim("s").release()


def test_a_deletion_is_pushed_at_once_and_other_machines_hear_of_it(laptop: Machine, desktop: Machine) -> None:
    begun(laptop, "s", "one")
    for machine in (laptop, desktop):
        machine.settle()
    with laptop.claim("s"):
        laptop.delete("s")
    laptop.close()
    wait_until(lambda: not titles(desktop))


def test_a_session_that_cannot_be_pushed_is_named_and_the_others_are_pushed(laptop: Machine, desktop: Machine) -> None:
    nested: dict[str, object] = {}
    for _ in range(900):
        nested = {"in": nested}
    begun(laptop, "b")
    laptop.writing().append("b", [Message(turn=1, message={"kind": "request", "parts": [nested]})]).result()
    begun(laptop, "a", "one")
    wait_until(lambda: laptop.sync.refresh() == "" and "Session b is not synced" in laptop.sync.unpushed().reason)
    wait_until(lambda: laptop.sync.unpushed().sessions == 1)
    desktop.settle()
    assert titles(desktop)["one"] == "a"


def test_after_a_statement_that_failed_everything_goes_on(
    laptop: Machine, server: PostgresServer, database: str
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    server.execute("ALTER TABLE co_tui.leases RENAME TO hidden", database)
    assert "is damaged" in laptop.sync.refresh()
    server.execute("ALTER TABLE co_tui.hidden RENAME TO leases", database)
    laptop.settle()
    wait_until(lambda: not laptop.sync.unpushed().reason)


def test_a_server_that_hangs_is_away(
    laptop: Machine, server: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    of_laptop = f"SELECT pid FROM pg_stat_activity WHERE application_name = 'co-tui' AND datname = '{database}'"
    ((process,),) = server.execute(of_laptop)
    monkeypatch.setattr(server_module, "ANSWER_S", 0.5)
    os.kill(int(str(process)), signal.SIGSTOP)
    try:
        assert "cannot be reached: timeout expired" in laptop.sync.refresh()
        monkeypatch.undo()
        laptop.settle()
    finally:
        os.kill(int(str(process)), signal.SIGCONT)


def test_a_damaged_session_of_another_user_stops_nothing_when_it_is_opened(server: PostgresServer, home: Path) -> None:
    url = server.new_database()
    with (
        Machine(home / "alice", server.url_for("alice", url)) as alice,
        Machine(home / "bob", server.url_for("bob", url)) as bob,
    ):
        begun(alice, "s", "one", "two")
        alice.sync.share("s", shared=True).result(PATIENCE_S)
        server.execute("DELETE FROM co_tui.events WHERE seq = 2", url.partition("?")[0].rpartition("/")[2])
        bob.settle()
        assert "lacks event 2" in bob.sync.refresh("s")
        assert not bob.sync.unpushed().reason and bob.sync.refresh() == ""


def test_what_others_share_is_listed_read_and_not_changed(server: PostgresServer, home: Path) -> None:
    url = server.new_database()
    with (
        Machine(home / "alice", server.url_for("alice", url)) as alice,
        Machine(home / "bob", server.url_for("bob", url)) as bob,
    ):
        begun(alice, "s", "the heron")
        begun(alice, "secret", "the key")
        alice.settle()
        bob.settle()
        assert titles(bob) == {}
        alice.sync.share("s", shared=True).result(PATIENCE_S)
        bob.settle()
        with bob.reading() as reading:
            (row,) = reading.sessions()
            assert (row.owner, row.title, row.id) == ("alice", "the heron", "s")
            assert [hit.session.id for hit in reading.search("heron").hits] == ["s"]
            assert reading.latest("/x") is None and reading.prompts(9) == []
        with pytest.raises(SessionOfAnother):
            bob.claim("s")
        assert bob.sync.unpushed().sessions == 0
        with alice.claim("s"):
            append(alice, "s", "more")
        alice.settle()
        bob.settle()
        assert bob.said("s")[-1] == "more"
        alice.sync.share("s", shared=False).result(PATIENCE_S)
        bob.settle()
        assert titles(bob) == {}
        with pytest.raises(SessionNotFound), bob.reading() as reading:
            reading.session("s")


def test_the_text_of_another_users_session_is_fetched_once(
    server: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, fetched, fetch = server.new_database(), list[str](), OthersSessions.fetch

    def counted(self: OthersSessions, connection: Connection, session_id: str, *limit: int) -> int:
        fetched.append(session_id)
        return fetch(self, connection, session_id, *limit)

    monkeypatch.setattr(OthersSessions, "fetch", counted)
    with Machine(home / "alice", server.url_for("alice", url)) as alice:
        begun(alice, "s", "one")
        alice.sync.share("s", shared=True).result(PATIENCE_S)
    with Machine(home / "bob", server.url_for("bob", url)) as bob:
        for _ in range(5):
            bob.settle()
    assert fetched == ["s"]


def test_sharing_needs_the_server(laptop: Machine, way: CutConnections) -> None:
    begun(laptop, "s", "one")
    way.take_down()
    with pytest.raises(StoreError, match="cannot be reached"):
        laptop.sync.share("s", shared=True).result(PATIENCE_S)


def test_a_new_server_gets_everything_again(laptop: Machine, server: PostgresServer, database: str, home: Path) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    server.execute("DELETE FROM co_tui.events", database)
    server.execute("DELETE FROM co_tui.sessions", database)
    laptop.settle()
    with Machine(home / "third", server.url(database)) as third:
        third.settle()
        assert third.said("s")[1:] == ["one"]


def test_a_long_session_arrives_whole(laptop: Machine, desktop: Machine) -> None:
    begun(laptop, "s", *(f"text {number}" for number in range(1_300)))
    laptop.settle()
    desktop.settle()
    assert desktop.said("s", "text") == [f"text {number}" for number in range(1_300)]


def test_forks_are_ordinary_sessions(laptop: Machine, desktop: Machine) -> None:
    begun(laptop, "s", "one")
    laptop.writing().fork("s", "f", None, SessionFork(source_session_id="s", source_seq=2)).result()
    laptop.settle()
    desktop.settle()
    assert desktop.said("f")[1:2] == ["one"]
    with desktop.reading() as reading:
        assert [event.fact for event in reading.events("f")][-1] == SessionFork(source_session_id="s", source_seq=2)
        assert sum(isinstance(event.fact, Message) for event in reading.events("f")) == 1


def test_a_fetched_session_is_not_fetched_again_and_again(server: PostgresServer, home: Path) -> None:
    url = server.new_database()
    with (
        Machine(home / "alice", server.url_for("alice", url)) as alice,
        Machine(home / "bob", server.url_for("bob", url)) as bob,
    ):
        begun(alice, "s", "the heron")
        alice.sync.share("s", shared=True).result(PATIENCE_S)
        bob.settle()
        fetched: list[str] = []
        asked = server_rows.events
        with mock.patch.object(server_rows, "events", lambda *given: (fetched.append(given[1]), asked(*given))[1]):
            append(bob, "own", "said here")
            with alice.claim("s"):
                append(alice, "s", "more")
            alice.settle()
            wait_until(lambda: bob.said("s")[-1] == "more")
            bob.settle()
        assert fetched.count("s") <= 3


def test_what_the_server_reports_while_it_answers_something_else_is_pulled(laptop: Machine, desktop: Machine) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    desktop.settle()

    def push_while_asked(connection: Connection) -> None:
        with laptop.claim("s"):
            append(laptop, "s", "two")
        laptop.settle()
        connection.execute("SELECT 1")  # reads what the server has sent until now

    desktop.sync._ask(push_while_asked).result(PATIENCE_S)
    wait_until(lambda: desktop.said("s")[-1] == "two")


def test_a_server_that_was_restored_and_continued_elsewhere_is_noticed_although_it_has_as_many_events(
    laptop: Machine, desktop: Machine, way: CutConnections, server: PostgresServer, database: str
) -> None:
    begun(laptop, "s", "one")
    laptop.settle()
    desktop.settle()
    with laptop.claim("s"):
        append(laptop, "s", "on the laptop")
    laptop.settle()
    way.take_down()
    server.execute("DELETE FROM co_tui.events WHERE seq > 2; UPDATE co_tui.sessions SET last_seq = 2", database)
    with desktop.claim("s"):
        desktop.writing().replace_tail("s", 2, []).result()
        append(desktop, "s", "on the desktop")
    desktop.settle()
    way.bring_back()
    for machine in (laptop, desktop, laptop):
        machine.settle()
    assert titles(laptop) == titles(desktop) and len(titles(laptop)) == 2
