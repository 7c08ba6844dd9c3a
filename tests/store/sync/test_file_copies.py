"""Which files are shared with other machines, and how much of them."""

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
