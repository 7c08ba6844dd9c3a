"""Sessions and events on the server: pushed once, read with checks, deleted by the latest decision."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from co_tui.store.store_errors import SessionAbandoned, SessionBusy, SessionNotFound, SessionOfAnother
from co_tui.store.stored_values import Deletion
from co_tui.store.sync.deleted_words import digests, tips_of
from co_tui.store.sync.server import leases as leases_module
from co_tui.store.sync.server import server_rows
from co_tui.store.sync.server.leases import Leases
from co_tui.store.sync.server.server import Connection
from co_tui.store.sync.server.server_rows import BadRows, Push
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.pushing import connect, log_of, push_log, row_of

NOW, LATER = "2026-02-01T10:00:00.000000Z", "2026-02-01T10:00:01.000000Z"


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


# Pushing


def test_a_pushed_log_comes_back_as_it_was(connection: Connection) -> None:
    log = log_of("s", "the heron", "an egret \0 and \ud800 more")
    assert push_log(connection, log[:2]) is Push.DONE
    assert push_log(connection, log, after=2) is Push.DONE
    found = server_rows.listing(connection)
    assert found.own == {"s": 3} and not found.shared and not found.others and not found.bad
    assert server_rows.events(connection, "s", 0)[:2] == log[:2] and len(server_rows.events(connection, "s", 0)) == 3
    assert server_rows.events(connection, "s", 1, 2) == log[1:2]
    assert server_rows.tip(connection, "s", 2) == (log[1].type, log[1].timestamp)
    assert server_rows.tip(connection, "s", 4) is None
    assert server_rows.tips(connection, "s", 1) == [(each.seq, each.type, each.timestamp) for each in log[1:]]
    assert server_rows.size(connection, "s", 1) > server_rows.size(connection, "s", 2) > 0
    row = connection.execute("SELECT title, cwd, last_seq, messages, created FROM sessions").fetchone()
    assert row == ("the heron", "/shop", 3, 2, row_of(log).created)


def test_pushing_again_doubles_nothing_and_adds_the_rest(connection: Connection) -> None:
    log = log_of("s", "one", "two", "three")
    for _ in range(2):
        assert push_log(connection, log[:3]) is Push.DONE
    assert push_log(connection, log) is Push.DONE, "all of it, of which some is there"
    assert push_log(connection, log, after=2) is Push.DONE
    assert server_rows.events(connection, "s", 0) == log


def test_a_part_of_a_long_log_leaves_a_row_that_fits_it(connection: Connection) -> None:
    log = log_of("s", "one", "two")
    whole = row_of(log)
    assert server_rows.push(connection, whole, 0, None, log[:1], 0) is Push.DONE
    assert server_rows.listing(connection).own == {"s": 1}


def test_what_the_server_has_and_this_machine_has_not_is_never_overwritten(connection: Connection) -> None:
    log = log_of("s", "one", "two")
    push_log(connection, log)
    other = [*log[:2], *log_of("s", "another two", "three", after=2, minute=5)]
    assert push_log(connection, other, after=2) is Push.DIFFERS
    assert push_log(connection, log[:2]) is Push.DIFFERS, "the server has more"
    assert push_log(connection, other, after=3) is Push.DIFFERS, "the event it continues is another"
    assert push_log(connection, [*log, *log_of("s", "x", "y", after=3)], after=4) is Push.DIFFERS, "one is missing"
    assert push_log(connection, log_of("new", "x"), after=1) is Push.DIFFERS
    assert server_rows.events(connection, "s", 0) == log and server_rows.listing(connection).own == {"s": 3}


def test_processes_that_push_different_words_at_once_have_one_winner(url: str) -> None:
    outcomes: list[Push] = []

    def go(number: int) -> None:
        with connect(url) as connection:
            outcomes.append(push_log(connection, log_of("s", f"of {number}", minute=number)))

    threads = [threading.Thread(target=go, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.value for each in outcomes) == ["differs", "differs", "differs", "done"]


def test_a_push_is_reported_to_all_who_listen(url: str, connection: Connection) -> None:
    with connect(url) as listening:
        listening.execute(f"LISTEN {server_rows.CHANNEL}".encode())
        push_log(connection, log_of("s", "one"))
        assert [each.payload for each in listening.notifies(timeout=10, stop_after=1)] == ["2 s"]


def test_a_client_that_vanishes_in_a_push_does_not_keep_the_session_locked(
    server: PostgresServer, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = list[object]()

    def look(*what: object) -> None:
        asked = f"SELECT state FROM pg_stat_activity WHERE pid = {connection.info.backend_pid}"
        states.extend(row[0] for row in server.execute(asked))

    monkeypatch.setattr(server_rows, "_refusal", look)
    assert push_log(connection, log_of("s", "one")) is Push.DONE
    assert states == ["idle in transaction"], "the server ends no other transaction whose client says nothing more"


def test_only_its_owner_shares_a_session(connection: Connection) -> None:
    push_log(connection, log_of("s", "one"))
    server_rows.share(connection, "s", shared=True)
    assert server_rows.listing(connection).shared == {"s"} == server_rows.listing(connection, ["s", "x"]).shared
    assert server_rows.listing(connection, ["x"]).own == {}
    server_rows.share(connection, "s", shared=False)
    assert not server_rows.listing(connection).shared
    with pytest.raises(SessionNotFound):
        server_rows.share(connection, "x", shared=True)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("DELETE FROM events WHERE seq = 2", "lacks event 2 of session s"),
        ("DELETE FROM events WHERE seq = 3", "lacks event 3 of session s"),
        ("UPDATE events SET timestamp = 'soon' WHERE seq = 2", "Event 2 of session s on the server is damaged"),
        ("UPDATE events SET version = -1 WHERE seq = 2", "Event 2 of session s on the server is damaged"),
        ("UPDATE events SET type = repeat('x', 5000) WHERE seq = 2", "Event 2 of session s on the server is damaged"),
    ],
)
def test_a_damaged_log_is_one_sentence(connection: Connection, change: str, sentence: str) -> None:
    push_log(connection, log_of("s", "one", "two"))
    connection.execute(change.encode())
    with pytest.raises(BadRows, match=sentence):
        server_rows.events(connection, "s", 0)


def test_an_unreadable_payload_keeps_the_rest_readable(connection: Connection) -> None:
    push_log(connection, log_of("s", "one", "two"))
    deep = '{"message":' + "[" * 500 + "]" * 500 + ', "x": NaN}'
    connection.execute("UPDATE events SET payload = %s WHERE seq = 2", (deep,))
    connection.execute("UPDATE events SET payload = '[' WHERE seq = 3")
    _, second, third = server_rows.events(connection, "s", 0)
    assert "nan" not in repr(second).lower() and "[" * 100 not in repr(second) and third.type == "message"


# Deletions


def test_a_deletion_removes_all_and_is_not_undone_by_a_push(connection: Connection) -> None:
    log = log_of("s", "one")
    push_log(connection, log)
    connection.execute("INSERT INTO files(name, body) VALUES('sessions/s/a', 'x'), ('drafts/s', 'x'), ('mine', 'x')")
    connection.execute("INSERT INTO drafts VALUES('s', 0, 'half a reply')")
    assert server_rows.put_deletion(connection, Deletion("s", NOW, 1)) is Push.DIFFERS, "it has words beyond"
    assert server_rows.deletions(connection) == [] and server_rows.events(connection, "s", 0) == log
    deletion = Deletion("s", NOW, 2)
    for _ in range(2):
        assert server_rows.put_deletion(connection, deletion) is Push.DONE
    assert server_rows.deletions(connection) == [deletion] and server_rows.listing(connection).own == {}
    for table, left in (("sessions", 0), ("events", 0), ("drafts", 0), ("files", 1)):
        assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (left,)
    assert push_log(connection, log) is Push.DELETED and server_rows.listing(connection).own == {}


def test_other_words_at_the_places_of_deleted_ones_are_not_removed(connection: Connection) -> None:
    log = log_of("s", "one", "two")
    push_log(connection, log)
    deleted = digests(tips_of([*log[:-1], log[-1].but(timestamp=LATER)]))
    deletion = Deletion("s", NOW, len(log), said=deleted)
    assert server_rows.put_deletion(connection, deletion) is Push.DIFFERS
    assert server_rows.events(connection, "s", 0) == log
    assert server_rows.put_deletion(connection, deletion, len(log)) is Push.DONE, "a fork has them"
    assert server_rows.deletions(connection) == [deletion]


def test_the_latest_decision_counts(connection: Connection) -> None:
    assert server_rows.put_deletion(connection, Deletion("s", NOW, 2)) is Push.DONE
    back = Deletion("s", f"{NOW}+", 2, is_deleted=False)
    assert server_rows.put_deletion(connection, back) is Push.DONE
    assert server_rows.put_deletion(connection, Deletion("s", NOW, 9)) is Push.OLDER
    assert server_rows.deletions(connection) == [back]
    assert push_log(connection, log_of("s", "one")) is Push.DONE
    again = Deletion("s", LATER, 2)
    assert server_rows.put_deletion(connection, again) is Push.DONE
    assert server_rows.put_deletion(connection, again._replace(is_deleted=False)) is Push.OLDER, "to delete wins"
    assert server_rows.listing(connection).own == {}


def test_a_reply_of_an_earlier_version_is_read_and_dropped(connection: Connection) -> None:
    push_log(connection, log_of("s", "one"))
    connection.execute("INSERT INTO drafts VALUES('s', 1, 'second'), ('s', 0, 'first')")
    assert server_rows.partial_replies(connection) == {"s"}
    assert server_rows.partial_reply(connection, "s") == ["first", "second"]
    server_rows.drop_partial_reply(connection, "s")
    assert server_rows.partial_replies(connection) == set()


# Leases


def leave_open(connection: Connection, **columns: str) -> None:
    """As if another machine had held all sessions, and was not heard of for two minutes."""
    values = {"expires": "now() - interval '2 minutes'", "writer": "'another'", "process": "1", **columns}
    changes = ", ".join(f"{column} = {value}" for column, value in values.items())
    connection.execute(f"UPDATE leases SET {changes}".encode())


def test_a_session_that_is_open_elsewhere_is_refused_with_the_name_of_the_host(connection: Connection) -> None:
    here, there = Leases("blue-laptop"), Leases("red-desktop")
    number = here.take(connection, "s")
    with pytest.raises(SessionBusy, match="on blue-laptop"):
        there.take(connection, "s", take_over=True)
    assert {id_: lease.host for id_, lease in there.live(connection).items()} == {"s": "blue-laptop"}
    log = log_of("s", "one")
    assert push_log(connection, log) is Push.LEASED and server_rows.listing(connection).own == {}
    assert push_log(connection, log, leased=number) is Push.DONE
    here.release(connection, "s")
    assert there.live(connection) == {} and there.take(connection, "s") > number


def test_a_lease_that_was_taken_over_is_reported_as_lost(connection: Connection) -> None:
    before, after = Leases("blue-laptop"), Leases("red-desktop")
    before.take(connection, "s")
    before.take(connection, "t")
    assert before.renew(connection) == set()
    leave_open(connection, host="'blue-laptop'", machine="'x.y'", writer="writer")
    with pytest.raises(SessionAbandoned, match=r"written on blue-laptop until .* --take-over"):
        after.take(connection, "s")
    after.take(connection, "s", take_over=True)
    assert before.renew(connection) == {"s"} and before.number_of("s") == 0 and before.number_of("t")
    before.release(connection, "s")
    before.release_all(connection)
    assert set(after.live(connection)) == {"s"}, "what another took over is not released"


def test_who_wakes_up_before_anyone_took_over_keeps_the_lease(connection: Connection) -> None:
    leases = Leases("here")
    leases.take(connection, "s")
    connection.execute("UPDATE leases SET expires = now() - interval '1 second'")
    assert leases.renew(connection) == set() and set(leases.live(connection)) == {"s"}


def test_a_lease_whose_answer_was_lost_is_taken_again(connection: Connection) -> None:
    leases = Leases("here")
    leases.take(connection, "s")
    leases._held.clear()
    assert leases.take(connection, "s") == leases.number_of("s")
    with pytest.raises(SessionBusy):
        leases.take(connection, "s")


def test_what_this_computer_held_before_its_restart_is_not_asked_about(connection: Connection) -> None:
    Leases("here").take(connection, "s")
    computer = leases_module._machine().partition(".")[2]
    leave_open(connection, machine=f"'0123456789abcdef.{computer}'")
    assert Leases("here").take(connection, "s")


def test_what_a_killed_process_of_this_machine_held_is_free_at_once(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(process: int, signal: int) -> None:
        raise ProcessLookupError

    Leases("here").take(connection, "s")
    monkeypatch.setattr(leases_module.os, "kill", ended)
    assert Leases("here").live(connection) == {} and push_log(connection, log_of("s", "one")) is Push.DONE
    assert Leases("here").take(connection, "s")


def test_many_who_ask_at_once_have_one_winner(url: str) -> None:
    won: list[int] = []

    def ask() -> None:
        with connect(url) as connection, contextlib.suppress(SessionBusy):
            won.append(Leases("here").take(connection, "s"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_another_users_shared_session_cannot_be_taken(server: PostgresServer, url: str, tmp_path: Path) -> None:
    with connect(server.url_for("alice", url)) as alice, connect(server.url_for("bob", url)) as bob:
        push_log(alice, log_of("s", "one"))
        server_rows.share(alice, "s", shared=True)
        with pytest.raises(SessionOfAnother, match=r"belongs to alice.*sessions --fork s") as refused:
            Leases("here").take(bob, "s")
        assert refused.value.owner == "alice"
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            bob.execute(
                "INSERT INTO leases(owner, session_id, writer, host, machine, process, expires)"
                " VALUES('alice', 's', 'x', 'x', 'x', 1, now())"
            )
