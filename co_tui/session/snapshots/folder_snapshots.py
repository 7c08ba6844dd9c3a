"""Takes snapshots of one folder for one session, and reads them. Slow: call it in a thread, one call at a time."""

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_guard import finds_git
from co_tui.paths import ensure_dir
from co_tui.session.snapshots.covered_file import TooLarge, entry_of
from co_tui.session.snapshots.entries import (
    FOLDER,
    FileEntry,
    Snapshot,
    Uncovered,
    changed_paths,
    details_text,
    read_details,
)
from co_tui.session.snapshots.folder_scan import (
    TOO_LARGE,
    UNREADABLE,
    NotCovered,
    Scan,
    mark_of,
    scan_folder,
)
from co_tui.session.snapshots.git_objects import GitObjects
from co_tui.session.snapshots.known_files import (
    WORTH_KEEPING,
    KnownFiles,
    Signature,
    keep_known,
    read_known,
    signature,
)
from co_tui.session.snapshots.objects import ChangedFile, Objects, PlainObjects, SnapshotsUnusable, oid_of
from co_tui.session.snapshots.open_folder import OpenFolder
from co_tui.session.snapshots.storage import size_of

SETTLED_NS: Final = 2_000_000_000
"""A file that changed more recently is read again: another change may leave the same time."""
MOST_KEPT_BYTES: Final = 4_000_000_000
"""Of one folder's snapshots."""
LONGEST_READING_S: Final = 60.0
GIVE_WAY_EVERY: Final = 100
"""After this many files, other threads may run, so that no key waits."""
NOTHING: Final = Snapshot("", {}, {})


class Taken(NamedTuple):
    """A new snapshot, the one before, and what changed between them."""

    snapshot: Snapshot
    before: Snapshot
    changed: Sequence[str] = ()
    problems: tuple[str, ...] = ()
    """Sentences about folders that cannot be covered."""


class FolderSnapshots:
    """The snapshots of one folder. Without git, contents are plain files."""

    def __init__(self, kept_in: Path, folder: Path, path: str, own: Sequence[Path]) -> None:
        """`kept_in` is where snapshots are kept, `path` is where programs are, `own` are co-tui's own folders."""
        self._kept_in = kept_in
        self._folder = folder
        self._path = path
        self._own = own
        self._objects: Objects | None = None
        self.last: Snapshot | None = None
        """The latest snapshot; None before the first of this process."""
        self._known: KnownFiles | None = None
        """Files whose content need not be read again."""
        self._kept_bytes = 0
        """About what the snapshots take."""
        self._seen: dict[str, Signature] = {}
        """Files and links as the latest snapshot found them."""

    def take(self, base: str = "") -> Taken:
        """A snapshot of the folder now; `base` is the latest one if this process has taken none.

        Raises `NotCovered` and `SnapshotsUnusable`.
        """
        before = self.last or (self.read(base) if base else NOTHING)
        if self._known is None:
            self._known = read_known(self._kept_in, before.entries)
        with OpenFolder(self._folder, "") as opened:
            reading = _Reading(opened, scan_folder(self._folder, self._own), before, self._known)
            snapshot = self._written(reading, before)
        self.last, self._known, self._seen = snapshot, reading.known, reading.seen
        if reading.read >= WORTH_KEEPING:
            with suppress(OSError):  # then the next process reads them again
                keep_known(self._kept_in, reading.known)
        return Taken(snapshot, before, changed_paths(before, snapshot) if before.id else ())

    def take_removed(self, base: str = "") -> Taken:
        """The same for a folder that is gone: nothing is in it. Raises `SnapshotsUnusable`."""
        before = self.last or (self.read(base) if base else NOTHING)
        if not before.entries:
            return Taken(before, before)
        gone = (ChangedFile(path, None) for path, each in before.entries.items() if not each.is_folder)
        name = self._store().write(before.id, gone, lambda: details_text({}, {}))
        self.last, self._known, self._seen = Snapshot(name, {}, {}), {}, {}
        return Taken(self.last, before, changed_paths(before, self.last))

    def _written(self, reading: "_Reading", before: Snapshot) -> Snapshot:
        """The snapshot, saved unless it is the one before."""
        changed = reading.changed_files()
        first = next(changed, None)
        snapshot = reading.snapshot(before.id)
        if first is None and before.id and not self._differs(before, snapshot):
            return snapshot
        details: Callable[[], bytes] = lambda: details_text(reading.entries, snapshot.uncovered)  # noqa: E731
        every = chain([first], changed) if first is not None else ()
        return reading.snapshot(self._store().write(before.id, self._counted(every), details))

    def _counted(self, changed: Iterable[ChangedFile]) -> Iterator[ChangedFile]:
        """The same files, as long as there is room. Raises `NotCovered`."""
        if not self._kept_bytes:
            self._kept_bytes = size_of(self._kept_in)
        for each in changed:
            self._kept_bytes += len(each.content)
            if self._kept_bytes > MOST_KEPT_BYTES:
                raise NotCovered(f"its snapshots take over {MOST_KEPT_BYTES // 1_000_000_000} GB")
            yield each

    @staticmethod
    def _differs(before: Snapshot, after: Snapshot) -> bool:
        return before.entries != after.entries or before.uncovered != after.uncovered

    def read(self, snapshot: str) -> Snapshot:
        """A stored snapshot. Raises `SnapshotsUnusable`."""
        if self.last is not None and snapshot == self.last.id:
            return self.last
        try:
            plain, details = self._store().read(snapshot)
            return Snapshot(snapshot, *read_details(details, plain))
        except (ValueError, TypeError, LookupError) as error:
            raise SnapshotsUnusable(f"Snapshot {snapshot[:12]} is damaged.") from error

    def contents(self, entries: Sequence[FileEntry]) -> Iterator[bytes]:
        """What these files and links contain. Raises `SnapshotsUnusable`."""
        return self._store().contents([each.oid for each in entries])

    def is_as_seen(self, path: str, status: os.stat_result | None) -> bool:
        """Whether a file or link is unchanged since the latest snapshot."""
        return self._seen.get(path) == (signature(status) if status is not None else None)

    def _store(self) -> Objects:
        if self._objects is None:
            git, plain = self._kept_in / "git", self._kept_in / "plain"
            if git.exists() and not finds_git(self._path, self._folder):
                raise SnapshotsUnusable("The snapshots of this session need git, which is not installed.")
            uses_git = not plain.exists() and finds_git(self._path, self._folder)
            ensure_dir(git if uses_git else plain)
            self._objects = GitObjects(git, self._folder, self._path) if uses_git else PlainObjects(plain)
        return self._objects


class _Reading:
    """Reads what may have changed since a snapshot, file by file."""

    def __init__(self, opened: OpenFolder, scan: Scan, before: Snapshot, known: KnownFiles) -> None:
        self._opened = opened
        self._scan = scan
        self._before = before
        self._known_before = known
        self._until = time.monotonic() + LONGEST_READING_S
        self.entries: dict[str, FileEntry] = {path: FileEntry(FOLDER) for path in scan.folders}
        self.known: dict[str, tuple[Signature, FileEntry]] = {}
        self.read = 0
        """How many files were read."""
        self.seen: dict[str, Signature] = {}

    def snapshot(self, name: str) -> Snapshot:
        return Snapshot(name, self.entries, self._scan.uncovered)

    def changed_files(self) -> Iterator[ChangedFile]:
        """The files that differ; what is gone comes first, in case a folder takes its place."""
        before = self._before.entries
        for path, entry in before.items():
            if not entry.is_folder and path not in self._scan.files:
                yield ChangedFile(path, None)
        for n, (path, status) in enumerate(self._scan.files.items()):
            if not n % GIVE_WAY_EVERY:
                time.sleep(0)
                if time.monotonic() > self._until:
                    raise NotCovered("reading it takes too long")
            found = self._found(path, status)
            if found is None:
                if path in before:
                    yield ChangedFile(path, None)
            elif found.entry is not None:
                self.entries[path] = found.entry
                if before.get(path) != found.entry:
                    yield found

    def _found(self, path: str, status: os.stat_result) -> ChangedFile | None:
        """The file as it is now; None if it is gone or cannot be covered."""
        known = self._known_before.get(path)
        if known is not None and known[0] == (seen := signature(status)):
            self.known[path], self.seen[path] = known, seen
            return ChangedFile(path, known[1])
        now_ns = time.time_ns()
        self.read += 1
        try:
            content, status = self._opened.content(path, status)
        except TooLarge as late:
            self._scan.uncovered[path] = Uncovered(TOO_LARGE, mark_of(late.status))
            return None
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self._scan.uncovered[path] = Uncovered(UNREADABLE)
            return None
        entry = entry_of(status, oid_of(content))
        self.seen[path] = signature(status)
        if max(status.st_mtime_ns, status.st_ctime_ns) < now_ns - SETTLED_NS:
            self.known[path] = (self.seen[path], entry)
        return ChangedFile(path, entry, content)
