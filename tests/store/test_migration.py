"""A database of the schema before this one, opened by who only reads it."""

import contextlib
import json
import os
import sqlite3
from pathlib import Path

import pytest
from sqlite_utils import Database

from co_tui.events import CompactionComplete, SessionTrashed
from co_tui.paths import locate
from co_tui.store.file_lock import lock
from co_tui.store.sqlite import store as sqlite_store
from co_tui.store.sqlite.migrations import INCREMENTAL, steps
from co_tui.store.sqlite.schema import SCHEMA_VERSION
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.store_errors import StoreError
from tests.store.test_contract import said
from tests.support.stores import store_in


def test_a_database_of_the_second_schema_is_brought_up_to_date_by_reading_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "data" / "co-tui.db"
    file.parent.mkdir(parents=True)
    connection = sqlite3.connect(file, isolation_level=None)
    steps.apply(Database(connection), stop_before="003_finding_sessions")
    connection.execute("PRAGMA user_version=2")
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
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (INCREMENTAL,)
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
    assert len(words) == 1 and "Upgrading" in words[0]


def test_a_database_that_an_older_co_tui_has_open_is_left_as_it_is(home: Path) -> None:
    """Its triggers would call functions that the older one does not have."""
    paths = locate({"CO_TUI_HOME": str(home)})
    paths.database.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(paths.database, isolation_level=None)) as connection:
        steps.apply(Database(connection), stop_before="003_finding_sessions")
        connection.execute("PRAGMA user_version=2")
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
