"""Databases of older schemas: every process opens them at once; the texts of old ones are written in idle times."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from co_tui.events import CompactionComplete, SessionFork, SessionTrashed
from co_tui.kept_file import lock
from co_tui.paths import locate
from co_tui.store.sqlite import idle_work, text_rebuild
from co_tui.store.sqlite import store as sqlite_store
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.index_queue import INDEXES
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.schema import SCHEMA_VERSION, bytes_to_rewrite, lacks_texts
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.sqlite.text_rebuild import rebuild_some
from co_tui.store.sqlite.writer import Writer
from co_tui.store.store_errors import StoreError
from tests.store.test_contract import said
from tests.support.forked import forked
from tests.support.old_schemas import create_old_schema, rebuild_texts
from tests.support.stores import store_in
from tests.support.waiting import PATIENCE_S, wait_until


def test_a_database_of_the_second_schema_is_brought_up_to_date_by_reading_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "data" / "co-tui.db"
    file.parent.mkdir(parents=True)
    connection = sqlite3.connect(file, isolation_level=None)
    create_old_schema(connection, 2)
    for name, year in (("new", 2026), ("imported later", 2019)):
        connection.execute(
            "INSERT INTO sessions(id, title, created, updated, cwd, last_seq, turns, messages, compactions, cost)"
            " VALUES(?, ?, ?, ?, '/home/me/Läden', 2, 1, 2, 0, 0)",
            (name, f"About {name}", f"{year}-01-01T10:00:00Z", f"{year}-01-01T10:00:01Z"),
        )
        for seq, text in enumerate((f"the Herön of {year}", "今天天气很好"), 1):
            payload = {
                "turn": 1,
                "message": {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]},
            }
            row = (name, seq, f"{year}-01-01T10:00:00Z", json.dumps(payload))
            connection.execute("INSERT INTO events VALUES(?, ?, 'message', ?, 1, ?)", row)
            row = (name, seq, text)
            connection.execute("INSERT INTO message_texts(session_id, seq, role, text) VALUES(?, ?, 'user', ?)", row)
    for seq, payload in enumerate(('{"success": true, "cost": 0.5}', '{"success": true, "cost": null}', "{"), 3):
        row = ("imported later", seq, CompactionComplete.TYPE, payload)
        connection.execute("INSERT INTO events VALUES(?, ?, ?, '2026-01-01T10:00:02Z', 1, ?)", row)
    connection.close()
    assert_told_once(home, monkeypatch)
    with store_in(home) as store, store.reading() as reading:
        found = reading.search("heron")
        assert found.hits == () and found.is_incomplete, "a search says that older messages are missing"
    rebuild_texts(file)
    with store_in(home) as store, store.reading() as reading:
        assert not reading.search("heron").is_incomplete
        assert [row.id for row in reading.browse("laden", "")] == ["new", "imported later"]
        assert [hit.session.id for hit in reading.search("heron").hits] == ["new", "imported later"]
        assert [hit.seq for hit in reading.search("天气").hits] == [2, 2]
        assert reading.messages_with("new", ["herö"]).seqs == (1,) and len(list(reading.events("new"))) == 2
        assert [reading.session(name).summary_cost for name in ("new", "imported later")] == [0.0, 0.5]
        assert reading.prompts(1) == ["今天天气很好"] and not reading.session("new").pinned
        store.writing().append("new", [said("one more heron", 2), SessionTrashed()]).result()
        assert [hit.session.id for hit in reading.search("heron").hits] == ["imported later"]
        store.writing().delete("imported later").result()
        assert reading.search("heron").hits == () and reading.health().verdict == "ok"
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,), "incremental"
    connection.close()


def assert_told_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long migration is announced first; a short one is silent."""
    words: list[str] = []
    with store_in(home) as store:
        store.migrate(words.append)
        assert words == []
        monkeypatch.setattr(sqlite_store, "SLOW_MIGRATION_BYTES", 1000)
        store.migrate(words.append)
        store.migrate(words.append)
    assert len(words) == 2 and "Upgrading" in words[0] and "Older messages become searchable" in words[1]


def test_a_database_that_an_older_co_tui_has_open_is_left_as_it_is(home: Path) -> None:
    """Its triggers would call functions that the older one does not have."""
    paths = locate({"CO_TUI_HOME": str(home)})
    paths.database.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(paths.database, isolation_level=None)) as connection:
        create_old_schema(connection, 2)
    paths.locks.mkdir(parents=True)
    with open(paths.locks / "s.lock", "w", encoding="utf-8") as held:
        held.write(str(os.getppid()))
        held.flush()
        lock(held, wait=False)
        for opened in (SqliteStore.reading, SqliteStore.writing):
            with store_in(home) as store, pytest.raises(StoreError, match=rf"\(process {os.getppid()}\) .* Close it"):
                opened(store)
    with contextlib.closing(sqlite3.connect(paths.database)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    with store_in(home) as store, store.reading() as reading:
        assert reading.sessions() == []


def made_old(path: Path, version: int, messages: int = 12) -> None:
    """Two sessions whose messages came in turns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        create_old_schema(connection, version)
        for name in "ab":
            connection.execute(
                "INSERT INTO sessions(id, title, created, updated, last_seq, turns, messages, compactions, cost)"
                " VALUES(?, ?, '2026', '2026', ?, 1, ?, 0, 0)",
                (name, name, messages, messages),
            )
        for seq in range(1, messages + 1):
            for name in "ab":
                message = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"heron {name}{seq}"}]}
                row = (name, seq, f"2026-01-01T10:00:{seq:02}Z", json.dumps({"turn": 1, "message": message}))
                connection.execute("INSERT INTO events VALUES(?, ?, 'message', ?, 1, ?)", row)


def found_in(path: Path) -> list[tuple[str, int]]:
    with Reader(path) as reader:
        assert reader.count_found("heron").messages == 24 and len(reader.prompts(99)) == 24
        return [(hit.session.id, hit.seq) for hit in reader.search("heron", limit=99).hits]


def _rebuild_in_small_steps(path: Path, pipe: "Connection") -> None:
    text_rebuild.EVENTS_AT_ONCE = 2
    with contextlib.closing(connect_for_writing(path)) as connection:
        while rebuild_some(connection):
            pipe.send(connection.execute("SELECT done FROM text_rebuild").fetchone()[0])
            pipe.recv()


@pytest.mark.parametrize("version", [1, 2])
def test_who_is_killed_while_texts_are_rebuilt_leaves_the_rest_to_others(tmp_path: Path, version: int) -> None:
    whole, path = tmp_path / "whole.db", tmp_path / "killed.db"
    made_old(whole, version)
    made_old(path, version)
    rebuild_texts(whole)
    processes, done = forked(), []
    for steps in (1, 2):
        pipe, theirs = processes.Pipe()
        process = processes.Process(target=_rebuild_in_small_steps, args=(path, theirs))
        process.start()
        for step in range(steps):
            if step:
                pipe.send("on")
            assert pipe.poll(PATIENCE_S)
            done.append(pipe.recv())
            with Reader(path) as reader:
                assert len(list(reader.events("a"))) == 12 and reader.search("heron").is_incomplete
                assert reader.count_found("heron").messages == done[-1], "what is rebuilt is found"
        process.kill()
        process.join(PATIENCE_S)
    assert done == [2, 4, 6]
    rebuild_texts(path)
    assert found_in(path) == found_in(whole)


def test_an_old_database_is_opened_without_its_texts_and_an_idle_writer_completes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "co-tui.db", []
    made_old(path, 2)
    monkeypatch.setattr(text_rebuild, "EVENTS_AT_ONCE", 2)
    monkeypatch.setattr(idle_work, "rebuild_some", lambda connection: steps.append(1) or rebuild_some(connection))
    with Reader(path) as reader:
        assert reader.search("heron").is_incomplete and bytes_to_rewrite(path) == 0
        monkeypatch.setattr(idle_work, "QUIET_S", 0.0)
        with contextlib.closing(Writer(path)):
            wait_until(lambda: not reader.search("heron").is_incomplete)
    assert len(steps) >= 12 and len(found_in(path)) == 24


def test_another_process_that_writes_only_delays_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "co-tui.db"
    made_old(path, 2)
    with (
        contextlib.closing(connect_for_writing(path)) as connection,
        contextlib.closing(sqlite3.connect(path)) as other,
    ):
        idle = idle_work.IdleWork(connection)
        other.execute("BEGIN IMMEDIATE")
        idle.step()
        assert lacks_texts(connection) and idle.pause_s is not None, "it is tried again"
        other.rollback()
        while idle.pause_s is not None:
            idle.step()
    assert len(found_in(path)) == 24


def test_who_comes_while_texts_are_rebuilt_can_work_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "co-tui.db"
    made_old(path, 2)
    monkeypatch.setattr(text_rebuild, "EVENTS_AT_ONCE", 2)
    with contextlib.closing(connect_for_writing(path)) as connection:
        assert rebuild_some(connection)
        with contextlib.closing(Writer(path)) as writer:
            fork = SessionFork(source_session_id="a", source_seq=12)
            assert writer.append("a", [said("an egret")]).result(timeout=PATIENCE_S)[0].seq == 13
            writer.fork("b", "fork of b", None, fork).result(timeout=PATIENCE_S)
            writer.delete("b").result(timeout=PATIENCE_S)
        while rebuild_some(connection):
            pass
    with Reader(path) as reader:
        assert [hit.seq for hit in reader.search("egret").hits] == [13]
        hits = {(hit.session.id, hit.seq) for hit in reader.search("heron", limit=99).hits}
        assert hits == {(name, seq) for name in ("a", "fork of b") for seq in range(1, 13)}


def test_two_processes_that_rebuild_at_once_write_every_text_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "co-tui.db"
    made_old(path, 2)
    monkeypatch.setattr(text_rebuild, "EVENTS_AT_ONCE", 2)
    with contextlib.closing(connect_for_writing(path)) as one, contextlib.closing(connect_for_writing(path)) as other:
        read = text_rebuild._read_some

        def overtaken(connection: sqlite3.Connection) -> object:
            found = read(connection)
            if connection is one:
                rebuild_some(other)
            return found

        monkeypatch.setattr(text_rebuild, "_read_some", overtaken)
        while rebuild_some(one):
            pass
    assert len(found_in(path)) == 24


@pytest.mark.parametrize("opened", [Reader, Writer])
@pytest.mark.parametrize("version", [5, 7])
def test_a_database_of_a_later_schema_is_never_rewritten_to_open_it(
    tmp_path: Path, version: int, opened: Callable[[Path], Reader | Writer]
) -> None:
    """Also one that has no incremental vacuum: that would take long, and others would wait for it."""
    path = tmp_path / "co-tui.db"
    made_old(path, version)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        before = connection.execute("SELECT name, rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    opened(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (0,)
        assert connection.execute("SELECT name, rootpage FROM sqlite_master WHERE name = 'events'").fetchone() == before


def test_a_database_of_the_fifth_schema_keeps_its_index(tmp_path: Path) -> None:
    path = tmp_path / "co-tui.db"
    made_old(path, 5)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for of in INDEXES.values():
            connection.create_function(of.__name__, 2, of, deterministic=True)
        connection.execute("INSERT INTO message_texts VALUES(7, 'a', 1, 'user', '', 'heron a1')")
    with Reader(path) as reader:
        assert [(hit.session.id, hit.seq) for hit in reader.search("heron").hits] == [("a", 1)]
    with contextlib.closing(Writer(path)) as writer:
        writer.append("a", [said("heron again")]).result()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM texts_to_index").fetchone() == (1,)
        writer.delete("a").result()
    with Reader(path) as reader:
        assert reader.search("heron").hits == () and reader.health().verdict == "ok"
