"""Where a session takes place: folder, repository, branch."""

from pathlib import Path


def repository_of(folder: Path) -> tuple[str, str]:
    """The root of the Git checkout around `folder` and its branch; empty when there is none."""
    for root in (folder, *folder.parents):
        git = root / ".git"
        if git.exists():
            return str(root), _branch(git)
    return "", ""


def _branch(git: Path) -> str:
    try:
        if git.is_file():  # a worktree: the file names the real folder
            git = (git.parent / git.read_text().partition("gitdir:")[2].strip()).resolve()
        head = (git / "HEAD").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:12]
