"""What a snapshot knows about a folder: each covered entry, and what is not covered."""

import json
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from co_tui.folder_files import GENERATED
from co_tui.paths import path_text

PERMISSIONS: Final = 0o777
"""The mode bits that are restored."""
FOLDER: Final = stat.S_IFDIR


class FileEntry(NamedTuple):
    """A file, a link or a folder."""

    mode: int
    """Kind and permissions; for links and folders only the kind."""
    oid: str = ""
    """Git's name for the content; empty for a folder."""

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


class Uncovered(NamedTuple):
    """Why something in the folder is not covered."""

    why: str
    mark: str = ""
    """Differs when it changed; empty if that is not known."""


Entries: TypeAlias = Mapping[str, FileEntry]
"""By path, relative to the folder; bytes that are not UTF-8 as Python's file functions write them."""


class Snapshot(NamedTuple):
    """A folder at one moment."""

    id: str
    entries: Entries
    uncovered: Mapping[str, Uncovered]

    def covers(self, path: str) -> bool:
        """Whether neither the path nor a folder above it is left out."""
        return not any(each in self.uncovered for each in (path, *folders_above(path)))

    def shows(self, path: str) -> bool:
        """Whether a change of what a path leads to is seen: it is covered, and neither outside nor behind a link."""
        above = path.rpartition("/")[0]
        entry, folder = self.entries.get(path), self.entries.get(above)
        is_linked = entry is not None and entry.is_link
        return self.covers(path) and not is_linked and (not above or (folder is not None and folder.is_folder))


def folders_above(path: str) -> Iterator[str]:
    while (at := path.rfind("/")) > 0:
        path = path[:at]
        yield path


def changed_paths(before: Snapshot, after: Snapshot) -> list[str]:
    """The covered paths that differ, sorted; folders too."""
    one, other = before.entries, after.entries
    both = [path for path in one.keys() | other.keys() if one.get(path) != other.get(path)]
    return sorted(path for path in both if before.covers(path) and after.covers(path))


def uncovered_changes(before: Snapshot, after: Snapshot) -> list[str]:
    """The paths that changed but are not covered, as far as known, sorted."""
    found = []
    for path in before.uncovered.keys() | after.uncovered.keys():
        marks = [_mark(path, each) for each in (before, after)]
        if any(marks) and marks[0] != marks[1]:
            found.append(path)
    return sorted(found)


def _mark(path: str, snapshot: Snapshot) -> str:
    if path in snapshot.uncovered:
        return snapshot.uncovered[path].mark
    entry = snapshot.entries.get(path)
    return entry.oid if entry else ""


def named_paths(paths: Iterable[str], *entries: Entries) -> list[str]:
    """The paths to show people, caches last: folders only where nothing in them is named."""
    listed = sorted(paths, key=lambda path: (_is_cache(path), path))
    above = {folder for path in listed for folder in folders_above(path)}
    return [path for path in listed if path not in above or not _is_folder(path, entries)]


def _is_cache(path: str) -> bool:
    """Whether a path is in a folder that only programs write."""
    return not GENERATED.isdisjoint(path.split("/"))


def _is_folder(path: str, entries: Iterable[Entries]) -> bool:
    return all(path not in each or each[path].is_folder for each in entries)


def shown_path(path: str) -> str:
    """A path as text that can be stored and shown."""
    return path_text(Path(path))


def folders_of(paths: Iterable[str]) -> set[str]:
    """All folders above the paths."""
    return {folder for path in paths for folder in folders_above(path)}


# What a git tree cannot hold: permissions, empty folders, and what is not covered.


def details_text(entries: Entries, uncovered: Mapping[str, Uncovered]) -> bytes:
    """What a snapshot needs besides names, contents and executable bits."""
    files = {path: each.mode & PERMISSIONS for path, each in entries.items() if stat.S_ISREG(each.mode)}
    usual = [_most_common(mode for mode in files.values() if bool(mode & 0o100) is runs) for runs in (False, True)]
    above = folders_of(entries)
    details = {
        "usual": usual,
        "modes": {path: mode for path, mode in files.items() if mode != usual[bool(mode & 0o100)]},
        "empty": [path for path, each in entries.items() if each.is_folder and path not in above],
        "uncovered": uncovered,
    }
    return json.dumps(details, sort_keys=True, separators=(",", ":")).encode()


def _most_common(modes: Iterable[int]) -> int:
    counted = Counter(modes).most_common(1)
    return counted[0][0] if counted else 0


def read_details(text: bytes, plain: Mapping[str, FileEntry]) -> tuple[dict[str, FileEntry], dict[str, Uncovered]]:
    """The entries with permissions and folders, and what is not covered. `plain` has executable bits only."""
    details = json.loads(text)
    usual, modes = details["usual"], details["modes"]
    entries: dict[str, FileEntry] = {}
    for path, each in plain.items():
        mode = each.mode
        if stat.S_ISREG(mode):
            mode = stat.S_IFREG | modes.get(path, usual[bool(mode & 0o100)])
        entries[path] = FileEntry(mode, each.oid)
    for path in (*folders_of(plain), *details["empty"], *folders_of(details["empty"])):
        entries[path] = FileEntry(FOLDER)
    return entries, {path: Uncovered(*each) for path, each in details["uncovered"].items()}
