"""What a session changed in its folder, by file."""

import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.events.file_diff import FileDiff, header, read_diff
from co_tui.events.storable import storable_text
from co_tui.session.snapshots.entries import PERMISSIONS, FileEntry, shown_path
from co_tui.session.snapshots.folder_snapshots import FolderSnapshots
from co_tui.session.snapshots.journal import Line
from co_tui.session.snapshots.open_folder import OpenFolder
from co_tui.session.snapshots.touched import touched_by
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


def session_changes(
    snapshots: FolderSnapshots, lines: Iterable[Line], folder: Path, shown_in: str = ""
) -> SessionChanges:
    """The changes of a session, against the folder as it is now; `shown_in` is put before each path. Slow: call it in a
    thread.

    Raises `SnapshotsUnusable` and OSError.
    """
    first = {path: was for path, was in touched_by(lines).was.items() if was is None or not was.is_folder}
    now: dict[str, tuple[FileEntry, bytes] | None] = dict.fromkeys(first)
    with suppress(FileNotFoundError), OpenFolder(folder, "") as opened:
        now = {path: opened.read(path) for path in first}
    paths = sorted(path for path, was in first.items() if was != (now[path] or (None,))[0])
    shown = paths[:MOST_FILES]
    kept = [was for path in shown if (was := first[path]) is not None]
    contents = dict(zip((each.oid for each in kept), snapshots.contents(kept), strict=True))
    files = [_change(f"{shown_in}{path}", first[path], contents, now[path]) for path in shown]
    return SessionChanges(files, len(paths) - len(shown))


def _change(
    path: str, was: FileEntry | None, contents: Mapping[str, bytes], now: tuple[FileEntry, bytes] | None
) -> FileChange:
    shown = storable_text(shown_path(path))
    what = "new" if was is None else "deleted" if now is None else "changed"
    before = contents[was.oid] if was is not None else None
    is_, after = now or (None, b"")
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
