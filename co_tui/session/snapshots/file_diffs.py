"""What a session changed in its folder, by file."""

import stat
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from co_tui.events.file_diff import FileDiff, header, read_diff
from co_tui.events.storable import storable_text
from co_tui.session.snapshots.entries import PERMISSIONS, Entries, FileEntry, shown_path
from co_tui.session.snapshots.folder_snapshots import FolderSnapshots
from co_tui.session.snapshots.journal import Line
from co_tui.session.tools.folder.diff_text import diff_text

MOST_FILES: Final = 1_000
_BINARY_BYTES: Final = 8_000
"""Where a NUL byte makes a file binary, as git does it."""


class FileChange(NamedTuple):
    """A file that differs from what it was before the session first changed it."""

    path: str
    what: str
    """`new`, `deleted` or `changed`."""
    text: str
    """A unified diff, or what changed in words."""

    @property
    def diff(self) -> FileDiff | None:
        return read_diff(self.text)

    @property
    def added(self) -> int:
        return self.diff.added if self.diff else 0

    @property
    def removed(self) -> int:
        return self.diff.removed if self.diff else 0


class SessionChanges(NamedTuple):
    """All changed files, as far as they are shown."""

    files: Sequence[FileChange] = ()
    left_out: int = 0


def first_versions(lines: Iterable[Line]) -> dict[str, FileEntry | None]:
    """What each file was before the session first changed it."""
    first: dict[str, FileEntry | None] = {}
    for line in lines:
        if line.kind == "end":
            for path, was in zip(line.paths, line.was, strict=False):
                first.setdefault(path, was)
    return first


def session_changes(snapshots: FolderSnapshots, lines: Iterable[Line], now: Entries) -> SessionChanges:
    """The changes of a session, against the folder as it is now. Raises `SnapshotsUnusable`."""
    first = first_versions(lines)
    paths = sorted(path for path, was in first.items() if was != now.get(path) and _is_file(was, now.get(path)))
    shown = paths[:MOST_FILES]
    pairs = [(path, _file(first[path]), _file(now.get(path))) for path in shown]
    wanted = [each for _, *both in pairs for each in both if each is not None]
    contents = dict(zip((each.oid for each in wanted), snapshots.contents(wanted), strict=True))
    files = [_change(path, was, is_, contents) for path, was, is_ in pairs]
    return SessionChanges(files, len(paths) - len(shown))


def _is_file(*entries: FileEntry | None) -> bool:
    return any(_file(entry) is not None for entry in entries)


def _file(entry: FileEntry | None) -> FileEntry | None:
    return entry if entry is not None and not entry.is_folder else None


def _change(path: str, was: FileEntry | None, is_: FileEntry | None, contents: dict[str, bytes]) -> FileChange:
    shown = storable_text(shown_path(path))
    what = "new" if was is None else "deleted" if is_ is None else "changed"
    before = contents[was.oid] if was is not None else None
    after = contents[is_.oid] if is_ is not None else b""
    if any(b"\0" in (each or b"")[:_BINARY_BYTES] for each in (before, after)):
        text = f"binary: {len(before or b''):,} bytes become {len(after):,} bytes"
    else:
        text = diff_text(before, after, shown) or _without_lines(shown, was, is_)
    return FileChange(shown, what, storable_text(text))


def _without_lines(path: str, was: FileEntry | None, is_: FileEntry | None) -> str:
    """A change of no line: an empty file, or other permissions."""
    if was is None or is_ is None:
        return "\n".join(header("new file" if was is None else path, path))
    if stat.S_IFMT(was.mode) != stat.S_IFMT(is_.mode):
        return "became a link" if is_.is_link else "became a file"
    return f"permissions {was.mode & PERMISSIONS:o} become {is_.mode & PERMISSIONS:o}"
