"""Exports that come as a zip: read within bounds, and refused with a sentence when they are made to hurt."""

import json
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from co_tui.exchange.importers import ImportRefused, archive, load
from co_tui.session.state.derive import replay
from tests.exchange.test_importers import one
from tests.exchange.test_program_files import tally
from tests.support.foreign_programs import (
    CHATGPT,
    CLAUDE_AI,
    png,
    zipped,
)
from tests.support.long_run import drawn


def test_an_export_is_read_from_its_zip_with_its_images(tmp_path: Path) -> None:
    members = {
        "conversations.json": json.dumps(CHATGPT).encode(),
        "file-Abc12345-shot.png": png(),
        "chat.html": b"<html>",
        "../../evil.json": b"{}",
    }
    session = one(zipped(tmp_path / "export.zip", members))
    assert tally(session.messages)[-1] == 1 and "images" not in session.left_out
    assert session.left_out["other files of the export"] == 2
    assert [file.name for file in tmp_path.iterdir()] == ["export.zip"], "nothing is unpacked"


def test_conversations_in_several_files_of_a_zip_are_all_imported(tmp_path: Path) -> None:
    members = {
        f"data/conversations-{number:03}.json": json.dumps([{**CLAUDE_AI[0], "uuid": f"c-{number}"}, 7]).encode()
        for number in range(3)
    }
    members["users.json"] = b"[]"
    sessions = load(zipped(tmp_path / "export.zip", members))
    assert len({session.session_id for session in sessions}) == 3
    assert [session.skipped for session in sessions] == [3, 0, 0]


def lying(file: Path) -> None:
    """Claims a list of files that is longer than can be held."""
    data = bytearray(file.read_bytes())
    end = data.rindex(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<I", archive.MAX_DIRECTORY_BYTES + 1)
    file.write_bytes(bytes(archive.MAX_DIRECTORY_BYTES + 10) + data[end:])
    file.write_bytes(b"PK\x03\x04" + file.read_bytes()[4:])


def test_a_zip_that_is_made_to_hurt_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped(tmp_path / "bomb.zip", {"conversations.json": bytes(2_000_000)})
    claim = zipped(tmp_path / "claim.zip", {"conversations.json": b"[]"})
    lying(claim)
    many = zipped(tmp_path / "many.zip", {f"{number}/conversations.json": b"[]" for number in range(4)})
    other = zipped(tmp_path / "other.zip", {"readme.txt": b"x"})
    cut = tmp_path / "cut.zip"
    cut.write_bytes(other.read_bytes()[:-30])
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as written:
        written.writestr("conversations.json", "[]")
    large = zipped(tmp_path / "large.zip", {"conversations.json": json.dumps(CHATGPT).encode()})
    monkeypatch.setattr(archive, "MAX_CONVERSATION_FILES", 3)
    reasons = {bomb: "300 times", claim: "list of files", many: "over 3 files", other: "no conversations.json"}
    reasons |= {cut: "zip", packed: "unusual way"}
    for file, why in reasons.items():
        with pytest.raises(ImportRefused) as refused:
            load(file)
        assert str(file) in str(refused.value) and why in str(refused.value) and str(refused.value).endswith(".")
    monkeypatch.setattr(archive, "MAX_WHOLE_BYTES", 100)
    with pytest.raises(ImportRefused, match="is over 100 bytes"):
        load(large)
    together = {f"conversations-{number}.json": b"[]" + b" " * 58 for number in range(2)}
    with pytest.raises(ImportRefused, match=r"conversations-1\.json is over 40 bytes"):
        load(zipped(tmp_path / "together.zip", together))


def test_images_of_a_zip_are_found_by_a_name_that_fits_one_and_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = {f"file-Abc1234{number}-shot.png": png() for number in range(2)}
    monkeypatch.setattr(archive, "MAX_IMAGES_BYTES", 1_500)
    with archive.Archive(zipped(tmp_path / "export.zip", {"conversations.json": b"[]", **images})) as export:
        image = export.document().attachment
        assert image("file-Ab") == b"" and image("file-Xyz12345") == b""
        assert image("file-Abc12340") == image("file-Abc12341") == png()
        assert image("file-Abc12340") == b"", "each counts at least 1,000 bytes"


@given(place=st.floats(0, 1), byte=st.binary(min_size=1, max_size=4))
@settings(max_examples=drawn(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_zip_is_imported_or_refused(tmp_path: Path, place: float, byte: bytes) -> None:
    members = {"conversations.json": json.dumps(CHATGPT).encode(), "file-Abc12345-shot.png": png()}
    data = bytearray(zipped(tmp_path / "whole.zip", members).read_bytes())
    at = 4 + int(place * (len(data) - 8))
    data[at : at + len(byte)] = byte
    file = tmp_path / "damaged.zip"
    file.write_bytes(data)
    try:
        sessions = load(file)
    except ImportRefused as refused:
        assert str(file) in str(refused)
        return
    assert all(replay(session.log).seq == len(session.log) for session in sessions)
