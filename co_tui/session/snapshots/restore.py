"""Brings a folder back to a snapshot: the plan, and carrying it out. Slow: call it in a thread."""

import json
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from co_tui.paths import write_atomically
from co_tui.session.snapshots.entries import Snapshot, changed_paths, folders_above, named_paths, uncovered_changes
from co_tui.session.snapshots.folder_scan import RESTORING
from co_tui.session.snapshots.folder_snapshots import FolderSnapshots
from co_tui.session.snapshots.open_folder import OpenFolder
from co_tui.session.snapshots.storage import INTENT_FILE


class RestorePlan(NamedTuple):
    """What bringing a snapshot back would do now."""

    turn: int
    target: Snapshot
    current: Snapshot
    changed: tuple[str, ...]
    """All paths that differ, folders too."""
    by_others: tuple[str, ...]
    """Those of them that others changed since."""
    not_covered: tuple[str, ...]
    """What changed since and cannot be brought back."""
    undoes: int = 0
    """The event of the restore that this undoes."""

    @property
    def paths(self) -> list[str]:
        """What people read: files, links and empty folders."""
        return named_paths(self.changed, self.target.entries, self.current.entries)

    def without(self, kept: Collection[str]) -> "RestorePlan":
        """The same, but these paths stay as they are."""
        left = [path for path in self.changed if path not in kept and not _replaces_any(path, kept)]
        return self._replace(changed=tuple(left), by_others=())


def _replaces_any(path: str, kept: Collection[str]) -> bool:
    """Whether a kept path is in this folder, or this path is below a kept file."""
    return any(each.startswith(f"{path}/") for each in kept) or any(each in kept for each in folders_above(path))


def plan_restore(
    target: Snapshot, current: Snapshot, others: Collection[str], *, turn: int, undoes: int = 0
) -> RestorePlan:
    """`others` are the paths that others changed since the target was taken."""
    changed = changed_paths(target, current)
    by_others = named_paths([path for path in changed if path in others], target.entries, current.entries)
    missing = uncovered_changes(target, current)
    return RestorePlan(turn, target, current, tuple(changed), tuple(by_others), tuple(missing), undoes)


class Intent(NamedTuple):
    """A restore under way, in a file until it is done: a killed one is completed at the next start."""

    seq: int
    """The latest event before it is logged."""
    turn: int
    current: str
    target: str
    changed: tuple[str, ...]
    token: str
    undoes: int = 0
    with_rewind: bool = False
    """Whether the event before its own is the rewind of the conversation."""

    @property
    def part_name(self) -> str:
        return f"{RESTORING}{self.token}"


def new_intent(plan: RestorePlan, seq: int, *, with_rewind: bool) -> Intent:
    token = secrets.token_hex(8)
    return Intent(
        seq, plan.turn, plan.current.id, plan.target.id, plan.changed, token, plan.undoes, with_rewind=with_rewind
    )


def write_intent(folder: Path, intent: Intent) -> None:
    write_atomically(folder / INTENT_FILE, json.dumps(intent._asdict()))


def read_intent(folder: Path) -> Intent | None:
    """The restore that was cut off; None if there is none."""
    try:
        given = json.loads((folder / INTENT_FILE).read_bytes())
        return Intent(**{**given, "changed": tuple(given["changed"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def drop_intent(folder: Path) -> None:
    (folder / INTENT_FILE).unlink(missing_ok=True)


def carry_out(
    snapshots: FolderSnapshots, folder: Path, target: Snapshot, changed: Sequence[str], part_name: str
) -> list[str]:
    """Make these paths what they are in the target; returns those that could not be changed.

    The latest snapshot must be the folder now: what changed since it was taken stays, and is returned.
    """
    with OpenFolder(folder, part_name) as opened:
        return _Work(snapshots, opened, target).run(changed)


class _Work:
    def __init__(self, snapshots: FolderSnapshots, opened: OpenFolder, target: Snapshot) -> None:
        assert snapshots.last is not None
        self._snapshots = snapshots
        self._now = snapshots.last.entries
        self._target = target.entries
        self._opened = opened
        self._failed: list[str] = []

    def run(self, changed: Sequence[str]) -> list[str]:
        gone = [path for path in changed if path in self._now and self._has_other_kind(path)]
        # What is in a folder comes before the folder: a longer path is never above a shorter one.
        for path in sorted(gone, key=len, reverse=True):
            if self._now[path].is_folder:
                self._leave_nonempty(path)
            else:
                self._attempt(path, self._opened.remove)
        there = [path for path in sorted(changed) if path in self._target]
        for path in there:
            if self._target[path].is_folder:
                self._attempt(path, self._opened.make_folder)
        self._write([path for path in there if not self._target[path].is_folder])
        return sorted(dict.fromkeys(self._failed))

    def _has_other_kind(self, path: str) -> bool:
        """Whether it is not in the target, or is a folder in only one of the two."""
        wanted = self._target.get(path)
        return wanted is None or wanted.is_folder != self._now[path].is_folder

    def _leave_nonempty(self, path: str) -> None:
        """Remove a folder, unless something that is not covered is in it."""
        try:
            self._opened.remove_folder(path)
        except OSError:
            if path in self._target:
                self._failed.append(path)

    def _write(self, paths: Sequence[str]) -> None:
        entries = [self._target[path] for path in paths]
        for path, entry, content in zip(paths, entries, self._snapshots.contents(entries), strict=True):
            self._attempt(path, partial(self._opened.write, entry=entry, content=content))

    def _attempt(self, path: str, change: Callable[[str], None]) -> None:
        """Change a file, unless it changed since the latest snapshot."""
        try:
            if not self._target_is_folder(path) and not self._is_as_seen(path):
                self._failed.append(path)
                return
            change(path)
        except OSError:
            self._failed.append(path)

    def _target_is_folder(self, path: str) -> bool:
        return path in self._target and self._target[path].is_folder and path not in self._now

    def _is_as_seen(self, path: str) -> bool:
        entry = self._now.get(path)
        status = self._opened.status(path)
        if entry is not None and entry.is_folder:
            return status is None  # it was removed, for a file to take its place
        if entry is not None and self._has_other_kind(path) and status is None:
            return True  # it was removed just now, for a folder to take its place
        return self._snapshots.is_as_seen(path, status)


def remove_parts(folder: Path, part_name: str, paths: Iterable[str]) -> None:
    """Remove what a killed restore left while writing."""
    by_folder = {os.path.split(path)[0]: path for path in paths}
    with OpenFolder(folder, part_name) as opened:
        for path in by_folder.values():
            opened.remove_part(path)
