"""Where a session takes place: folder, repository, branch. Only files are read: nothing of a folder is run."""

from pathlib import Path
from typing import Final, NamedTuple

from co_tui.paths import find_upwards, path_text, read_small_text

LIMIT_BYTES = 4096
"""Git writes one line into these files; whatever is longer was not written by it."""
DETACHED: Final = "HEAD"
_UNREADABLE = (OSError, ValueError, RuntimeError)  # a folder that turns in circles is a RuntimeError


class RepositoryBranch(NamedTuple):
    """What a context board is about."""

    repository: str
    """The repository's main folder, the same for all of its worktrees; without one, the folder itself."""
    branch: str
    """Empty without a repository."""


def repository_of(folder: Path) -> tuple[str, str]:
    """The root of the Git checkout around `folder` and its branch; empty when there is none."""
    git = find_upwards(".git", folder)
    return (path_text(git.parent), _branch(git)) if git is not None else ("", "")


def repository_branch_of(folder: Path) -> RepositoryBranch:
    """Which repository and branch a folder belongs to, whatever checkout of it this is."""
    git = find_upwards(".git", folder)
    if git is None:
        return RepositoryBranch(path_text(folder), "")
    head = _head(git)
    branch = head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else DETACHED
    return RepositoryBranch(path_text(_main_folder(git)), branch)


def _branch(git: Path) -> str:
    head = _head(git)
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:12]


def _head(git: Path) -> str:
    try:
        return _line(_own_folder(git) / "HEAD", "replace")
    except _UNREADABLE:
        return ""


def _main_folder(git: Path) -> Path:
    """Where the repository is at home. A worktree counts as one of another repository's only when that repository says
    so itself: otherwise any folder could take part in the board of any other."""
    try:
        own = _own_folder(git)
        if own == git or not (own / "commondir").exists():
            return git.parent
        common = (own / _line(own / "commondir")).resolve()
        knows_it = own.parent == common / "worktrees" and Path(_line(own / "gitdir")).resolve() == git.resolve()
    except _UNREADABLE:
        return git.parent
    if not knows_it:
        return git.parent
    return common.parent if common.name == ".git" else common


def _own_folder(git: Path) -> Path:
    """Of this checkout: a worktree's `.git` is a file that names it."""
    if git.is_dir():
        return git
    return (git.parent / _line(git).partition("gitdir:")[2].strip()).resolve()


def _line(file: Path, errors: str = "surrogateescape") -> str:
    return read_small_text(file, LIMIT_BYTES, errors=errors).strip()
