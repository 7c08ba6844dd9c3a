"""What a command made that would make programs run is moved away, however it is hidden (X9)."""

import asyncio
import itertools
import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from co_tui.agent.permissions.git_folders import is_harmless
from co_tui.agent.permissions.obeyed import obeyed_name
from co_tui.agent.permissions.protected_files import ProtectedFiles
from co_tui.session.tools.folder.folder_guard import FolderGuard
from tests.support.ways_to_run import HARMFUL, write

PARTS = {"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": ""}
USER = 1000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "worktrees" / "shop"
    write(folder, {"docs/HEAD": PARTS["HEAD"]})
    return folder


@pytest.fixture
def users_folder() -> Iterator[Path]:
    """A folder of someone other than root, who can read and write all folders."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        folder = Path(place, "shop")
        folder.mkdir()
        if os.geteuid():
            yield folder
            return
        for each in (Path(place), folder):
            os.chown(each, USER, USER)
        os.seteuid(USER)
        try:
            yield folder
        finally:
            os.seteuid(0)


async def moved_after(folder: Path, command: str) -> list[str]:
    """What was moved away after a command."""
    guard = FolderGuard(folder, folder.parent / "aside", Path("/home/me"))
    await guard.begin(others_run=False)
    user = os.geteuid()
    run = partial(subprocess.run, ["sh", "-ec", command], cwd=folder, check=True)
    await asyncio.to_thread(run, user=user if user != os.getuid() else None)
    made = await guard.end()
    assert made is None or all(each.kept is not None for each in made.files)
    return [each.name for each in made.files] if made is not None else []


@pytest.mark.parametrize(
    ("command", "moved"),
    [
        ("mkdir -p modules/.claude; touch modules/.claude/settings.json", "modules/.claude"),
        ("mkdir -p modules/a/.vscode; touch modules/a/.vscode/tasks.json", "modules/a/.vscode/tasks.json"),
        ("git init -q modules/a; touch modules/a/.git/hooks/pre-commit", "modules/a/.git"),
        ("mkdir -p .claude; touch .claude/settings.json", ".claude"),
        ("git init -q r; mv r/.git/config r/a; ln -s ../a r/.git/config", "r/.git"),
        ("git init -q r; ln r/.git/config r/a", "r/.git"),
        ("git init -q r; mv r/.git/objects/info r/a; ln -s ../../a r/.git/objects/info", "r/.git"),
        ("git init -q r; mkdir a; ln -s ../../a r/.git/modules", "r/.git"),
        ("git init -q r; printf '[core]\\nworktree = ../../.. ;\"/../a\\n' >> r/.git/config", "r/.git"),
    ],
)
async def test_moves_what_looks_like_a_part_of_a_new_repository(folder: Path, command: str, moved: str) -> None:
    assert await moved_after(folder, command) == [moved]


async def test_moves_a_worktree_of_a_folder_that_is_no_repository_itself(folder: Path) -> None:
    write(folder, {"a/config": HARMFUL, "a/objects/x": "", "a/refs/x": ""})
    making = "mkdir -p a/worktrees/b; echo ../.. > a/worktrees/b/commondir; cp docs/HEAD a/worktrees/b"
    assert await moved_after(folder, making) == ["a/worktrees/b/HEAD"]


@pytest.mark.parametrize(
    ("hiding", "moved"),
    [
        ("chmod 311 r", "r"),
        ("chmod 555 r", "r/.git"),
        ("chmod 555 r/.git", "r/.git"),
        ("chmod 311 r/.git/hooks", "r/.git"),
    ],
)
async def test_moves_what_permissions_hide_or_hold(users_folder: Path, hiding: str, moved: str) -> None:
    assert await moved_after(users_folder, f"git init -q r; touch r/.git/hooks/pre-commit; {hiding}") == [moved]


async def test_keeps_an_unreadable_folder_that_was_there(users_folder: Path) -> None:
    (users_folder / "locked").mkdir(mode=0o300)
    assert await moved_after(users_folder, "touch a") == []


async def test_moves_what_is_behind_many_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.tools.folder.folder_guard.MOST_FOLDERS", 10)
    monkeypatch.setattr(ProtectedFiles.find, "__defaults__", (10,))
    assert await moved_after(folder, "mkdir $(seq 20); mkdir 20/a; touch 20/a/.npmrc") == ["20/a/.npmrc"]


async def test_moves_a_part_of_a_git_folder_in_every_case(folder: Path) -> None:
    names = ["".join(each) for each in itertools.product(*((c, c.upper()) for c in "commondir"))]
    assert len(await moved_after(folder, f"cd docs; touch {' '.join(names)}")) == len(names)


@pytest.fixture
def named(folder: Path) -> Path:
    """A repository that obeys files of its work tree, in a configuration with a line that is not understood."""
    config = '[alias]\n\tx = "!f() { \\\n:; }; f"\n[include]\n\tpath = ../more/a\n'
    write(folder, {**{f".git/{name}": text for name, text in PARTS.items()}, ".git/config": config})
    write(folder, {"more/a": "[include]\n\tpath = b\n", "more/b": "[core]\n\thooksPath = sub/hooks\n"})
    write(folder, {"sub/hooks/pre-push": "", "sub/lint.sh": "", "sub/test.sh": "", "sub/a.py": "", ".git/hooks/a": ""})
    (folder / ".git" / "hooks" / "pre-commit").symlink_to("../../sub/lint.sh")
    (folder / "sub" / "hooks" / "pre-commit").symlink_to("../test.sh")
    return folder


def test_git_obeys_links_of_hooks_and_all_that_configurations_include(named: Path) -> None:
    obeyed = ["more/a", "more/b", "sub/hooks/pre-push", "sub/hooks/new", "sub/lint.sh", "sub/test.sh"]
    assert [each for each in obeyed if obeyed_name(each, named, Path("/home/me")) is None] == []
    assert obeyed_name("sub/a.py", named, Path("/home/me")) is None
    assert obeyed_name("lint.sh", named / "sub", Path("/home/me")) is not None


def test_a_sandbox_protects_what_the_repository_above_obeys(named: Path) -> None:
    sub = named / "sub"
    found = ProtectedFiles(sub, Path("/home/me")).find()
    assert found.read_only == {str(sub / each) for each in ("hooks", "lint.sh", "test.sh")}


def test_links_are_not_looked_for_in_other_work_trees(folder: Path) -> None:
    write(folder, {".claude/worktrees/a/.git": "", ".claude/worktrees/a/src/a.py": "", "b.py": ""})
    (folder / ".claude" / "worktrees" / "a" / "src" / "b.py").symlink_to(folder / "b.py")
    (folder / ".claude" / "c.py").symlink_to("../docs/HEAD")
    found = ProtectedFiles(folder, Path("/home/me")).find()
    assert found.read_only == {str(folder / ".claude"), str(folder / "docs" / "HEAD")}


def test_a_repository_behind_a_link_is_not_harmless_since_the_link_may_change(folder: Path) -> None:
    write(folder, {f"r/.git/{name}": text for name, text in PARTS.items()})
    (folder / "s").mkdir()
    (folder / "s" / ".git").symlink_to("../r/.git")
    assert is_harmless(folder / "r" / ".git", folder) and not is_harmless(folder / "s" / ".git", folder)


async def test_a_new_repository_may_say_how_it_pulls_and_pushes(folder: Path) -> None:
    settings = ("pull.rebase true", "pull.ff only", "push.default simple", "push.autoSetupRemote true")
    lines = "; ".join(f"git -C r config {each}" for each in settings)
    assert await moved_after(folder, f"git init -q r; {lines}") == []
    assert await moved_after(folder, "git init -q s; git -C s config pull.twohead evil") == ["s/.git"]


@pytest.mark.parametrize("made", [{".npmrc": ""}, {"docs/objects/x": "", "docs/refs/x": "", "docs/hooks/x": ""}])
async def test_what_could_not_be_moved_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, str]
) -> None:
    guard = FolderGuard(folder, folder.parent / "aside", Path("/home/me"))
    await guard.begin(others_run=False)
    write(folder, made)
    with monkeypatch.context() as failing:
        failing.setattr(os, "rename", lambda *_, **__: Path("/no such file").stat())
        first = await guard.check()
    assert first is not None and all(each.kept is None for each in first.files)
    second = await guard.check()
    assert second is not None and all(each.kept is not None for each in second.files)
    assert await guard.check() is None
