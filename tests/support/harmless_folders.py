"""Repositories as people have them: nothing may ask in them that did not before."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support.hostile_folders import change, git, repository


def plain(folder: Path) -> None:
    repository(folder)
    change(folder)


def remotes_and_branches(folder: Path) -> None:
    repository(folder)
    git(folder, "remote", "add", "origin", "https://example.com/shop.git")
    git(folder, "remote", "add", "fork", "git@example.com:ann/shop.git")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(folder, "branch", "--set-upstream-to=origin/main", "main")
    git(folder, "config", "branch.main.rebase", "true")
    git(folder, "checkout", "-q", "-b", "feature/x")


def worktree(folder: Path) -> None:
    """The folder is a worktree; its repository is next to it."""
    main = repository(folder.parent / f"{folder.name}-main")
    if folder.exists():
        folder.rmdir()
    git(main, "worktree", "add", "-q", "-b", "feature/x", str(folder))
    change(folder)


def submodule(folder: Path) -> None:
    library = repository(folder.parent / f"{folder.name}-library")
    repository(folder)
    git(folder, "submodule", "--quiet", "add", str(library), "library")
    git(folder, "commit", "-q", "-m", "library")
    change(folder / "library")


def partial_clone(folder: Path) -> None:
    """A promisor remote, and no object is missing."""
    origin = repository(folder.parent / f"{folder.name}-origin")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(folder.parent, "clone", "-q", "--filter=blob:none", f"file://{origin}", str(folder))
    change(folder)


def husky_hooks(folder: Path) -> None:
    repository(folder)
    git(folder, "config", "core.hooksPath", ".husky/_")
    (folder / ".husky" / "_").mkdir(parents=True)
    (folder / ".husky" / "_" / "pre-commit").write_text("#!/bin/sh\nexit 0\n")
    (folder / ".husky" / "_" / "pre-commit").chmod(0o755)
    change(folder)


def user_settings(folder: Path) -> None:
    repository(folder)
    for name, value in (
        ("core.autocrlf", "input"), ("core.ignoreCase", "true"), ("user.name", "Ann"),
        ("user.email", "ann@example.com"), ("pull.rebase", "true"), ("push.default", "simple"),
        ("gc.auto", "0"), ("color.ui", "auto"), ("diff.algorithm", "histogram"),
    ):  # fmt: skip
        git(folder, "config", name, value)
    change(folder)


def sparse_checkout(folder: Path) -> None:
    repository(folder, {"notes.txt": "one\n", "docs/a.txt": "a\n", "src/login.py": "pass\n"})
    git(folder, "sparse-checkout", "set", "--cone", "src")
    change(folder)


def detached_head(folder: Path) -> None:
    repository(folder)
    git(folder, "checkout", "-q", "--detach")
    change(folder)


def empty(folder: Path) -> None:
    """No commit yet."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / "notes.txt").write_text("one\n")


HARMLESS: Final[dict[str, Callable[[Path], None]]] = {
    each.__name__: each
    for each in (
        plain, remotes_and_branches, worktree, submodule, partial_clone, husky_hooks, user_settings, sparse_checkout,
        detached_head, empty,
    )
}  # fmt: skip
