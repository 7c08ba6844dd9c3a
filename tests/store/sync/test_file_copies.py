"""Which files are shared with other machines, and how much of them."""

import json
from pathlib import Path

import pytest

from co_tui.store.sync.files import file_copies
from co_tui.store.sync.files.file_copies import Unshareable
from co_tui.store.sync.files.kinds import MOST_BYTES
from co_tui.store.sync.files.synced_file import SyncedFile


def test_kept_output_is_shared_up_to_ten_mebibytes_and_no_unfinished_one(tmp_path: Path) -> None:
    assert MOST_BYTES == 10 << 20
    folder = SyncedFile("sessions/s/", tmp_path, "session", session_id="s")
    own = tmp_path / "outputs" / "main"
    own.mkdir(parents=True)
    (own / "output-1.txt").write_bytes(b"x" * MOST_BYTES)
    (own / "output-2.txt").write_bytes(b"x" * (MOST_BYTES + 1))
    (own / ".unfinished-3").write_bytes(b"x")
    names = sorted(file_copies.names_in(folder))
    assert names == ["sessions/s/outputs/main/output-1.txt", "sessions/s/outputs/main/output-2.txt"]
    shared, too_large = map(folder.file_in, names)
    assert len(file_copies.read(shared, str)) == MOST_BYTES
    with pytest.raises(Unshareable, match="over 10,485,760 bytes"):
        file_copies.read(too_large, str)


@pytest.mark.parametrize("content", ["{ half", "[1]", "x" * 2_000_000])
@pytest.mark.parametrize("kind", ["approvals", "limits", "ratios"])
def test_what_its_readers_cannot_read_is_neither_shared_nor_replaced(tmp_path: Path, kind: str, content: str) -> None:
    file = SyncedFile(kind, tmp_path / "kept.json", kind, key="/shop")
    file.path.write_text(content)
    with file_copies.locked(file):
        with pytest.raises(Unshareable):
            file_copies.read(file, str)
        with pytest.raises(Unshareable):
            file_copies.write(file, '["Bash(ls)"]' if kind == "approvals" else '{"a": 1}')
    assert file.path.read_text() == content


def test_what_would_be_too_large_for_its_readers_replaces_nothing(tmp_path: Path) -> None:
    file = SyncedFile("limits", tmp_path / "kept.json", "limits")
    file.path.write_text('{"here": 1}')
    with file_copies.locked(file), pytest.raises(OSError, match="could not be read again: it is over 1,000,000 bytes"):
        file_copies.write(file, json.dumps({"x" * 1_000_000: 1}))
    assert file.path.read_text() == '{"here": 1}'
