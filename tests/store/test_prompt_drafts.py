"""Unsent prompts: each window has its own, and what windows left that ended, however they ended, is taken over once."""

import os
import stat
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.store.prompt_drafts import PromptDraftFiles, draft_of, texts_of
from co_tui.store.sync.files.synced_file import LocalFiles, SyncedFile
from tests.support.forked import forked
from tests.support.long_run import drawn
from tests.support.waiting import PATIENCE_S

ACTS = ("write", "open", "leave", "end")


def window(folder: Path) -> PromptDraftFiles:
    return PromptDraftFiles(folder / "drafts", LocalFiles())


def test_two_windows_keep_their_own_and_the_next_takes_over_both(tmp_path: Path) -> None:
    first, second = window(tmp_path), window(tmp_path)
    assert first.open("s") == second.open("s") == ""
    first.write("s", "half a thou")
    second.write("s", "another")
    first.write("s", "half a thought")
    assert (first.read("s"), second.read("s")) == ("half a thought", "another")
    assert window(tmp_path).open("s") == "", "both are shown"
    first.leave()
    second.leave()
    third = window(tmp_path)
    assert sorted(texts_of(third.open("s"))[0]) == ["another", "half a thought"]
    assert [file.name for file in (tmp_path / "drafts").glob("*.txt")] == ["s.txt"]
    assert window(tmp_path).open("s") == "", "once"


@settings(max_examples=drawn(30), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 3), st.sampled_from("ab"))))
def test_what_windows_write_is_neither_lost_nor_doubled(steps: list[tuple[str, int, str]]) -> None:
    """Any windows show, write, leave and end; a text is only added."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        windows = [window(folder) for _ in range(4)]
        shown: list[tuple[str, list[str]]] = [("", []) for _ in range(4)]
        written: dict[str, list[str]] = {"a": [], "b": []}
        for number, (act, at, key) in enumerate(steps):
            showing, texts = shown[at]
            if act == "write" and showing:
                written[showing].append(f"text {number}")
                shown[at] = showing, [f"text {number}", *texts]
                windows[at].write(showing, draft_of(shown[at][1], is_being_written=bool(number % 2)))
            elif act == "open":
                shown[at] = key, texts_of(windows[at].open(key))[0]
            elif act == "leave":
                windows[at].leave()
                shown[at] = "", []
            elif act == "end":  # without a word
                windows[at] = window(folder)
                shown[at] = "", []
        for each in windows:
            each.leave()
        for key, texts in written.items():
            assert sorted(texts_of(window(folder).open(key))[0]) == sorted(texts)


def write_and_wait(folder: Path, pipe: Connection) -> None:
    drafts = window(folder)
    drafts.open("s")
    drafts.write("s", "of a window that is killed")
    pipe.send(os.getpid())
    pipe.recv()


def test_the_draft_of_a_killed_process_is_taken_over_but_not_of_a_living_one(tmp_path: Path) -> None:
    ours, theirs = forked().Pipe()
    process = forked().Process(target=write_and_wait, args=(tmp_path, theirs))
    process.start()
    assert ours.poll(PATIENCE_S) and ours.recv() == process.pid
    here = window(tmp_path)
    assert here.open("s") == ""
    process.kill()
    process.join(PATIENCE_S)
    assert here.open("s") == "of a window that is killed"
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "drafts").iterdir()} == {0o600}


def test_only_the_first_windows_draft_of_a_session_goes_to_other_machines(tmp_path: Path) -> None:
    sent: list[str] = []

    class Sent(LocalFiles):
        def changed(self, file: SyncedFile) -> None:
            sent.append(file.path.read_text())

    first, second = (PromptDraftFiles(tmp_path / "drafts", Sent()) for _ in range(2))
    first.write("s", "one")
    second.write("s", "two")
    assert sent == ["one"]
    second.leave()
    first.open("s")
    assert sent == ["one", "one\x1etwo"] or sent == ["one", "two\x1eone"]


def test_a_deleted_session_has_no_drafts_but_those_being_written(tmp_path: Path) -> None:
    first, second, third = window(tmp_path), window(tmp_path), window(tmp_path)
    for number, each in enumerate((first, second, third)):
        each.write("s", f"draft {number}")
    second.leave()
    first.forget("s")
    assert [file.read_text() for file in (tmp_path / "drafts").glob("*.txt")] == ["draft 2"]


def test_a_draft_that_cannot_be_read_stays(tmp_path: Path) -> None:
    (tmp_path / "drafts").mkdir()
    (tmp_path / "drafts" / "s.txt").write_bytes(b"\xff\xfe")
    drafts = window(tmp_path)
    assert drafts.open("s") == ""
    drafts.write("s", "new")
    assert (tmp_path / "drafts" / "s.txt").read_bytes() == b"\xff\xfe" and drafts.read("s") == "new"


def test_a_full_disk_is_an_error_and_the_old_draft_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = window(tmp_path)
    drafts.write("s", "old")

    def fails(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match="No space"):
            drafts.write("s", "new")
    assert drafts.read("s") == "old"
    drafts.write("s", "new")
    assert drafts.read("s") == "new"


def test_a_window_leaves_no_locks(tmp_path: Path) -> None:
    drafts = window(tmp_path)
    drafts.write("s", "text")
    for key in "abcabc":
        drafts.open(key)
    drafts.leave()
    assert sorted(file.name for file in (tmp_path / "drafts").iterdir()) == [".lock", "s.txt"]


@pytest.mark.parametrize(
    ("texts", "is_being_written"), [(["one\n"], True), (["one\n"], False), (["one", "two\n\n"], True)]
)
def test_a_draft_says_which_of_its_texts_is_being_written(texts: list[str], is_being_written: bool) -> None:
    assert texts_of(draft_of(texts, is_being_written=is_being_written)) == (texts, is_being_written)


def test_drafts_of_earlier_versions_are_read_whole() -> None:
    assert texts_of("half\n") == (["half\n"], True) and texts_of("")[0] == []
