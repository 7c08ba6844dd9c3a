"""Brings back what a session changed in its folder: the plan, and carrying it out. Slow: call it in a thread."""

import json
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from co_tui.paths import write_atomically
from co_tui.session.snapshots.entries import (
    FOLDER,
    FileEntry,
    Snapshot,
    folders_above,
    folders_of,
    named_paths,
    uncovered_changes,
)
from co_tui.session.snapshots.folder_scan import RESTORING
from co_tui.session.snapshots.folder_snapshots import FolderSnapshots
from co_tui.session.snapshots.open_folder import OpenFolder
from co_tui.session.snapshots.storage import INTENT_FILE
from co_tui.session.snapshots.touched import Touched

Wanted: TypeAlias = Mapping[str, FileEntry | None]
"""What each path goes back to; None where there was nothing."""


class RestorePlan(NamedTuple):
    """What bringing files back would do now."""

    turn: int
    target: str
    """The snapshot before what is brought back."""
    current: Snapshot
    touched: Wanted
    """All that the session changed and that differs now, unless it is to stay."""
    changes: Wanted
    """What is done; folders too. Nothing that others made is removed or overwritten for it."""
    by_others: tuple[str, ...] = ()
    """Those of them that others changed afterwards."""
    kept: tuple[str, ...] = ()
    """What stays as it is: the user decided so, or something that others made is in its place."""
    not_covered: tuple[str, ...] = ()
    """What the session changed since and cannot be brought back."""
    commits: tuple[str, ...] = ()
    """Made by the session's calls since; they stay."""
    undoes: int = 0
    """The event of the restore that this undoes."""

    @property
    def paths(self) -> list[str]:
        """What people read: files, links and empty folders."""
        return _named(self.changes, self.current)

    def without(self, kept: Collection[str]) -> "RestorePlan":
        """The same, but these paths stay as they are."""
        left = {path: entry for path, entry in self.touched.items() if path not in kept}
        changes, blocked = _possible(left, self.current)
        return self._replace(touched=left, changes=changes, by_others=(), kept=tuple(sorted({*kept, *blocked})))


def plan_restore(touched: Touched, target: Snapshot, current: Snapshot, *, turn: int, undoes: int = 0) -> RestorePlan:
    """How to bring back what the session changed since the target was taken."""
    differs = {
        path: was for path, was in touched.was.items() if current.covers(path) and current.entries.get(path) != was
    }
    changes, blocked = _possible(differs, current)
    others = _named({path: was for path, was in changes.items() if path in touched.by_others}, current)
    missed = [path for path in uncovered_changes(target, current) if path in touched.was or path in touched.missed]
    return RestorePlan(
        turn, target.id, current, differs, changes, tuple(others), tuple(blocked), tuple(missed), undoes=undoes
    )


def _named(wanted: Wanted, current: Snapshot) -> list[str]:
    return named_paths(wanted, {path: entry for path, entry in wanted.items() if entry is not None}, current.entries)


def _possible(wanted: Wanted, current: Snapshot) -> tuple[Wanted, list[str]]:
    """What can be done without touching anything else, with the folders it needs; and the paths that must stay."""
    left, kept = _with_folders(wanted, current), set[str]()
    while blocked := _blocked(left, current):
        # A folder that should only go stays because of what is in it: nothing to report.
        kept.update(path for path in blocked if wanted.get(path) is not None)
        wanted = {path: was for path, was in wanted.items() if path not in blocked}
        left = _with_folders(wanted, current)
    return left, sorted(kept)


def _with_folders(wanted: Wanted, current: Snapshot) -> dict[str, FileEntry | None]:
    """With the folders above what comes back, where there are none."""
    result = dict(wanted)
    for above in folders_of(path for path, entry in wanted.items() if entry is not None):
        if result.get(above) is None and (above in result or above not in current.entries):
            result[above] = FileEntry(FOLDER)
    return {path: entry for path, entry in result.items() if current.entries.get(path) != entry}


def _blocked(wanted: Wanted, current: Snapshot) -> set[str]:
    """Folders that cannot go because of what stays in them; or else, what needs a folder where something else is."""
    after = {**current.entries, **wanted}
    occupied = folders_of((*current.uncovered, *(path for path, entry in after.items() if entry is not None)))
    full = {
        path
        for path, entry in wanted.items()
        if path in occupied and _is_folder(current.entries.get(path)) and not _is_folder(entry)
    }
    return full or {
        path
        for path, entry in wanted.items()
        if entry is not None and not all(_is_folder(after.get(above)) for above in folders_above(path))
    }


def _is_folder(entry: FileEntry | None) -> bool:
    return entry is not None and entry.is_folder


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
    entries: tuple[FileEntry | None, ...] = ()
    """What each changed path goes back to; older versions left this to the target."""

    @property
    def wanted(self) -> Wanted:
        return dict(zip(self.changed, self.entries, strict=True))

    @property
    def part_name(self) -> str:
        return f"{RESTORING}{self.token}"


def new_intent(plan: RestorePlan, seq: int, *, with_rewind: bool) -> Intent:
    token, changed = secrets.token_hex(8), tuple(plan.changes)
    return Intent(
        seq, plan.turn, plan.current.id, plan.target, changed, token, plan.undoes, with_rewind=with_rewind,
        entries=tuple(plan.changes.values()),
    )  # fmt: skip


def write_intent(folder: Path, intent: Intent) -> None:
    write_atomically(folder / INTENT_FILE, json.dumps(intent._asdict()))


def read_intent(folder: Path) -> Intent | None:
    """The restore that was cut off; None if there is none."""
    try:
        given = json.loads((folder / INTENT_FILE).read_bytes())
        entries = tuple(each and FileEntry(*each) for each in given.get("entries", ()))
        return Intent(**{**given, "changed": tuple(given["changed"]), "entries": entries})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def drop_intent(folder: Path) -> None:
    (folder / INTENT_FILE).unlink(missing_ok=True)


def carry_out(snapshots: FolderSnapshots, folder: Path, wanted: Wanted, part_name: str) -> list[str]:
    """Make these paths what they should be; returns those that could not be changed.

    The latest snapshot must be the folder now: what changed since it was taken stays, and is returned.
    """
    with OpenFolder(folder, part_name) as opened:
        return _Work(snapshots, opened, wanted).run(wanted)


class _Work:
    def __init__(self, snapshots: FolderSnapshots, opened: OpenFolder, wanted: Wanted) -> None:
        assert snapshots.last is not None
        self._snapshots = snapshots
        self._now = snapshots.last.entries
        self._target = {path: entry for path, entry in wanted.items() if entry is not None}
        self._opened = opened
        self._failed: list[str] = []

    def run(self, changed: Collection[str]) -> list[str]:
        gone = [path for path in changed if path in self._now and self._has_other_kind(path)]
        # What is in a folder comes before the folder: a longer path is never above a shorter one.
        for path in sorted(gone, key=len, reverse=True):
            if self._now[path].is_folder:
                with suppress(OSError):  # something else is in it; a file in its place then fails
                    self._opened.remove_folder(path)
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
