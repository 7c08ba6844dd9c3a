"""Which files of a folder there are: as git sees them, without git."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from co_tui import ignore_rules
from co_tui.folder_files import FolderWalk
from tests.support.hostile_folders import git

FILES = ("a", "b.py", "ab.log", "d/a", "d/b.py", "d/e/a", "d/e/ab.log", "e/d/a", "e/x y", "build/a", "d/build/b.py")
pieces = st.sampled_from(
    ("a", "b", "*", "?", "**", "d", "e", "build", "*.py", "*.log", "[ab]*", "a*", "x\\ y", "[!a]*")
)
rules = st.builds(
    # At the end, pathspec reads `**/` as `**`.
    lambda negated, rooted, parts, folder: (
        "!" * negated + "/" * rooted + "/".join(parts) + "/" * (folder and parts[-1] != "**")
    ),
    st.booleans(),
    st.booleans(),
    st.lists(pieces, min_size=1, max_size=3),
    st.booleans(),
)
texts = st.lists(rules, max_size=5).map(lambda lines: "\n".join(["# what to leave out", "", *lines]))


def walked(folder: Path) -> set[str]:
    return {entry.path for entry in FolderWalk(folder, hidden=True) if not entry.is_dir}


@given(texts, texts, texts)
@example("", "", "?\n!**/*/")
def test_what_is_ignored_is_what_git_ignores(of_root: str, of_d: str, excluded: str) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        folder = Path(place)
        git(folder, "init", "-q")
        for name in FILES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        for name, text in ((".gitignore", of_root), ("d/.gitignore", of_d), (".git/info/exclude", excluded)):
            (folder / name).write_text(text)
        listed = git(folder, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
        assert walked(folder) == {name for name in listed if name}
        below = git(folder / "d", "ls-files", "-z", "--others", "--exclude-standard").split("\0")
        ignored = subprocess.run(["git", "check-ignore", "-q", "d"], cwd=folder).returncode == 0
        if not ignored:  # a folder that is named is looked at, even if the one above it ignores it
            assert walked(folder / "d") == {name for name in below if name}


def test_rules_that_would_never_be_done_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignore_rules, "SLOW_RULE_S", 0.05)
    monkeypatch.setattr(ignore_rules, "SLOW_RULES_S", 0.05)
    (tmp_path / ".gitignore").write_text("*a" * 30 + "b\n" + "**/a" * 30 + "/b\n*.log\n")
    names = [f"{'a' * 250}{n}" for n in range(50)]
    for name in [*names, "x.log"]:
        (tmp_path / name).touch()
    assert walked(tmp_path) == {*names, ".gitignore"}


@pytest.mark.parametrize("line", ["[", "\\", "a" * 100_000, "[z-a]", "*" * 5_000, "!", "/", "//", "**" * 99, "\ud800"])
def test_odd_rules_ignore_nothing_else(tmp_path: Path, line: str) -> None:
    (tmp_path / ".gitignore").write_bytes(f"{line}\n*.log\n".encode("utf-8", "surrogatepass"))
    for name in ("x.log", "kept.py"):
        (tmp_path / name).touch()
    found = walked(tmp_path)
    assert "x.log" not in found and ("kept.py" in found or set(line) == {"*"})


def test_a_walk_is_cut_short_by_time_and_by_who_waits_for_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "c").touch()
    for limits in ({"longest_s": -1.0}, {"keep_going": lambda: False}):
        walk = FolderWalk(tmp_path, **limits)
        assert list(walk) == [] and walk.was_cut
    walk = FolderWalk(tmp_path)
    assert len(list(walk)) == 4 and not walk.was_cut


def test_what_an_ordinary_user_cannot_read_is_passed_by() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "locked").mkdir()
        for name in ("locked/a", "b.log"):
            (folder / name).touch()
        (folder / ".gitignore").write_text("*.log")
        for name, mode in (("", 0o755), ("locked", 0), (".gitignore", 0)):
            (folder / name).chmod(mode)
        before = os.geteuid()
        if before == 0:
            os.seteuid(65_534)  # an administrator reads everything
        try:
            assert walked(folder) == {"b.log", ".gitignore"}
        finally:
            os.seteuid(before)
            (folder / "locked").chmod(0o755)
