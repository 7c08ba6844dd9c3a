"""Names in a folder that make other programs run things: writing one runs code later, without a question."""

import os
import re
from pathlib import Path
from typing import Final

GIT: Final = ".git"
PROTECTED_NAMES: Final = (GIT, ".gitmodules", ".co-tui.toml", ".mcp.json", ".claude", ".agents", ".codex")
"""Settings of git and of agents, at any depth. A change to one is always asked about.

`.envrc` is not among them: direnv asks its user again after every change.
"""
EDITOR_NAMES: Final = (".vscode", ".idea")
"""Settings of editors, which an editor that has the folder open applies at once. Commands in the sandbox cannot change
them; a file tool shows its change like any other."""
_UNSEEN: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that macOS ignores in file names."""


def protected_name(path: str | Path, folder: Path) -> str | None:
    """Which protected name `path` is or lies in, with links and `..` followed; None for an ordinary file.

    `path` may be relative to the folder. Above the folder no name counts: one can work in `.claude/worktrees/x`.
    """
    given, root = folder.absolute(), Path(os.path.realpath(folder))
    named, real = Path(os.path.normpath(given / path)), Path(os.path.realpath(root / path))
    for each in (named, real):
        start = next((start for start in (given, root) if each.is_relative_to(start)), Path(each.anchor))
        if name := next(filter(None, map(_protected, each.relative_to(start).parts)), None):
            return name
    return _reached_by_link(real, root)


def same_name(name: str) -> str:
    """A file name as file systems compare it that ignore case, trailing dots and unseen characters."""
    plain = _UNSEEN.sub("", name).casefold().split(":")[0].rstrip(" .")
    return GIT if plain == "git~1" else plain


def _protected(part: str) -> str | None:
    plain = same_name(part)
    return plain if plain in PROTECTED_NAMES else None


def _reached_by_link(real: Path, root: Path) -> str | None:
    """The protected name that is a link to this file, or to a folder around it."""
    for above in real.parents:
        if not above.is_relative_to(root):
            break
        for name in (*PROTECTED_NAMES, f"{GIT}/hooks"):
            if (above / name).is_symlink():
                target = Path(os.path.realpath(above / name))
                if real.is_relative_to(target) and not root.is_relative_to(target):
                    return name.partition("/")[0]
    return None
