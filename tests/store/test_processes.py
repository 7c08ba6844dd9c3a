"""Several processes on one database."""

import multiprocessing
import sqlite3
import time
from pathlib import Path

from co_tui.events import Message, SessionStart
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.writer import Writer
from tests.support.long_run import drawn

SECONDS = drawn(2)


def _write(path: Path, session_id: str, seconds: float, count: "multiprocessing.Queue[tuple[str, int]]") -> None:
    writer = Writer(path)
    writer.append(session_id, [SessionStart()]).result()
    acknowledged = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        message = {
            "kind": "request",
            "parts": [{"part_kind": "user-prompt", "content": f"{acknowledged} " + "x" * 200}],
        }
        writer.append(session_id, [Message(turn=1, message=message)]).result()
        acknowledged += 1
    writer.close()
    count.put((session_id, acknowledged))


def test_two_processes_write_for_seconds_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "data" / "co-tui.db"
    spawn = multiprocessing.get_context("spawn")
    count = spawn.Queue()
    writers = [spawn.Process(target=_write, args=(path, name, SECONDS, count)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    acknowledged = dict(count.get(timeout=60) for _ in writers)
    for writer in writers:
        writer.join(30)
        assert writer.exitcode == 0
    with Reader(path) as reader:
        for name, expected in acknowledged.items():
            events = list(reader.events(name))
            assert [event.seq for event in events] == list(range(1, expected + 2))
            order = [int(event.fact.message["parts"][0]["content"].split()[0]) for event in events[1:]]
            assert order == list(range(expected))
            assert reader.session(name).messages == expected
            assert expected > 50
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _open(path: Path, start: "multiprocessing.Barrier", failures: "multiprocessing.Queue[str]") -> None:
    start.wait()
    try:
        Writer(path).close()
        failures.put("")
    except Exception as error:
        failures.put(repr(error))


def test_processes_that_create_the_database_at_the_same_moment_all_succeed(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start, failures = spawn.Barrier(4), spawn.Queue()
    openers = [spawn.Process(target=_open, args=(tmp_path / "d" / "co-tui.db", start, failures)) for _ in range(4)]
    for opener in openers:
        opener.start()
    assert [failures.get(timeout=60) for _ in openers] == [""] * 4
    for opener in openers:
        opener.join(10)


def _write_and_leave(path: Path) -> None:
    writer = Writer(path)
    writer.append("other", [SessionStart()]).result()
    writer.close()


def test_another_process_that_leaves_does_not_take_the_write_ahead_log_along(tmp_path: Path) -> None:
    """Opening and closing the database file beside SQLite would drop its locks, and with them this promise."""
    path = tmp_path / "data" / "co-tui.db"
    Writer(path).close()
    reader = Reader(path)
    assert reader.sessions() == []
    writer = Writer(path)
    writer.append("mine", [SessionStart()]).result()
    other = multiprocessing.get_context("spawn").Process(target=_write_and_leave, args=(path,))
    other.start()
    other.join(60)
    writer.append("mine", [SessionStart()]).result()
    assert path.with_name("co-tui.db-wal").exists()
    with Reader(path) as another:
        assert len(list(another.events("mine"))) == 2
    assert len(list(reader.events("mine"))) == 2
    reader.close()
    writer.close()
    with Reader(path) as another:
        assert len(list(another.events("mine"))) == 2
