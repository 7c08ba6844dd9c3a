"""What is stored can be read where nothing can be written, and a full disk is called one."""

import errno
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from co_tui.events import SessionStart
from co_tui.paths import write_atomically
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.sqlite_failures import explained
from co_tui.store.sqlite.writer import Writer
from co_tui.store.store_errors import StoreError
from tests.support.command import CliCommand, Result
from tests.support.waiting import PATIENCE_S

READ_ONLY = """
import ctypes, subprocess, sys
from co_tui.__main__ import main

home, new_mounts = how["environ"]["CO_TUI_HOME"], 0x20000
assert ctypes.CDLL(None).unshare(new_mounts) == 0
for options in (["--make-rprivate", "/"], ["--bind", home, home], ["-o", "remount,ro,bind", home]):
    subprocess.run(["mount", *options], check=True)
sys.exit(main())
"""
"""`co-tui` where its home is on a disk that cannot be written."""


@pytest.fixture
def database(home: Path) -> Path:
    file = home / "data" / "co-tui.db"
    writer = Writer(file)
    writer.append("a-session", [SessionStart(model="m")]).result()
    writer.close()
    return file


def hide_shared_memory(database: Path) -> None:
    """SQLite can no more make its file for shared memory than on a read-only disk."""
    database.with_name(f"{database.name}-shm").symlink_to(f"{database.name}-shm")


def test_sessions_are_read_where_sqlite_cannot_make_its_files(database: Path) -> None:
    hide_shared_memory(database)
    reader = Reader(database)
    assert [row.id for row in reader.sessions()] == ["a-session"] and reader.health().verdict == "ok"
    reader.close()


def test_changes_that_are_still_in_the_log_are_not_left_out_silently(database: Path) -> None:
    hide_shared_memory(database)
    database.with_name(f"{database.name}-wal").write_bytes(b"something")
    with pytest.raises(StoreError, match="with unsaved changes in"):
        Reader(database)


def _can_mount() -> bool:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not _can_mount(), reason="needs a mount of its own")
def test_commands_that_read_work_on_a_read_only_mount(database: Path, home: Path, co_tui: CliCommand) -> None:
    def command(*arguments: str) -> Result:
        process = co_tui.start_loaded(*arguments, code=READ_ONLY)
        out, err = process.communicate(PATIENCE_S)
        return Result(process.wait(), out, err)

    listed = command("sessions")
    assert (listed.code, listed.err) == (0, "") and "a-session" in listed.out
    checked = command("doctor")
    assert checked.code == 1 and "Read-only file system" in checked.err and str(home) in checked.err
    written = command("config", "theme", "dark")
    assert written.code == 2 and "Read-only file system" in written.err


def test_a_database_that_only_cannot_be_written_says_so(database: Path) -> None:
    hide_shared_memory(database)
    with pytest.raises(StoreError, match=r"Cannot write to database.*can be viewed"):
        Writer(database)


def test_a_full_disk_is_called_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for error in (full, sqlite3.OperationalError("database or disk is full")):
        assert str(explained(error, home)).startswith(f"The disk with {home} is full")

    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="notes"):
        write_atomically(home / "notes.md", "text")
