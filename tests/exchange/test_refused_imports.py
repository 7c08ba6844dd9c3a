"""Importers, on what is damaged, odd or no session at all."""

import json
import os
from pathlib import Path

import pytest

from co_tui.events.event import event_json
from co_tui.exchange.importers import ImportRefused, foreign_files, load
from co_tui.session.state.derive import replay
from tests.exchange.test_importers import history_texts, loaded, one
from tests.support.cases import each_case
from tests.support.foreign import claude_row, counts, write_lines


def test_damaged_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "damaged.jsonl"
    good = [json.dumps(claude_row("user", "first")), json.dumps(claude_row("assistant", "second"))]
    deep = '{"type": "user", "message": {"content": ' + "[" * 100_000 + "]" * 100_000 + "}}"
    number = '{"type": "user", "n": ' + "9" * 5_000 + "}"
    lines = [b"\x00\xff\xfe", good[0].encode(), good[1].encode()[:40], b"[1, 2]", deep.encode(), number.encode()]
    file.write_bytes(b"\n".join([*lines, good[1].encode(), good[0][:-9].encode()]))
    session = one(file)
    assert [len(session.messages), session.skipped] == [2, 6]


def test_a_line_without_end_is_passed_over_and_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_files, "MAX_LINE_BYTES", 1_000)
    file = write_lines(tmp_path / "long.jsonl", [claude_row("user", "x" * 3_000_000), claude_row("user", "short")])
    session = one(file)
    assert (session.title, session.skipped) == ("short", 1)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "huge.jsonl"
    with open(file, "wb") as stream:
        stream.truncate(foreign_files.MAX_FILE_BYTES + 1)
    with pytest.raises(ImportRefused, match="over 1,000,000,000 bytes"):
        load(file)


def test_one_value_that_is_too_large_to_be_held_is_refused_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_files, "MAX_WHOLE_BYTES", 100)
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([{"uuid": "c", "chat_messages": ["x" * 100]}]))
    with pytest.raises(ImportRefused, match="one JSON value of over 100 bytes"):
        load(file)


def test_odd_values_are_made_storable_and_replay(tmp_path: Path) -> None:
    odd = {"type": "tool_use", "id": 7, "name": None, "input": {"a": float("nan"), "b": "\ud800", "c": [[[1]]]}}
    session = loaded(
        tmp_path,
        [
            claude_row("user", "half \ud800 \x1b[31mred\x00", timestamp="not a time", cwd="/\ud801"),
            claude_row("assistant", [odd, None, 3, {"type": []}, {"text": "x"}], timestamp=-5),
            claude_row(
                "user", [{"type": "tool_result", "tool_use_id": ["x"], "content": {"deep": [1]}}], timestamp=1e400
            ),
            {"type": "custom-title", "customTitle": "\x1b]0;evil\x07\ud800"},
        ],
    )
    for event in session.log:
        event_json(event).encode()
    assert "\x1b[31mred" in history_texts(replay(session.log))[0], "kept as it was said; shown inert"
    assert session.title == "]0;evil\N{REPLACEMENT CHARACTER}"
    assert counts(session.messages)["pairs"] == 1


@each_case(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (os.urandom(5_000).replace(b"{", b"}"), "is a JSON object"),
        (b"Dear diary,\n", "none of its 1 lines is a JSON object"),
        (b'{"a": 1}\n', "in an unknown format"),
        (b'[{"messages": []}]', "in an unknown format"),
        (b"SQLite format 3\0" + b"x" * 100, "Cannot read database"),
        (b'{"sessionId": "g", "projectHash": "x", "messages": []}', "is an empty"),
    ],
)
def test_what_is_no_session_is_refused_with_a_sentence(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "thing.jsonl"
    file.write_bytes(content)
    with pytest.raises(ImportRefused) as refused:
        load(file)
    assert str(file) in str(refused.value) and why in str(refused.value) and str(refused.value).endswith(".")


def test_folders_pipes_and_what_is_not_there_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, why in ((tmp_path, "is a folder"), (pipe, "not a regular file"), (tmp_path / "none", "No such file")):
        with pytest.raises(ImportRefused, match=why):
            load(path)


def test_ids_in_files_lead_out_of_no_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "m.json").write_text('{"id": "m", "role": "user", "summary": {"body": "a secret"}}')
    storage = tmp_path / "storage"
    for kind in ("message", "session/p", "part"):
        (storage / kind).mkdir(parents=True)
    info = {"id": "../../secret", "projectID": "p", "directory": "/w", "time": {"created": 1740823200000}}
    (storage / "session" / "p" / "s.json").write_text(json.dumps(info))
    with pytest.raises(ImportRefused, match="is an empty"):
        load(storage / "session" / "p" / "s.json")
