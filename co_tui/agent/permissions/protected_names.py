"""Names in a folder that make other programs run things: whoever may write them can run code later, unasked."""

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
    root, given = os.path.realpath(folder), os.path.abspath(folder)
    named, real = os.path.normpath(os.path.join(given, path)), os.path.realpath(os.path.join(root, path))
    for each in (named, real):
        start = next((start for start in (given, root) if _is_in(each, start)), "")
        if name := next(filter(None, map(_protected, each.removeprefix(start).split(os.sep))), None):
            return name
    return _reached_by_link(real, root)


def same_name(name: str) -> str:
    """A file name as file systems compare it that ignore case, trailing dots and unseen characters."""
    plain = _UNSEEN.sub("", name).casefold().split(":")[0].rstrip(" .")
    return GIT if plain == "git~1" else plain


def _protected(part: str) -> str | None:
    plain = same_name(part)
    return plain if plain in PROTECTED_NAMES else None


def _reached_by_link(real: str, root: str) -> str | None:
    """The protected name that is a link to this file, or to a folder around it."""
    if not _is_in(real, root):
        return None
    above = real
    while above != root:
        above = os.path.dirname(above)
        for name in (*PROTECTED_NAMES, f"{GIT}/hooks"):
            link = os.path.join(above, name)
            if os.path.islink(link) and _is_in(real, target := os.path.realpath(link)) and not _is_in(root, target):
                return name.partition("/")[0]
    return None


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
