"""Free commands in hostile folders: no program of the folder runs, and nothing from outside is shown (X7)."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from co_tui.agent.permissions.git_guard import guarded_environment
from co_tui.agent.permissions.git_table import GIT_READS
from co_tui.agent.permissions.judge import Judge
from tests.support.git_checks import git_checked_once
from tests.support.harmless_folders import HARMLESS
from tests.support.hostile_folders import HOSTILE, HOSTILE_REPOSITORIES, SECRET, UNGUARDED
from tests.support.long_run import LONG_RUN

GIT_LINES = (
    "git status", "git status -s", "git diff", "git diff HEAD", "git diff --stat", "git log -p -3", "git show",
    "git log --oneline", "git reflog", "git rev-list HEAD", "git shortlog HEAD",
    "git blame notes.txt", "git ls-files", "git ls-files -s", "git ls-tree -r HEAD",
    "git rev-parse HEAD", "git describe --always --dirty", "git merge-base HEAD HEAD", "git name-rev HEAD",
    "git cat-file -p HEAD", "git show-ref", "git for-each-ref", "git count-objects", "git check-ignore -v x",
    "git branch -a", "git tag -l", "git remote -v", "git stash list", "git worktree list", "git version",
    "cd data && git status", "cd inner && git status && git diff", "cd sub && git status",
    "git status && git diff | head",
)  # fmt: skip
FILE_LINES = (
    "ls -la", "ls -R", "cat *", "cat */*", "head -5 *", "grep -r canary .", "grep canary *", "find . -type f",
    "find . -type f -exec cat {} +", "wc -l *", "du -a", "tree", "stat *", "file *", "sort *", "diff * notes.txt",
    "cat $(ls)", "cd * && cat *", "sed -n '1,5p' *", "sha256sum *",
)  # fmt: skip


def judge(folder: Path) -> Judge:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder.parent / "home")}
    return Judge(folder=folder, home=folder.parent / "home", environ=environ)


def free_of(folder: Path, lines: Iterable[str]) -> list[str]:
    return list(judged_lines(folder, lines))


def judged_lines(folder: Path, lines: Iterable[str]) -> dict[str, str]:
    """The free lines, and what is run for each."""
    judging = judge(folder)
    with git_checked_once():
        verdicts = {line: judging.verdict("run_command", {"command": line}, "ask", ()) for line in lines}
    return {line: verdict.judged_line for line, verdict in verdicts.items() if verdict.action == "run"}


def run(folder: Path, line: str, environ: Mapping[str, str]) -> str:
    """As a free command is run."""
    try:
        done = subprocess.run(
            ["sh", "-c", line], cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=5
        )
    except subprocess.TimeoutExpired as late:  # a pipe without a writer
        return str(late.stdout)
    return (done.stdout + done.stderr).decode(errors="replace")


def test_every_free_git_command_is_tried() -> None:
    tried = {line.split()[1] for line in GIT_LINES if line.startswith("git ")}
    assert set(GIT_READS) <= tried


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_runs_and_nothing_from_outside_is_shown(name: str, tmp_path: Path) -> None:
    folder, marker, outside = tmp_path / "folder", tmp_path / "ran", tmp_path / "outside"
    HOSTILE[name](folder, marker, outside)
    marker.unlink(missing_ok=True)
    git, files = (GIT_LINES, FILE_LINES) if LONG_RUN else (GIT_LINES[::6], FILE_LINES[::3])
    lines = (*git, "ls -R", UNGUARDED[name]) if name in HOSTILE_REPOSITORIES else (*files, *GIT_LINES[:4])
    # Most of these are asked about; only what is free is run.
    free = judged_lines(folder, lines)
    assert not marker.exists(), "judging alone ran something"
    environ = guarded_environment(judge(folder).environ, folder)
    shown = {line: run(folder, judged, environ) for line, judged in free.items()}
    assert not marker.exists()
    assert [line for line, output in shown.items() if SECRET in output] == []


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_repositories_are_looked_at_without_a_question(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    HARMLESS[name](folder)
    lines = [line for line in GIT_LINES if not line.startswith("cd ")]
    assert free_of(folder, lines) == lines


def test_the_folders_are_hostile_to_git_alone(tmp_path: Path) -> None:
    """The table would be worth nothing if git did no harm in these folders."""
    folder, marker, outside = tmp_path / "folder", tmp_path / "ran", tmp_path / "outside"
    HOSTILE_REPOSITORIES["clean_filter"](folder, marker, outside)
    marker.unlink(missing_ok=True)
    subprocess.run(["git", "status"], cwd=folder, capture_output=True)
    assert marker.exists()


def test_free_git_runs_no_program_for_signatures(tmp_path: Path) -> None:
    """No matter who set it: the user's own configuration is not looked through."""
    folder, marker = tmp_path / "folder", tmp_path / "ran"
    HOSTILE_REPOSITORIES["signature_program"](folder, marker, tmp_path / "outside")
    run(folder, "git log -1", guarded_environment(judge(folder).environ, folder))
    assert not marker.exists()
    run(folder, "git log -1", judge(folder).environ)
    assert marker.exists()


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes"])
def test_a_pipe_in_any_folder_keeps_git_from_being_free(tmp_path: Path, name: str) -> None:
    HARMLESS["plain"](tmp_path / "folder")
    (tmp_path / "folder/a/b").mkdir(parents=True)
    assert free_of(tmp_path / "folder", ["git status"]) == ["git status"]
    os.mkfifo(tmp_path / "folder/a/b" / name)
    assert free_of(tmp_path / "folder", ["git status", "git diff"]) == []


def test_very_much_configuration_is_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    HARMLESS["plain"](tmp_path / "folder")
    config = tmp_path / "folder/.git/config"
    with config.open("a") as file:
        file.write("[user]\n" + "".join(f"\tk{n} = 1\n" for n in range(2_000)))
    assert free_of(tmp_path / "folder", ["git status"]) == ["git status"]
    with monkeypatch.context() as few:
        few.setattr("co_tui.agent.permissions.git_guard.MOST_KEYS", 1_000)
        assert free_of(tmp_path / "folder", ["git status"]) == []
    with config.open("a") as file:
        file.write("\tsame = 1\n" * 100_000)
    monkeypatch.setattr(subprocess, "run", lambda *given, **more: pytest.fail("git is not even started"))
    assert free_of(tmp_path / "folder", ["git status"]) == []
