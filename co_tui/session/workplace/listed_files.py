"""The files of a folder that a prompt can name, latest changed first."""

import time
from itertools import islice
from pathlib import Path
from typing import Final

from co_tui.folder_files import FolderWalk, modified_at
from co_tui.paths import find_upwards, path_text

MOST_LISTED: Final = 1_000
"""Of a folder that a prompt attaches."""
DATING_S: Final = 1.0
MAX_DATED_FILES: Final = 20_000
"""Files whose modification time is read: for more it would take longer than listing them."""


def find_files(cwd: Path) -> list[str]:
    """Files below the folder, latest changed first, then the folders, with `/` at the end. Slow; bounded in time and
    number; does not raise.

    Hidden files are included in a repository, whose ignore files apply.
    """
    hidden = find_upwards(".git", cwd) is not None
    # Names with control characters cannot be typed in the prompt.
    found = [each for each in FolderWalk(cwd, hidden=hidden) if hidden >= each.is_hidden and each.path.isprintable()]
    files = _latest_first(cwd, [entry.path for entry in found if not entry.is_dir])
    return [*files, *(f"{entry.path}/" for entry in found if entry.is_dir)]


def folder_listing(folder: Path) -> str:
    """What is in a folder, a line each, folders with `/` at the end; ignored and hidden files are left out. Slow;
    bounded in time and number; does not raise."""
    walk = FolderWalk(folder)
    found = list(islice((entry for entry in walk if not entry.is_hidden), MOST_LISTED + 1))
    lines = sorted(f"{entry.path}/" if entry.is_dir else entry.path for entry in found[:MOST_LISTED])
    shown = [path_text(Path(line)).replace("\n", "\\n") + "/" * line.endswith("/") for line in lines]
    more = "[... more is in it]" if len(found) > MOST_LISTED or walk.was_cut else ""
    return "\n".join(filter(None, (*shown, more))) or "(empty)"


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
