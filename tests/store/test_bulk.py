"""Long changes: made in steps that let others write, seen when they are done, cleaned up after a crash."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.events import Event, SessionFork, SessionStart
from co_tui.store.sqlite import index_queue
from co_tui.store.sqlite.bulk import adding, removal, unfinished
from co_tui.store.sqlite.connect import connect_for_writing, connect_in_memory
from co_tui.store.sqlite.index_queue import INDEXES, index_some, merge_some, waiting
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.shared_connection import SharedConnection
from co_tui.store.sqlite.transaction import STEP_S, Pace, Steps, run_all
from co_tui.store.sqlite.writer import MANY_FACTS, Writer
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import ImportOutcome
from tests.store.test_contract import said
from tests.support.forked import forked
from tests.support.long_run import drawn
from tests.support.waiting import PATIENCE_S

LENGTH = 10
FORK = SessionFork(source_session_id="old", source_seq=LENGTH)


def events_of(session_id: str, word: str, first: int = 1, last: int = LENGTH) -> list[Event]:
    return [
        Event(session_id=session_id, seq=seq, timestamp=f"2020-01-01T10:00:{seq:02}Z", fact=said(f"{word} {seq}", seq))
        for seq in range(first, last + 1)
    ]


def seen(path: Path) -> list[object]:
    with Reader(path) as reader:
        return [
            reader.sessions(), reader.prompts(99), reader.count_found("heron"), reader.search("heron").hits,
            *([*reader.events(name), reader.last_events(name, 99), reader.preview(name),
               reader.messages_with(name, ["heron"])] for name in ("old", "new")),
        ]  # fmt: skip


CHANGES: dict[str, Callable[[sqlite3.Connection], Steps[object]]] = {
    "fork": lambda connection: adding.fork(connection, "old", "new", None, FORK),
    "import": lambda connection: adding.import_log(connection, events_of("new", "heron"), keeps_age=True),
    "continued import": lambda connection: adding.import_log(
        connection, events_of("old", "heron", LENGTH + 1, 2 * LENGTH), keeps_age=True
    ),
    "long append": lambda connection: adding.append(
        connection, "old", [said(f"heron {n}") for n in range(LENGTH)], ends_draft=False
    ),
}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(adding, "EVENTS_AT_ONCE", 3)
    monkeypatch.setattr(removal, "ROWS_AT_ONCE", 2)
    path = tmp_path / "data" / "co-tui.db"
    with closing(connect_for_writing(path)) as connection:
        run_all(adding.import_log(connection, events_of("old", "heron"), keeps_age=True))
    return path


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_is_cut_off_is_never_seen_and_can_be_made_again(path: Path, name: str) -> None:
    before = seen(path)
    with closing(connect_for_writing(path)) as connection:
        for count in range(1, 4):
            steps = CHANGES[name](connection)
            assert len(list(islice(steps, count))) == count
            assert seen(path) == before, f"after {count} steps"
            steps.close()  # as a crash leaves it
            assert seen(path) == before
        run_all(CHANGES[name](connection))
        assert seen(path) != before
        assert connection.execute("SELECT count(*) FROM unfinished").fetchone() == (0,)
    with Reader(path) as reader:
        target = "new" if name in ("fork", "import") else "old"
        assert [event.seq for event in reader.events(target)] == list(range(1, reader.session(target).last_seq + 1))
        assert reader.count_found("heron").messages == 2 * LENGTH


@pytest.mark.parametrize("name", CHANGES)
def test_upkeep_removes_what_a_crash_left(path: Path, name: str) -> None:
    with closing(connect_for_writing(path)) as connection:
        before = _rows(connection)
        steps = CHANGES[name](connection)
        list(islice(steps, 2))
        assert not unfinished.abandoned(connection) and _rows(connection) != before
        steps.close()
    with closing(Writer(path)) as writer:
        for step in writer.upkeep_steps():
            step.result(timeout=PATIENCE_S)
    with closing(sqlite3.connect(path)) as connection:
        assert _rows(connection) == before


def _rows(connection: sqlite3.Connection) -> list[object]:
    return [
        connection.execute(f"SELECT count(*), max(seq) FROM {table}").fetchone()
        for table in ("events", "message_texts")
    ] + connection.execute("SELECT * FROM unfinished").fetchall()


def test_what_another_process_writes_is_left_to_it(path: Path) -> None:
    with closing(connect_for_writing(path)) as connection:
        steps = CHANGES["continued import"](connection)
        list(islice(steps, 2))
        steps.close()
        connection.execute("UPDATE unfinished SET owner = ?", (os.getppid(),))
        assert removal.clean_up(connection) is False
        for change in ("continued import", "long append"):
            with pytest.raises(StoreError, match=rf"\(process {os.getppid()}\)"):
                run_all(CHANGES[change](connection))
        connection.execute("UPDATE unfinished SET touched = '2020-01-01T10:00:00Z'")
        assert run_all(CHANGES["continued import"](connection)) is ImportOutcome.CONTINUED


def test_who_lost_a_session_to_another_process_stops(path: Path) -> None:
    with closing(connect_for_writing(path)) as connection:
        steps = CHANGES["import"](connection)
        next(steps)
        connection.execute("UPDATE unfinished SET owner = ?", (os.getppid(),))
        with pytest.raises(StoreError, match="changed by another co-tui"):
            run_all(steps)


def test_a_deletion_that_is_cut_off_is_finished_by_upkeep(path: Path) -> None:
    with closing(connect_for_writing(path)) as connection:
        steps = removal.delete(connection, "old")
        next(steps)
        steps.close()
    with Reader(path) as reader:
        assert reader.count() == 0 and list(reader.events("old")) == [] and reader.search("heron").hits == ()
    with closing(Writer(path)) as writer:
        for step in writer.upkeep_steps():
            step.result(timeout=PATIENCE_S)
        assert [event.seq for event in writer.append("old", [said("anew")]).result()] == [1]
    with closing(sqlite3.connect(path)) as connection:
        assert _rows(connection)[0] == (1, 1)


def _import_until_killed(path: Path, told: "Connection") -> None:
    adding.EVENTS_AT_ONCE = 3
    connection = connect_for_writing(path)
    for name in ("import", "fork"):
        for _ in CHANGES[name](connection):
            told.send(name)
            told.recv()
        run_all(removal.delete(connection, "new"))


@pytest.mark.parametrize("steps", [1, 4, 6])
def test_killed_in_the_middle_it_leaves_nothing_to_be_seen(path: Path, steps: int) -> None:
    before = seen(path)
    processes = forked()
    pipe, theirs = processes.Pipe()
    process = processes.Process(target=_import_until_killed, args=(path, theirs))
    process.start()
    for count in range(steps):
        assert pipe.poll(PATIENCE_S) and pipe.recv()
        if count < steps - 1:
            pipe.send("on")
    process.kill()
    process.join(PATIENCE_S)
    assert seen(path) == before
    with closing(Writer(path)) as writer:
        assert writer.import_log(events_of("new", "heron"), keeps_age=True).result() is ImportOutcome.NEW
    with Reader(path) as reader:
        assert list(reader.events("new")) == events_of("new", "heron")


def test_changes_to_one_session_are_made_in_order_and_others_in_between(path: Path) -> None:
    with closing(Writer(path)) as writer:
        facts = [said(f"egret {n}") for n in range(MANY_FACTS + 1)]
        fork = writer.fork("old", "new", None, FORK)
        on_fork, many = writer.append("new", [said("after")]), writer.append("new", facts)
        other = writer.append("other", [SessionStart()])
        last = writer.append("new", [said("last")])
        assert [event.seq for event in fork.result(timeout=PATIENCE_S)] == [LENGTH + 1]
        assert [event.seq for event in on_fork.result(timeout=PATIENCE_S)] == [LENGTH + 2]
        assert many.result(timeout=PATIENCE_S)[0].seq == LENGTH + 3
        assert other.result(timeout=PATIENCE_S)[0].seq == 1
        assert last.result(timeout=PATIENCE_S)[0].seq == LENGTH + 3 + len(facts)
    with Reader(path) as reader:
        assert reader.count_found("egret").messages == len(facts)


# What waits to be indexed


def in_parts_of(chars: int) -> AbstractContextManager[object]:
    """So much of a text is indexed at once."""
    return mock.patch.multiple(index_queue, PART_CHARS=chars, OVERLAP_CHARS=4, INDEXED_CHARS=Pace(chars, chars))


def check_indexes(connection: sqlite3.Connection) -> None:
    for index in INDEXES:
        connection.execute(f"INSERT INTO {index}({index}) VALUES('integrity-check')")


WORDS = ("heron", "egret", "ibis", "天气")
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from("abc"), st.sampled_from(WORDS)),
        st.tuples(st.just("fork"), st.sampled_from("abc"), st.sampled_from("xyz")),
        st.tuples(st.just("delete"), st.sampled_from("abcxyz"), st.just("")),
        st.tuples(st.sampled_from(["index", "merge"]), st.just(""), st.just("")),
    ),
    max_size=25,
)


@pytest.fixture(scope="module")
def empty() -> Iterator[sqlite3.Connection]:
    with closing(connect_in_memory()) as connection:
        yield connection


@settings(max_examples=drawn(20), deadline=None)
@given(operations=OPERATIONS)
def test_every_message_is_found_once_whatever_is_indexed(
    empty: sqlite3.Connection, operations: list[tuple[str, str, str]]
) -> None:
    said_in: dict[str, list[str]] = {}
    shared = SharedConnection()
    shared._connection = empty
    with in_parts_of(4):
        _check_every_message_is_found_once(empty, shared, operations, said_in)
    shared._connection = None


def _check_every_message_is_found_once(
    empty: sqlite3.Connection,
    shared: SharedConnection,
    operations: list[tuple[str, str, str]],
    said_in: dict[str, list[str]],
) -> None:
    for operation, session_id, value in operations:
        _do(empty, said_in, operation, session_id, value)
    with Reader(Path(":memory:"), shared=shared) as reader:
        for word in WORDS:
            hits = [(hit.session.id, hit.seq) for hit in reader.search(word, limit=1000).hits]
            expected = {
                (name, seq) for name, words in said_in.items() for seq, each in enumerate(words, 1) if each == word
            }
            assert len(hits) == len(set(hits)) and set(hits) == expected
            for name, words in said_in.items():
                assert reader.messages_with(name, [word]).seqs == tuple(
                    seq for seq in range(len(words), 0, -1) if words[seq - 1] == word
                )
    for name in said_in:
        run_all(removal.delete(empty, name))
    check_indexes(empty)
    assert waiting(empty).texts == 0


def _do(
    connection: sqlite3.Connection, said_in: dict[str, list[str]], operation: str, session_id: str, value: str
) -> None:
    match operation:
        case "say":
            run_all(adding.append(connection, session_id, [said(value)], ends_draft=False))
            said_in.setdefault(session_id, []).append(value)
        case "fork" if session_id in said_in and value not in said_in:
            fact = SessionFork(source_session_id=session_id, source_seq=1)
            run_all(adding.fork(connection, session_id, value, None, fact))
            said_in[value] = [*said_in[session_id], "(the fork itself)"]
        case "delete" if session_id in said_in:
            run_all(removal.delete(connection, session_id))
            del said_in[session_id]
        case "index":
            index_some(connection)
        case "merge":
            merge_some(connection)
        case _:
            pass


LONG = "heron 天气 in ibis or egret, an owl at sea"


@pytest.mark.parametrize("indexed_steps", range(7))
def test_a_long_text_is_indexed_in_parts_found_all_the_while_and_removed_in_parts(
    tmp_path: Path, indexed_steps: int
) -> None:
    """After any step, another process may continue."""
    path = tmp_path / "co-tui.db"
    with in_parts_of(6):
        for step in range(indexed_steps + 1):
            with closing(connect_for_writing(path)) as connection:
                if step == 0:
                    run_all(adding.append(connection, "long", [said(LONG)], ends_draft=False))
                else:
                    assert index_some(connection) and waiting(connection).chars == max(0, len(LONG) - 6 * step)
        with Reader(path) as reader:
            for word in ("heron", "天气", "in", "ibis", "egret", "owl", "sea", LONG.split(",")[0]):
                assert len(reader.search(word).hits) == len(reader.messages_with("long", [word]).seqs) == 1, word
        with closing(connect_for_writing(path)) as connection:
            assert len(list(removal.delete(connection, "long"))) == indexed_steps + 2
            check_indexes(connection)
            for table in ("texts_to_index", "texts_in_parts", "message_texts", "events"):
                assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
            found = connection.execute("SELECT count(*) FROM message_grams WHERE message_grams MATCH '\"ron\"'")
            assert found.fetchone() == (0,)


def test_a_text_half_in_the_indexes_is_not_indexed_further_while_it_is_removed(tmp_path: Path) -> None:
    with in_parts_of(6), closing(connect_for_writing(tmp_path / "co-tui.db")) as connection:
        run_all(adding.append(connection, "long", [said(LONG)], ends_draft=False))
        assert index_some(connection) and index_some(connection)
        next(removal.delete(connection, "long"))
        assert not index_some(connection) and waiting(connection).texts == 0


def test_a_long_text_that_was_indexed_as_a_whole_is_removed_as_a_whole(tmp_path: Path) -> None:
    with closing(connect_for_writing(tmp_path / "co-tui.db")) as connection:
        run_all(adding.append(connection, "long", [said(LONG)], ends_draft=False))
        assert index_some(connection)
        with in_parts_of(6):
            run_all(removal.delete(connection, "long"))
        check_indexes(connection)
        assert connection.execute("SELECT count(*) FROM message_texts").fetchone() == (0,)


def test_a_step_does_as_much_as_takes_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "thread_time", lambda: now[0])
    pace = Pace(least=10, most=100)

    def step(done: int, took_s: float) -> int:
        now[0] = took_s
        pace.learn(done, began=0.0)
        return pace.amount

    assert [step(done, STEP_S / 4) for done in (10, 20, 40, 80, 100)] == [20, 40, 80, 100, 100]
    assert step(5, STEP_S / 4) == 100, "a little that was quick says nothing"
    assert step(100, 2 * STEP_S) == 50 and step(20, 2 * STEP_S) == 10 and step(10, 9 * STEP_S) == 10


def test_a_long_backlog_is_worked_off_without_being_asked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.store.sqlite.index_queue.MANY_CHARS", 100)
    with closing(Writer(path)) as writer:
        writer.import_log(events_of("new", "heron " * 30)).result(timeout=PATIENCE_S)
        writer.append("other", [SessionStart()]).result(timeout=PATIENCE_S)
        writer.import_log(events_of("newer", "egret")).result(timeout=PATIENCE_S)
    with closing(sqlite3.connect(path)) as connection:
        assert waiting(connection).chars <= 200


def test_a_damaged_index_does_not_keep_anything_from_being_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.store.sqlite.index_queue.MANY_CHARS", 1)
    monkeypatch.setattr("co_tui.store.sqlite.index_queue.FEW_TEXTS", 0)
    monkeypatch.setattr("co_tui.store.sqlite.idle_work.QUIET_S", 0.0)
    with closing(connect_for_writing(path)) as connection:
        assert index_some(connection)
        connection.execute("UPDATE message_grams_data SET block = x'00'")
    with closing(Writer(path)) as writer:
        writer.import_log(events_of("new", "heron")).result(timeout=PATIENCE_S)
        for seq in range(LENGTH + 1, LENGTH + 4):
            assert writer.append("new", [said("more")]).result(timeout=PATIENCE_S)[0].seq == seq
    with Reader(path) as reader:
        assert len(list(reader.events("new"))) == LENGTH + 3
