"""File names that make other programs run code: writing one would bypass approval later."""

import os
import re
from pathlib import Path
from typing import Final

GIT: Final = ".git"
PROTECTED_NAMES: Final = (GIT, ".gitmodules", ".co-tui.toml", ".mcp.json", ".claude", ".agents", ".codex")
"""Settings of git and of agents, at any depth. Changes always need approval.

`.envrc` is not among them: direnv asks its user again after every change.
"""
EDITOR_NAMES: Final = (".vscode", ".idea")
"""Settings of editors, which an editor with the folder open applies at once. Commands in the sandbox cannot change
them; file tools treat them like other files."""
_IGNORABLE: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that macOS ignores in file names."""


def protected_name(path: str | Path, folder: Path) -> str | None:
    """The protected name that `path` is or is inside, with links and `..` resolved; None for an ordinary file.

    `path` may be relative to the folder. Names above the folder do not count: one can work in `.claude/worktrees/x`.
    """
    given, root = folder.absolute(), Path(os.path.realpath(folder))
    named, real = Path(os.path.normpath(given / path)), Path(os.path.realpath(root / path))
    for each in (named, real):
        start = next((start for start in (given, root) if each.is_relative_to(start)), Path(each.anchor))
        if name := next(filter(None, map(_protected, each.relative_to(start).parts)), None):
            return name
    return _reached_by_link(real, root)


def normalised_name(name: str) -> str:
    """A file name normalised for file systems that ignore case, trailing dots and invisible characters."""
    plain = _IGNORABLE.sub("", name).casefold().split(":")[0].rstrip(" .")
    return GIT if plain == "git~1" else plain


def _protected(part: str) -> str | None:
    plain = normalised_name(part)
    return plain if plain in PROTECTED_NAMES else None


def _reached_by_link(real: Path, root: Path) -> str | None:
    """The protected name that is a link to this file or to a folder above it."""
    for above in real.parents:
        if not above.is_relative_to(root):
            break
        for name in (*PROTECTED_NAMES, f"{GIT}/hooks"):
            if (above / name).is_symlink():
                target = Path(os.path.realpath(above / name))
                if real.is_relative_to(target) and not root.is_relative_to(target):
                    return name.partition("/")[0]
    return None
