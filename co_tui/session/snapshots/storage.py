"""The room that snapshots take on disk: how much, how it is bounded, and how a fork shares it."""

import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.events.wording import counted
from co_tui.paths import Paths, ensure_dir
from co_tui.session.snapshots.journal import JOURNAL_FILE, Journal, folder_name

MOST_BYTES: Final = 5_000_000_000
"""Of all sessions together; then the snapshots of the sessions unused for longest are deleted."""
INTENT_FILE: Final = "restoring.json"
"""A restore under way."""
_CONTENTS: Final = ("git", "plain")


class StoredSnapshots(NamedTuple):
    """The snapshots of one session."""

    session_id: str
    size_bytes: int
    used_at: float


def stored_snapshots(paths: Paths) -> list[StoredSnapshots]:
    """What each session keeps, the ones unused for longest first. Slow."""
    try:
        folders = [each for each in paths.all_snapshots.iterdir() if each.is_dir()]
    except OSError:
        return []
    found = [StoredSnapshots(each.name, size_of(each), _used_at(each)) for each in folders]
    return sorted(found, key=lambda each: each.used_at)


def size_of(folder: Path) -> int:
    """The bytes of the files in a folder."""
    total = 0
    for above, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += Path(above, name).lstat().st_size
    return total


def _used_at(folder: Path) -> float:
    times = [0.0]
    for journal in folder.glob(f"*/{JOURNAL_FILE}"):
        with suppress(OSError):
            times.append(journal.stat().st_mtime)
    return max(times)


def bound_snapshots(paths: Paths, in_use: Collection[str]) -> str:
    """Delete the oldest snapshots if all take too much room; returns a sentence about it, or an empty text."""
    stored = stored_snapshots(paths)
    left, deleted = sum(each.size_bytes for each in stored), 0
    for each in stored:
        if left <= MOST_BYTES:
            break
        if each.session_id not in in_use:
            shutil.rmtree(paths.snapshots(each.session_id), ignore_errors=True)
            left, deleted = left - each.size_bytes, deleted + 1
    if not deleted:
        return ""
    over = f"Snapshots took over {MOST_BYTES // 1_000_000_000} GB"
    return f"{over}: those of {counted(deleted, 'old session')} were deleted."


def cut_off_restores(paths: Paths, folder: Path) -> list[str]:
    """The sessions that were killed while they restored files of this folder."""
    found = paths.all_snapshots.glob(f"*/{folder_name(folder)}/{INTENT_FILE}")
    return sorted(each.parent.parent.name for each in found)


def carry_snapshots(source: Path, target: Path, upto: int) -> None:
    """Give a fork the snapshots of its source, up to an event; contents are shared on disk. Raises OSError."""
    for folder in source.glob("*/"):
        copy = ensure_dir(target / folder.name)
        for name in _CONTENTS:
            if (folder / name).is_dir():
                shutil.copytree(folder / name, copy / name, copy_function=_link)
        if (folder / JOURNAL_FILE).exists():  # an added folder has none of its own
            Journal(folder).copy_to(copy, upto)


def _link(source: str, target: str) -> None:
    """Files there are replaced, never rewritten."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
