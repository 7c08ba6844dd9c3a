"""The repository and branch of a folder. Only reads files: nothing from the folder is run."""

import errno
import os
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.late_pattern import late_pattern
from co_tui.paths import find_upwards, is_inside, path_text, read_small_text

LIMIT_BYTES = 4096
"""Git writes one line into these files; anything longer is not git's."""
DETACHED: Final = "HEAD"
_ON_BRANCH: Final = "ref: refs/heads/"
_HEAD: Final = late_pattern(rf"{_ON_BRANCH}[^\s\x00-\x1f\x7f~^:?*\[\\]+|[0-9a-f]{{40}}|[0-9a-f]{{64}}")
"""As git writes it: a branch name has none of these characters."""
_UNREADABLE = (OSError, ValueError, RuntimeError)  # a loop of links is a RuntimeError


class RepositoryBranch(NamedTuple):
    """The subject of a context board."""

    repository: str
    """The repository's main folder, the same for all of its worktrees; without one, the folder itself."""
    branch: str
    """Empty without a repository."""


def repository_of(folder: Path) -> tuple[str, str]:
    """The root of the git checkout that contains `folder`, and its branch; empty if there is none."""
    git = find_upwards(".git", folder)
    return (path_text(git.parent), _branch(git)) if git is not None else ("", "")


def repository_branch_of(folder: Path) -> RepositoryBranch:
    """The repository and branch a folder belongs to; the same for all worktrees."""
    git = find_upwards(".git", folder)
    if git is None:
        return RepositoryBranch(path_text(folder), "")
    head = _head(git)
    branch = head.removeprefix(_ON_BRANCH) if head.startswith(_ON_BRANCH) else DETACHED
    return RepositoryBranch(path_text(_main_folder(git)), branch)


def git_folder_of(folder: Path) -> Path | None:
    """The real folder of the git files that all worktrees of a repository share; None if there is none to trust."""
    git = find_upwards(".git", folder)
    if git is None:
        return None
    try:
        own = _own_folder(git)
        return own.parent.parent if _is_worktree(git, own) else own
    except _UNREADABLE:
        return None


def _branch(git: Path) -> str:
    head = _head(git)
    return head.removeprefix(_ON_BRANCH) if head.startswith(_ON_BRANCH) else head[:12]


def _head(git: Path) -> str:
    """The content of `HEAD`; empty if git did not write it, such as a link to another file."""
    try:
        own = _own_folder(git)
        head = read_small_text(own / "HEAD", LIMIT_BYTES, errors="replace", inside=own).strip()
    except _UNREADABLE:
        return ""
    return head if _HEAD.fullmatch(head) else ""


def _main_folder(git: Path) -> Path:
    """The repository's main folder; the same for all of its worktrees."""
    try:
        own = _own_folder(git)
        if own == Path(os.path.realpath(git)) or not _is_worktree(git, own):
            return git.parent
        common = own.parent.parent
    except _UNREADABLE:
        return git.parent
    return common.parent if common.name == ".git" else common


def _own_folder(git: Path) -> Path:
    """The real folder of this checkout's git files. Raises OSError unless it belongs to the checkout: inside of it, a
    submodule's in a parent repository, or a worktree's that its repository lists. Otherwise a folder could show the
    branch of any repository."""
    real = Path(os.path.realpath(git))
    if real.is_dir():
        own = real
    else:
        named = _line(git, inside=Path(os.path.realpath(git.parent))).partition("gitdir:")[2].strip()
        own = Path(os.path.realpath(git.parent / named))
    if is_inside(own, Path(os.path.realpath(git.parent))) or _is_submodule(git, own) or _is_worktree(git, own):
        return own
    raise OSError(errno.EXDEV, "it belongs to another checkout", str(git))


def _is_submodule(git: Path, own: Path) -> bool:
    """Whether a parent repository holds these git files, as it does for submodules."""
    above = Path(os.path.realpath(git.parent)).parents
    return any(own.is_relative_to(Path(os.path.realpath(folder / ".git"), "modules")) for folder in above)


def _is_worktree(git: Path, own: Path) -> bool:
    """Whether the repository lists this as its worktree."""
    try:
        common = os.path.realpath(own / _line(own / "commondir", inside=own))
        back = os.path.realpath(_line(own / "gitdir", inside=own))
    except _UNREADABLE:
        return False
    return str(own.parent) == str(Path(common, "worktrees")) and back == os.path.realpath(git)


def _line(file: Path, *, inside: Path) -> str:
    return read_small_text(file, LIMIT_BYTES, errors="surrogateescape", inside=inside).strip()
