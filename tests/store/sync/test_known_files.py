"""What is known of the files in a database: kept in a small file of its own, and found out again if that is lost."""

import sqlite3
from contextlib import closing
from pathlib import Path

from co_tui.store.sync.files.known_files import EqualFile, FileStatus, KnownFiles
from co_tui.store.sync.files.synced_file import SyncedFile

EARLIER_SCHEMA = """
CREATE TABLE known(name TEXT, place TEXT, version INTEGER, digest TEXT, changed_ns INTEGER, size INTEGER, body BLOB,
    PRIMARY KEY (name, place));
CREATE TABLE unsent(name TEXT, path TEXT, kind TEXT, key TEXT, session_id TEXT, joins INTEGER,
    PRIMARY KEY (name, path, key));
INSERT INTO unsent VALUES('drafts/s-1', '/there/s-1.txt', 'draft', '', 's-1', 0);
"""


def equal(file: SyncedFile, version: int, body: str) -> EqualFile:
    return EqualFile(file, version, body, FileStatus(1, len(body)))


def test_the_latest_version_counts_and_a_deleted_session_leaves_nothing(tmp_path: Path) -> None:
    known, folder = KnownFiles(tmp_path / "known.db"), tmp_path / "memory"
    files = [SyncedFile(f"memory/{day}.md", folder / f"{day}.md", "memory") for day in ("a", "b")]
    draft = SyncedFile("drafts/s-1", tmp_path / "s-1.txt", "draft")
    assert known.unsent() == [], "nothing is made to find nothing"
    known.record(equal(file, 1, "old") for file in files)
    known.record([equal(files[0], 2, "new")])
    assert [known.under(file)[file.name].version for file in files] == [2, 1]
    assert [known.body(file) for file in files] == ["new", "old"]
    for file in (draft, files[0], draft):
        known.add_unsent(file)
    assert {file.name for file in known.unsent()} == {"drafts/s-1", "memory/a.md"} and len(known.unsent()) == 2
    known.sent(files[0])
    assert known.unsent() == [draft]
    known.forget("s-1")
    assert known.unsent() == []
    known.close()
    again = KnownFiles(tmp_path / "known.db")
    assert again.under(files[0])[files[0].name].version == 2
    again.close()


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "known.db")) as connection:
        connection.executescript(EARLIER_SCHEMA)
    known = KnownFiles(tmp_path / "known.db")
    (unsent,) = known.unsent()
    assert (unsent.name, unsent.session_id) == ("drafts/s-1", "s-1")
    known.sent(unsent)
    assert known.unsent() == []
    known.close()


def test_a_damaged_file_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "known.db").write_bytes(b"not a database" * 400)
    known = KnownFiles(tmp_path / "known.db")
    file = SyncedFile("memory/a.md", tmp_path / "a.md", "memory")
    known.open()
    known.record([equal(file, 1, "text")])
    known.add_unsent(file)
    known.forget("s-1")
    assert (known.under(file), known.body(file), known.unsent()) == ({}, "", [])
    known.close()


def test_a_damaged_row_or_a_name_that_cannot_be_stored_stops_nothing(tmp_path: Path) -> None:
    known = KnownFiles(tmp_path / "known.db")
    file = SyncedFile("memory/a.md", tmp_path / "a.md", "memory", joins=True)
    known.record([equal(file, 1, "text")])
    known.add_unsent(SyncedFile("memory/\udc80.md", tmp_path / "b.md", "memory"))
    known.add_unsent(file)
    with closing(sqlite3.connect(tmp_path / "known.db")) as connection, connection:
        connection.execute("UPDATE known SET body = x'00ff'")
    assert known.body(file) == "" and known.unsent() == [file]
    known.close()
