"""Finds what a snapshot covers. Runs no program and follows no link. Slow: call it in a thread."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_folders import GIT
from co_tui.folder_files import Entry, FolderWalk, WalkedEntries
from co_tui.session.snapshots.entries import Uncovered

MOST_FILES: Final = 50_000
MOST_BYTES: Final = 2_000_000_000
MOST_FILE_BYTES: Final = 10_000_000
LONGEST_S: Final = 20.0
MOST_UNCOVERED: Final = 100_000
RESTORING: Final = ".co-tui-restore-"
"""Begins the name of a file that a restore is writing."""
IGNORED, TOO_LARGE, UNREADABLE, SPECIAL, OWN = "ignored", "over 10 MB", "unreadable", "not a file", "co-tui's own"


class NotCovered(Exception):
    """Why the folder, or the rest of it, cannot be snapshotted: a sentence."""


class Scan(NamedTuple):
    """The entries of a folder."""

    files: dict[str, os.stat_result]
    """Regular files and links."""
    folders: list[str]
    uncovered: dict[str, Uncovered]


def scan_folder(folder: Path, own: Sequence[Path] = ()) -> Scan:
    """What is in the folder now; `own` are co-tui's folders, which are left out. Raises `NotCovered`."""
    walk = _Walk(folder, own)
    files: dict[str, os.stat_result] = {}
    folders: list[str] = []
    total_bytes = 0
    for entry in walk:
        if entry.is_dir:
            folders.append(entry.path)
            continue
        status = walk.status(entry)
        if status is None:
            continue
        files[entry.path] = status
        total_bytes += status.st_size
        _check(len(files), total_bytes)
    if "" in walk.uncovered:
        raise NotCovered("it cannot be read")
    if walk.was_cut or len(walk.uncovered) > MOST_UNCOVERED:
        raise NotCovered("it has too many files")
    return Scan(files, [each for each in folders if each not in walk.uncovered], walk.uncovered)


def _check(files: int, total_bytes: int) -> None:
    if files > MOST_FILES:
        raise NotCovered(f"it has over {MOST_FILES:,} files")
    if total_bytes > MOST_BYTES:
        raise NotCovered(f"its files are over {MOST_BYTES // 1_000_000_000} GB")


def mark_of(status: os.stat_result) -> str:
    return f"{status.st_size}:{status.st_mtime_ns}"


class _Walk(FolderWalk):
    """Includes links as they are, and notes what it leaves out."""

    def __init__(self, folder: Path, own: Sequence[Path]) -> None:
        super().__init__(folder, hidden=True, longest_s=LONGEST_S, built_folders=frozenset())
        real = os.path.realpath(folder)
        self._own = {os.path.relpath(os.path.realpath(each), real) for each in own}
        self.uncovered: dict[str, Uncovered] = {}

    def status(self, entry: Entry) -> os.stat_result | None:
        """The status of a file or link; None if it is gone or not covered."""
        try:
            status = os.lstat(f"{self._start}/{entry.path}")
        except OSError:
            return None
        if stat.S_ISREG(status.st_mode) and status.st_size > MOST_FILE_BYTES:
            self.uncovered[entry.path] = Uncovered(TOO_LARGE, mark_of(status))
            return None
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            self.uncovered[entry.path] = Uncovered(SPECIAL)
            return None
        return status

    def _entries(self, folder: str) -> WalkedEntries:
        try:
            with os.scandir(f"{self._start}/{folder}") as found:
                kept = [(each, each.is_dir(follow_symlinks=False)) for each in found if self._is_wanted(folder, each)]
        except (OSError, ValueError):
            self.uncovered[folder.rstrip("/")] = Uncovered(UNREADABLE)
            return []
        return sorted(kept, key=lambda each: each[0].name)

    def _is_wanted(self, folder: str, entry: os.DirEntry[str]) -> bool:
        if entry.name == GIT or entry.name.startswith(RESTORING):
            return False
        if f"{folder}{entry.name}" in self._own:
            self.uncovered[f"{folder}{entry.name}"] = Uncovered(OWN)
            return False
        return True

    def _leave_out(self, folder: str) -> None:
        self.uncovered[folder.rstrip("/")] = Uncovered(IGNORED)

    def _not_ignored(self, folder: str, entries: WalkedEntries, levels: tuple[object, ...]) -> WalkedEntries:
        kept = super()._not_ignored(folder, entries, levels)  # type: ignore[arg-type]
        if len(kept) != len(entries):
            names = {entry.name for entry, _ in kept}
            for entry, _ in entries:
                if entry.name not in names:
                    self.uncovered[f"{folder}{entry.name}"] = Uncovered(IGNORED)
        return kept
