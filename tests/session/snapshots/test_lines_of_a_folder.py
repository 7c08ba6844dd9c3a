"""What the lines about a session's folder say: what it changed, what can be undone, and what belongs to a turn."""

from pathlib import Path

import pytest

from co_tui.session.snapshots.entries import FileEntry
from co_tui.session.snapshots.file_restores import ELSEWHERE, MOST_NAMED, RestoreRefused, names
from co_tui.session.snapshots.folder_scan import NotCovered
from co_tui.session.snapshots.folder_snapshots import FolderSnapshots, Taken
from co_tui.session.snapshots.journal import JOURNAL_FILE, Journal, Line
from co_tui.session.snapshots.touched import touched_by, touched_by_restore
from tests.support.kept_folders import KeptFolder, write

OLD, NEW = FileEntry(0o100644, "old"), FileEntry(0o100644, "new")
BEGIN, END = Line("begin", 1, 1, "s1"), Line("end", 1, 1, "s2", ("a",), "s1", (OLD,))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def added(journal: Journal, *lines: Line) -> Journal:
    for line in lines:
        journal.add(line)
    return journal


def test_lines_are_read_again_and_one_that_was_cut_off_is_ignored(journal: Journal, tmp_path: Path) -> None:
    added(journal, BEGIN, END)
    with (tmp_path / JOURNAL_FILE).open("a") as file:
        file.write('{"kind": "found", "se')
    again = Journal(tmp_path)
    assert list(again.lines) == [BEGIN, END] and again.latest == "s2"
    again.add(BEGIN)
    assert list(Journal(tmp_path).lines) == [BEGIN, END, BEGIN]


def test_a_call_that_had_not_ended_is_known_also_if_something_was_found_since(journal: Journal) -> None:
    assert added(journal, BEGIN).unfinished == BEGIN
    assert added(journal, Line("found", 1, 1, "s2", ("x",))).unfinished == BEGIN
    assert added(journal, END).unfinished is None


def test_the_latest_restore_that_was_not_undone_can_be_undone(journal: Journal) -> None:
    first, second = Line("restore", 5, 1, "s3"), Line("restore", 6, 1, "s4")
    assert added(journal, END).undoable is None
    assert added(journal, first, second).undoable == second
    assert added(journal, Line("restore", 7, 1, "s5", undoes=6)).undoable == first
    assert added(journal, Line("restore", 8, 1, "s6", undoes=5)).undoable is None


def test_what_prepared_a_turn_belongs_to_it(journal: Journal) -> None:
    earlier = Line("end", 3, 1, "s2")
    found, prepared = Line("found", 4, 1, "s3"), Line("end", 4, 1, "s4", prepares=True)
    own = Line("end", 6, 2, "s5")
    added(journal, earlier, found, prepared, own)
    assert list(journal.since(5, 4)) == [prepared, own]
    assert list(journal.since(5, 5)) == [own], "prepared for an earlier prompt"
    assert list(journal.since(7, 7)) == []


def test_a_fork_gets_the_lines_up_to_its_event(journal: Journal, tmp_path: Path) -> None:
    later = END._replace(seq=9)
    (tmp_path / "fork").mkdir()
    added(journal, BEGIN, END, later).copy_to(tmp_path / "fork", 8)
    assert list(Journal(tmp_path / "fork").lines) == [BEGIN, END]


def test_what_the_session_changed_goes_back_to_before_its_first_change() -> None:
    again = END._replace(paths=("a", "b"), was=(NEW, None), missed=("large",))
    found = Line("found", 2, 1, "s3", ("a", "c"))
    touched = touched_by([BEGIN, END, found, again])
    assert (touched.was, touched.by_others, touched.missed) == ({"a": OLD, "b": None}, {"a"}, {"large"})
    undone = touched_by_restore(END._replace(kind="restore"), [found])
    assert (undone.was, undone.by_others) == ({"a": OLD}, {"a"})


def test_many_names_are_cut_and_counted() -> None:
    paths = [f"f{n}" for n in range(MOST_NAMED + 3)]
    assert names(paths[:2]) == "f0, f1" and names(paths[:MOST_NAMED]).endswith(f"f{MOST_NAMED - 1}")
    assert names(paths).endswith(f"f{MOST_NAMED - 1} and 3 more")


async def test_what_was_changed_in_another_folder_is_not_restored_here(tmp_path: Path) -> None:
    kept = KeptFolder(tmp_path)
    turn = await kept.turn(write("a"))
    kept.folder = tmp_path / "other"
    kept.folder.mkdir()
    kept.open()
    with pytest.raises(RestoreRefused, match=ELSEWHERE[:30]):
        await kept.restores.plan_rewind(turn)


async def test_a_folder_that_cannot_be_covered_is_tried_and_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def refuses(self: FolderSnapshots, latest: str = "") -> Taken:
        tried.append(latest)
        raise NotCovered("it is too large")

    monkeypatch.setattr(FolderSnapshots, "take", refuses)
    kept = KeptFolder(tmp_path)
    await kept.turn(write("a"), write("b"))
    assert len(tried) == 1, "not around every call"
    kept.open()
    await kept.turn(write("c"))
    assert len(tried) == 2 and [fact.TYPE for fact in kept.facts] == ["session.error"]


async def test_a_restore_says_which_files_are_as_before_all_changes(tmp_path: Path) -> None:
    kept = KeptFolder(tmp_path)
    write("a", "1")(kept.folder)
    await kept.turn(write("a", "2"))
    turn = await kept.turn(write("a", "3"), write("b"))
    await kept.rewind(turn)
    assert (kept.facts[-1].paths, kept.facts[-1].as_before) == (("a", "b"), ("b",))
