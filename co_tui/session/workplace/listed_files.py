"""The files of a folder that a prompt can name, latest changed first."""

import time
from pathlib import Path
from typing import Final

from co_tui.folder_files import FolderWalk, modified_at
from co_tui.paths import find_upwards

DATING_S: Final = 1.0
MAX_DATED_FILES: Final = 20_000
"""Files whose modification time is read: for more it would take longer than listing them."""


def find_files(cwd: Path) -> list[str]:
    """Paths below the folder, latest changed first. Slow; bounded in time and number; does not raise.

    Hidden files are included in a repository, whose ignore files apply.
    """
    hidden = find_upwards(".git", cwd) is not None
    found = [entry.path for entry in FolderWalk(cwd, hidden=hidden) if not entry.is_dir and hidden >= entry.is_hidden]
    # Names with control characters cannot be typed in the prompt.
    return _latest_first(cwd, [path for path in found if path.isprintable()])


def _latest_first(cwd: Path, paths: list[str]) -> list[str]:
    dated: list[tuple[float, str]] = []
    until = time.monotonic() + DATING_S
    for number, path in enumerate(paths[:MAX_DATED_FILES]):
        if time.monotonic() > until:
            return [path for _, path in sorted(dated, key=lambda each: -each[0])] + paths[number:]
        changed = modified_at(f"{cwd}/{path}")
        if changed is not None:
            dated.append((changed, path))
    dated.sort(key=lambda each: -each[0])
    return [path for _, path in dated] + paths[MAX_DATED_FILES:]
