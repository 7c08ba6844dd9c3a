"""Whether git, asked only to read, would run something that came with the checkout.

A folder from an archive brings its `.git` along, and with it settings that name programs: then even `git status` is no
reading.
"""

import re
from pathlib import Path
from typing import Final

from co_tui.paths import find_upwards, read_small_text

LIMIT_BYTES: Final = 64_000
_RUNS_SOMETHING: Final = re.compile(
    r"\b(fsmonitor|external|textconv|command|clean|smudge|process|filter|hookspath|program|include|includeif)\b", re.I
)


def runs_nothing(folder: Path) -> bool:
    """True when the checkout's own configuration names no program, or there is no checkout."""
    git = find_upwards(".git", folder)
    if git is None:
        return True
    try:
        common = _common_folder(git)
        texts = [read_small_text(common / "config", LIMIT_BYTES, errors="replace")]
        return not (common / "config.worktree").exists() and not any(map(_RUNS_SOMETHING.search, texts))
    except (OSError, ValueError, RuntimeError):  # whatever cannot be read is not known to be harmless
        return False


def _common_folder(git: Path) -> Path:
    """Where the configuration is: a worktree's `.git` is a file that leads there."""
    if git.is_dir():
        return git
    named = read_small_text(git, LIMIT_BYTES, errors="surrogateescape").partition("gitdir:")[2].strip()
    own = (git.parent / named).resolve()
    if not (own / "commondir").exists():
        return own
    return (own / read_small_text(own / "commondir", LIMIT_BYTES, errors="surrogateescape").strip()).resolve()
