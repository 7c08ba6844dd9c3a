"""How many files of a repository have changed, read by a git that runs nothing the folder names."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.agent.permissions.git_guard import git_only_reads, guarded_environment

TIMEOUT_S: Final = 1.0
_STATUS: Final = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")


def changed_files(folder: Path, environ: Mapping[str, str]) -> int | None:
    """The number of changed and new files; None if that cannot be read safely and at once."""
    try:
        if not git_only_reads(folder, environ):
            return None
        done = subprocess.run(
            ("git", *_STATUS),
            cwd=folder, env=guarded_environment(environ, folder), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.count(b"\0") if done.returncode == 0 else None
