"""The database itself: its files, its damages, and what cannot be stored, said in a sentence."""

import contextlib
import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from co_tui.events import Message, SessionStart
from co_tui.kept_file import lock
from co_tui.store.sqlite.connect import connect_for_reading, connect_for_writing
from co_tui.store.sqlite.lock import SYNC, SessionLockFile, claimed_sessions
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.schema import SCHEMA_VERSION
from co_tui.store.sqlite.writer import Writer
from co_tui.store.store_errors import SessionBusy, StoreError
from tests.support.waiting import PATIENCE_S


def said(text: str, turn: int = 1) -> Message:
    return Message(turn=turn, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "co-tui.db"


@pytest.fixture
def writer(path: Path):
    writer = Writer(path)
    yield writer
    writer.close()


def test_files_are_for_their_owner_only(writer: Writer, path: Path) -> None:
    writer.append("s", [said("x")]).result()
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_newer_database_is_refused_and_left_alone(path: Path) -> None:
    Writer(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    for open_ in (Writer, Reader):
        with pytest.raises(StoreError, match="newer co-tui"):
            open_(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"this is not a database, it is a poem about one\n" * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_damaged_database_is_named_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    for open_ in (Writer, Reader):
        with pytest.raises(StoreError, match=str(path)):
            open_(path)
    assert path.read_bytes() == content


def test_a_full_disk_is_said_and_the_next_append_works(writer: Writer) -> None:
    writer.append("s", [said("before")]).result()
    pages = writer._connection.execute("PRAGMA page_count").fetchone()[0]
    writer._connection.execute(f"PRAGMA max_page_count={pages + 1}")
    with pytest.raises(StoreError, match="full"):
        writer.append("s", [said("x" * 1_000_000)]).result()
    writer._connection.execute("PRAGMA max_page_count=1073741823")
    assert [event.seq for event in writer.append("s", [said("after")]).result()] == [2]


def test_a_read_only_database_is_said(writer: Writer) -> None:
    writer._connection.execute("PRAGMA query_only=ON")
    with pytest.raises(StoreError, match="read-only"):
        writer.append("s", [said("x")]).result()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="CO_TUI_HOME"):
        Writer(tmp_path / "file" / "co-tui.db")


def test_without_a_database_reading_finds_nothing_and_makes_nothing(path: Path) -> None:
    with Reader(path) as reader:
        assert reader.sessions() == [] and reader.latest("/x") is None and not reader.health().exists
    assert not path.exists()


def test_a_reader_that_no_one_closes_is_found(writer: Writer, path: Path) -> None:
    """Warnings are errors in these tests, so the one that forgets is named."""
    reader = Reader(path)
    with pytest.warns(ResourceWarning, match="never closed"):
        del reader


def test_a_closed_reader_says_so(writer: Writer, path: Path) -> None:
    reader = Reader(path)
    reader.close()
    with pytest.raises(StoreError, match="already closed"):
        reader.sessions()


def test_a_database_that_others_can_read_is_seen(writer: Writer, path: Path) -> None:
    with Reader(path) as reader:
        path.chmod(0o640)
        assert reader.health().open_to_others and reader.health().size_bytes > 0


def test_a_lock_is_exclusive_and_released(tmp_path: Path) -> None:
    first, second = SessionLockFile(tmp_path, "s"), SessionLockFile(tmp_path, "s")
    first.acquire()
    with pytest.raises(SessionBusy, match=str(os.getpid())):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_others_take_and_release_all_the_time_is_busy_or_free(tmp_path: Path) -> None:
    def take_and_release(_: int) -> None:
        with contextlib.suppress(SessionBusy):
            session = SessionLockFile(tmp_path, "s", SYNC)
            session.acquire()
            session.release()

    with ThreadPoolExecutor(3) as threads:
        assert len(list(threads.map(take_and_release, range(3_000)))) == 3_000


@pytest.mark.skipif(os.name == "nt", reason="there are no shared locks")
def test_who_only_looks_whether_a_session_is_open_keeps_no_one_from_opening_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.lock").touch()
    looker = open(tmp_path / "s.lock", encoding="utf-8")
    lock(looker, wait=False, shared=True)
    monkeypatch.setattr("co_tui.store.sqlite.lock.time.sleep", lambda _: looker.close())
    session = SessionLockFile(tmp_path, "s")
    assert claimed_sessions(tmp_path) == frozenset(), "many may look at a time"
    session.acquire()
    assert looker.closed and claimed_sessions(tmp_path) == {"s"}
    session.release()


@pytest.mark.parametrize("left", ["", "4194305"], ids=["nothing", "a process that is gone"])
def test_a_sync_that_has_just_begun_keeps_no_one_from_opening_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    """It has the lock, and has not yet written that it is a sync."""
    (tmp_path / "s.lock").write_text(left)
    with open(tmp_path / "s.lock", "r+", encoding="utf-8") as syncing, SessionLockFile(tmp_path, "s") as session:
        lock(syncing, wait=False)
        monkeypatch.setattr("co_tui.store.sqlite.lock.time.sleep", lambda _: syncing.close())
        session.acquire()
        assert syncing.closed and (tmp_path / "s.lock").read_text() == str(os.getpid())


def test_a_file_left_by_a_dead_process_of_our_own_number_is_no_open_session(tmp_path: Path) -> None:
    (tmp_path / "s.lock").write_text(str(os.getpid()))
    assert claimed_sessions(tmp_path) == frozenset()


def test_a_change_waits_longer_for_its_turn_than_a_question(writer: Writer, path: Path) -> None:
    def patience(connection: sqlite3.Connection) -> int:
        with contextlib.closing(connection):
            return int(connection.execute("PRAGMA busy_timeout").fetchone()[0])

    asking = connect_for_reading(path)
    assert asking is not None and patience(connect_for_writing(path)) >= 4 * patience(asking)


def test_a_cancelled_append_does_not_stop_the_writer(writer: Writer) -> None:
    for _ in range(200):
        writer.append("s", [said("maybe")]).cancel()
    assert writer.append("s", [said("surely")]).result(timeout=PATIENCE_S)


def test_one_damaged_record_does_not_take_the_session_with_it(writer: Writer, path: Path) -> None:
    writer.append("s", [SessionStart(), said("one"), said("two", 2)]).result()
    with sqlite3.connect(path) as connection:
        connection.execute('UPDATE events SET payload = \'{"turn": 1, "mess\' WHERE seq = 2')
    with Reader(path) as reader:
        kinds = [type(event.fact).__name__ for event in reader.events("s")]
    assert kinds == ["SessionStart", "Unknown", "Message"]


def test_a_large_store_is_checked_in_part_unless_asked(
    writer: Writer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.append("a", [SessionStart(), said("x")]).result()
    with Reader(path) as reading:
        assert not reading.health(full=False).is_partial
        monkeypatch.setattr("co_tui.store.sqlite.reader.QUICKLY_CHECKED_BYTES", 1_000)
        assert reading.health(full=False).is_partial and not reading.health().is_partial
        assert reading.health(full=False).verdict == "ok"
