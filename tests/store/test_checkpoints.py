"""Each compaction leaves a file people can read; a crash or a full disk leaves nothing half done."""

import os
from pathlib import Path

import pytest

from co_tui.store.notes.checkpoints import Checkpoint, CheckpointFailed, Checkpoints

WORKSPACE = {
    "session_id": "20260101-101010-abc",
    "title": 'The "left" pane: fixed',
    "cwd": "/home/ann/project",
    "repository": "project",
    "branch": "main",
    "updated": "2026-01-01T10:20:30Z",
}
FACTS = {"time": "2026-01-01T10:20:30Z", "trigger": "manual", "tokens_before": 9000, "tokens_after": 700, "model": None}


def write(folder: Path, number: int, title: str, body: str = "What was done.") -> Checkpoint:
    return Checkpoints(folder).write(number, title, body, facts=FACTS, workspace=WORKSPACE)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").iterdir())


def test_a_session_without_checkpoints_lists_none_and_creates_nothing(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path / "session").list() == []
    assert not (tmp_path / "session").exists()


def test_a_checkpoint_can_be_read_found_and_counted(tmp_path: Path) -> None:
    first = write(tmp_path, 1, "Fixed the left pane")
    second = write(tmp_path, 2, "Größe [of] tabs")
    assert first.path.read_text() == (
        "# Fixed the left pane\n\n"
        "- time: 2026-01-01T10:20:30Z\n- trigger: manual\n- tokens before: 9000\n- tokens after: 700\n\n"
        "What was done.\n"
    )
    assert Checkpoints(tmp_path).list() == [first, second]
    assert (tmp_path / "checkpoints" / "index.md").read_text() == (
        "# Checkpoints\n\n- 001 [Fixed the left pane](001-fixed-the-left-pane.md)\n"
        "- 002 [Größe \\[of\\] tabs](002-groe-of-tabs.md)\n"
    )
    assert (tmp_path / "workspace.yaml").read_text() == (
        'session_id: "20260101-101010-abc"\n'
        'title: "The \\"left\\" pane: fixed"\n'
        'cwd: "/home/ann/project"\nrepository: "project"\nbranch: "main"\n'
        'updated: "2026-01-01T10:20:30Z"\nsummary_count: 2\n'
    )


def test_only_the_owner_can_read_what_is_kept(tmp_path: Path) -> None:
    write(tmp_path / "session", 1, "Plans")
    kept = [path for path in (tmp_path / "session").rglob("*") if path.is_file()]
    assert len(kept) == 3
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("../../etc/passwd", "007-etc-passwd.md"),
        ("日本語", "007-checkpoint.md"),
        ("", "007-checkpoint.md"),
        ("a" * 300, f"007-{'a' * 50}.md"),
        ("two\nlines\x1b[31m\ud800", "007-two-lines-31m.md"),
    ],
)
def test_any_title_gives_a_safe_name(tmp_path: Path, title: str, name: str) -> None:
    kept = write(tmp_path, 7, title, "red \x1b[31m and \ud800")
    assert kept.path == tmp_path / "checkpoints" / name
    assert "\x1b" not in kept.path.read_text()
    assert Checkpoints(tmp_path).list() == [kept]


def test_left_overs_of_a_crash_give_way_to_the_number_s_next_checkpoint(tmp_path: Path) -> None:
    write(tmp_path, 1, "First")
    write(tmp_path, 2, "Never logged")
    (tmp_path / "checkpoints" / ".002-half.md.x1y2").write_text("# Ha")
    kept = write(tmp_path, 2, "Second")
    assert files(tmp_path) == ["001-first.md", "002-second.md", "index.md"]
    assert [each.title for each in Checkpoints(tmp_path).list()] == ["First", "Second"]
    assert "never" not in (tmp_path / "checkpoints" / "index.md").read_text().lower()
    assert kept.path.name == "002-second.md"


def test_a_crash_between_writing_and_clearing_up_shows_the_newer_file(tmp_path: Path) -> None:
    old = write(tmp_path, 1, "Old").path
    (new := old.with_name("001-new.md")).write_text("# New\n")
    os.utime(old, (1, 1))
    assert Checkpoints(tmp_path).list() == [Checkpoint(1, "New", new)]


def test_the_index_follows_the_files_people_remove_or_rename(tmp_path: Path) -> None:
    write(tmp_path, 1, "First").path.unlink()
    write(tmp_path, 2, "Second").path.write_text("# Renamed by hand\n")
    write(tmp_path, 1000, "Thousandth")
    assert (tmp_path / "checkpoints" / "index.md").read_text() == (
        "# Checkpoints\n\n- 002 [Renamed by hand](002-second.md)\n- 1000 [Thousandth](1000-thousandth.md)\n"
    )


def test_keys_of_others_in_the_workspace_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "workspace.yaml"
    file.write_text("---\n# mine\nnotes:\n  - one\nbranch: >\n  old\n  words\nsummary_count: 0\ncolour: red\n")
    write(tmp_path, 1, "First")
    lines = file.read_text().splitlines()
    assert lines[:7] == ["---", "# mine", "notes:", "  - one", 'branch: "main"', "summary_count: 1", "colour: red"]
    assert lines[7] == 'session_id: "20260101-101010-abc"'
    assert len(lines) == 12


@pytest.mark.parametrize("blocked", ["workspace.yaml", "checkpoints/index.md"])
def test_a_checkpoint_that_fails_says_why_and_is_not_listed(tmp_path: Path, blocked: str) -> None:
    (tmp_path / blocked).mkdir(parents=True)
    with pytest.raises(CheckpointFailed, match=r"001-first\.md: Is a directory"):
        write(tmp_path, 1, "First")
    assert Checkpoints(tmp_path).list() == []


def test_a_folder_that_cannot_be_made_is_reported_not_raised(tmp_path: Path) -> None:
    (tmp_path / "session").write_text("a file where the folder should be")
    with pytest.raises(CheckpointFailed, match="Cannot save checkpoint"):
        write(tmp_path / "session", 1, "First")
