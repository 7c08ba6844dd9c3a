"""The files of a folder, without what git ignores. Takes a while: runs beside the screen."""

import os
import stat
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from co_tui.agent.redact import without_secrets

MOST_FILES: Final = 200_000
MOST_WALKED_FILES: Final = 50_000
MOST_LISTED_BYTES: Final = 32_000_000
LONGEST_S: Final = 3.0
"""Who quits meanwhile waits for it."""
DATING_S: Final = 1.0
MOST_DATED_FILES: Final = 20_000
"""More are not asked when they were changed: that would take longer than finding them."""
_PASSED_BY: Final = frozenset(
    {"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "target", "venv"}
)
_GIT: Final = (
    "git",
    # A folder's own configuration must not run anything here.
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"),
)


def find_files(cwd: Path, environ: Mapping[str, str]) -> list[str]:
    """Paths below the folder, latest changed first. Bounded in time and number; never raises for what is there."""
    listed = _listed_by_git(cwd, environ)
    found = listed if listed is not None else _walked(cwd)
    # A name that steers the terminal, or is no text, could not stand in the prompt.
    return _latest_first(cwd, [path for path in found if path.isprintable()])


def _listed_by_git(cwd: Path, environ: Mapping[str, str]) -> list[str] | None:
    """What git knows or would take; None where it does not know this folder."""
    import subprocess

    try:
        process = subprocess.Popen(
            _GIT,
            cwd=cwd,
            env={**without_secrets(environ), "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    assert process.stdout is not None
    late = threading.Timer(LONGEST_S, process.kill)
    late.start()
    try:
        output = process.stdout.read(MOST_LISTED_BYTES)
        whole = not process.stdout.read(1)
    finally:
        late.cancel()
        process.kill()
        code = process.wait()
        process.stdout.close()
    if whole and code > 0:  # below zero it was stopped by us, and what came is good
        return None
    paths = output.rpartition(b"\0")[0].decode(errors="surrogateescape").split("\0")
    return [path for path in paths[:MOST_FILES] if path and not path.endswith("/")]


def _walked(cwd: Path) -> list[str]:
    found: list[str] = []
    until = time.monotonic() + LONGEST_S
    folders = deque([""])
    while folders and len(found) < MOST_WALKED_FILES and time.monotonic() < until:
        folder = folders.popleft()
        for entry in _entries(cwd / folder):
            path = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _PASSED_BY:
                    folders.append(f"{path}/")
            elif entry.is_file():
                found.append(path)
    return found[:MOST_WALKED_FILES]


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if not entry.name.startswith("."))
    except OSError:
        return


def _latest_first(cwd: Path, paths: list[str]) -> list[str]:
    dated: list[tuple[float, str]] = []
    until = time.monotonic() + DATING_S
    for number, path in enumerate(paths[:MOST_DATED_FILES]):
        if time.monotonic() > until:
            return [path for _, path in sorted(dated, key=lambda each: -each[0])] + paths[number:]
        try:
            status = os.stat(f"{cwd}/{path}")  # noqa: PTH116 - a path object for each would take twice as long
        except (OSError, ValueError):
            continue  # deleted, but git still knows it
        if stat.S_ISREG(status.st_mode):
            dated.append((status.st_mtime, path))
    dated.sort(key=lambda each: -each[0])
    return [path for _, path in dated] + paths[MOST_DATED_FILES:]
