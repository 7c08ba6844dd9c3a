"""Snapshots of all folders of a session as one: paths in added folders are whole, those in the first are relative."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from co_tui.agent.permissions.git_guard import safe_path
from co_tui.folders import Folders, is_real_folder
from co_tui.paths import Paths, recorded_path
from co_tui.session.snapshots.commits import Span
from co_tui.session.snapshots.entries import FOLDER, FileEntry, Snapshot, Uncovered
from co_tui.session.snapshots.file_diffs import SessionChanges
from co_tui.session.snapshots.folder_scan import NotCovered
from co_tui.session.snapshots.folder_snapshots import NOTHING, Taken
from co_tui.session.snapshots.journal import Journal, Line, folder_name
from co_tui.session.snapshots.line_counts import Changed, LineCount
from co_tui.session.snapshots.objects import SnapshotsUnusable
from co_tui.session.snapshots.restore import Wanted
from co_tui.session.snapshots.session_snapshots import LocalSnapshots, SessionSnapshots, kept_snapshots

T = TypeVar("T")
_BETWEEN: Final = " "
"""In the id of a snapshot: first that of the first folder, then `name:id` for each added one."""
ADDED_LATER: Final = Uncovered("added later")


class SeveralFolders(SessionSnapshots):
    """With one folder, the same as its own snapshots. What cannot be covered of an added one does not affect others."""

    def __init__(self, folders: Folders, of_folder: Callable[[Path], LocalSnapshots], path: str) -> None:
        """`of_folder` makes the snapshots of one folder; `path` is where programs are."""
        self._folders, self._of_folder, self._path = folders, of_folder, path
        self._first = of_folder(folders.first)
        self._others: dict[Path, LocalSnapshots] = {}
        self._given_up: set[Path] = set()
        """Added folders that cannot be covered."""
        self.kept_in = self._first.kept_in
        self.last: Snapshot | None = None

    def _added(self) -> dict[Path, LocalSnapshots]:
        """The snapshots of each added folder, as the folders are now. None of their programs is used."""
        return self._of(self._folders.added)

    def _with_removed(self) -> dict[Path, LocalSnapshots]:
        """The same, and those that are gone: their files can be brought back."""
        added = self._folders.added
        return self._of([each for each in self._folders.named if each in added or _is_removed(each)])

    def _of(self, folders: Sequence[Path]) -> dict[Path, LocalSnapshots]:
        for each in folders:
            if each not in self._others:
                self._others[each] = self._of_folder(each)
        path = safe_path(self._path, self._folders.first, *folders)
        for snapshots in (self._first, *self._others.values()):
            snapshots.use_path(path)
        return {each: self._others[each] for each in folders}

    def take(self, base: str = "") -> Taken:
        first_id, ids = _parts(base)
        added = self._with_removed()
        taken = self._first.take(first_id)
        before, after = dict[Path, Snapshot | None](), dict[Path, Snapshot | None]()
        changed = list(taken.changed)
        replaced = (each for each in self._folders.named if each in self._others and each not in added)
        problems = [f"No snapshots of {each}: it was replaced." for each in replaced]
        for folder, snapshots in added.items():
            before[folder] = after[folder] = None
            if folder in self._given_up:
                continue
            try:
                take = snapshots.take_removed if _is_removed(folder) else snapshots.take
                one = take(ids.get(folder_name(folder), ""))
            except (NotCovered, SnapshotsUnusable, OSError) as error:
                self._given_up.add(folder)
                problems.append(f"No snapshots of {folder}: {str(error).rstrip('.')}.")
                continue
            after[folder], before[folder] = (each if each.id else None for each in (one.snapshot, one.before))
            changed += [f"{folder}/{path}" for path in one.changed]
        self.last = _joined(taken.snapshot, after)
        earlier = _joined(taken.before, before) if taken.before.id else NOTHING
        return Taken(self.last, earlier, changed, tuple(problems))

    def read(self, snapshot: str) -> Snapshot:
        first_id, ids = _parts(snapshot)
        found: dict[Path, Snapshot | None] = {
            folder: snapshots.read(ids[name]) if (name := folder_name(folder)) in ids else None
            for folder, snapshots in self._with_removed().items()
        }
        return _joined(self._first.read(first_id), found)

    def changes(self, lines: Sequence[Line]) -> SessionChanges:
        added = self._with_removed()
        found = [self._first.changes([_only(line, None) for line in lines])]
        for folder, snapshots in added.items():
            if own := [line for line in (_only(each, folder) for each in lines) if line.paths]:
                found.append(snapshots.changes(own, f"{folder}/"))
        files = [file for each in found for file in each.files]
        return SessionChanges(files, sum(each.left_out for each in found))

    def line_counts(self, changed: Changed) -> Mapping[str, LineCount]:
        found = dict(self._first.line_counts(_inside(changed, None)))
        for folder, snapshots in self._with_removed().items():
            if own := _inside(changed, folder):
                found |= {f"{folder}/{path}": count for path, count in snapshots.line_counts(own).items()}
        return found

    def carry_out(self, wanted: Wanted, current: Snapshot, part_name: str) -> list[str]:
        added = self._with_removed()
        failed = self._first.carry_out(_inside(wanted, None), current, part_name)
        for folder, snapshots in added.items():
            if own := _inside(wanted, folder):
                is_known = snapshots.last is not None and (not _is_removed(folder) or _made_again(folder))
                left = snapshots.carry_out(own, current, part_name) if is_known else own
                failed += [f"{folder}/{path}" for path in left]
        elsewhere = [path for path in wanted if path[0] == "/" and not any(_is_in(path, each) for each in added)]
        return failed + [path for path in elsewhere if not _is_folder(wanted[path])]

    def elsewhere(self, lines: Sequence[Line]) -> list[Line]:
        found = self._first.elsewhere(lines)
        for folder, snapshots in self._added().items():
            others = snapshots.elsewhere(lines)
            found += [each._replace(paths=tuple(f"{folder}/{path}" for path in each.paths)) for each in others]
        return found

    def commits(self, spans: Sequence[Span]) -> tuple[str, ...]:
        added = self._added()
        several = (self._first, *added.values())
        return tuple(commit for each in several for commit in each.commits(spans))

    def remove_parts(self, part_name: str, paths: Sequence[str]) -> None:
        every = dict.fromkeys(paths)
        self._first.remove_parts(part_name, [*_inside(every, None)])
        for folder, snapshots in self._added().items():
            snapshots.remove_parts(part_name, [*_inside(every, folder)])


def local_snapshots(paths: Paths, session_id: str, folders: Folders, environ: Mapping[str, str]) -> SeveralFolders:
    """The snapshots of a session's folders on this machine."""
    own = (paths.data, paths.config, paths.state)

    def of_folder(folder: Path) -> LocalSnapshots:
        return LocalSnapshots(kept_snapshots(paths, session_id, folder), folder, environ, own)

    return SeveralFolders(folders, of_folder, environ.get("PATH", os.defpath))


def stored_changes(paths: Paths, session_id: str, folders: Folders, environ: Mapping[str, str]) -> SessionChanges:
    """What a stored session changed; it may be open elsewhere. Raises `SnapshotsUnusable` and OSError."""
    snapshots = local_snapshots(paths, session_id, folders, environ)
    lines = Journal(snapshots.kept_in).lines
    return snapshots.changes(lines) if lines else SessionChanges()


def folders_of_log(first: str, added: Sequence[str]) -> Folders:
    """The folders of a stored session, as its log names them."""
    folders = Folders(recorded_path(first))
    folders.use([*map(Path, added)])
    return folders


def _parts(snapshot: str) -> tuple[str, dict[str, str]]:
    """The ids in the id of a snapshot: the first folder's, and those of others by their name."""
    first, *others = snapshot.split(_BETWEEN)
    return first, {name: own for name, _, own in (each.partition(":") for each in others)}


def _joined(first: Snapshot, added: Mapping[Path, Snapshot | None]) -> Snapshot:
    """One snapshot of all; None for a folder that it does not cover."""
    if not added:
        return first
    entries, uncovered, ids = dict(first.entries), dict(first.uncovered), [first.id]
    for folder, snapshot in added.items():
        above = (folder, *folder.parents)
        entries |= {str(each): FileEntry(FOLDER) for each in above if each != each.parent}
        if snapshot is None:
            uncovered[str(folder)] = ADDED_LATER
            continue
        ids.append(f"{folder_name(folder)}:{snapshot.id}")
        entries |= {f"{folder}/{path}": entry for path, entry in snapshot.entries.items()}
        uncovered |= {f"{folder}/{path}": why for path, why in snapshot.uncovered.items()}
    return Snapshot(_BETWEEN.join(ids), entries, uncovered)


def _is_removed(folder: Path) -> bool:
    """Whether nothing is in the place of a folder."""
    return not os.path.lexists(folder) and is_real_folder(folder.parent)


def _made_again(folder: Path) -> bool:
    try:
        folder.mkdir()
    except OSError:
        return False
    return True


def _is_in(path: str, folder: Path) -> bool:
    return path.startswith(f"{folder}/")


def _is_folder(entry: FileEntry | None) -> bool:
    return entry is not None and entry.is_folder


def _inside(paths: Mapping[str, T], folder: Path | None) -> dict[str, T]:
    """Those in an added folder, relative to it; None for the first one."""
    if folder is None:
        return {path: value for path, value in paths.items() if path[0] != "/"}
    start = len(f"{folder}/")
    return {path[start:]: value for path, value in paths.items() if _is_in(path, folder)}


def _only(line: Line, folder: Path | None) -> Line:
    """A line of the journal with the paths in one folder."""
    was = _inside(dict(zip(line.paths, line.was, strict=False)), folder)
    paths = tuple(_inside(dict.fromkeys(line.paths), folder))
    missed = tuple(_inside(dict.fromkeys(line.missed), folder))
    return line._replace(paths=paths, was=tuple(was.get(path) for path in paths) if was else (), missed=missed)
