"""Where a session takes place: folder, repository, branch."""

from pathlib import Path

from co_tui.paths import find_upwards, path_text, read_small_text

LIMIT_BYTES = 4096
"""Git writes one line into these files; whatever is longer was not written by it."""


def repository_of(folder: Path) -> tuple[str, str]:
    """The root of the Git checkout around `folder` and its branch; empty when there is none."""
    git = find_upwards(".git", folder)
    return (path_text(git.parent), _branch(git)) if git is not None else ("", "")


def _branch(git: Path) -> str:
    try:
        if not git.is_dir():  # a worktree: the file names the real folder
            named = read_small_text(git, LIMIT_BYTES, errors="surrogateescape").partition("gitdir:")[2].strip()
            git = (git.parent / named).resolve()
        head = read_small_text(git / "HEAD", LIMIT_BYTES, errors="replace").strip()
    except (OSError, ValueError, RuntimeError):  # a folder that turns in circles is a RuntimeError
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:12]
