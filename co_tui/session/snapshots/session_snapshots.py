"""The snapshots of one session's folder: take them, compare them, bring files back. Slow: call it in a thread."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from co_tui.paths import Paths
from co_tui.session.snapshots.commits import Span, commits_made
from co_tui.session.snapshots.entries import Snapshot
from co_tui.session.snapshots.file_diffs import SessionChanges, session_changes
from co_tui.session.snapshots.folder_snapshots import FolderSnapshots, Taken
from co_tui.session.snapshots.journal import Line, folder_name
from co_tui.session.snapshots.line_counts import Changed, LineCount, line_counts
from co_tui.session.snapshots.restore import Wanted, carry_out, remove_parts
from co_tui.session.snapshots.touched import lines_elsewhere


class SessionSnapshots(ABC):
    """One call at a time. All raise `SnapshotsUnusable` and OSError."""

    kept_in: Path
    """Where this machine keeps what belongs to them, such as the journal."""
    last: Snapshot | None
    """The latest snapshot; None before the first of this process."""

    @abstractmethod
    def take(self, base: str = "") -> Taken:
        """A snapshot of the folder now; `base` is the latest one if this process has taken none. Raises
        `NotCovered`."""

    @abstractmethod
    def read(self, snapshot: str) -> Snapshot:
        """A stored snapshot."""

    @abstractmethod
    def changes(self, lines: Sequence[Line]) -> SessionChanges:
        """What the session changed by these lines of its journal."""

    @abstractmethod
    def line_counts(self, changed: Changed) -> Mapping[str, LineCount]:
        """The lines that were added and removed, of files that are text."""

    @abstractmethod
    def carry_out(self, wanted: Wanted, current: Snapshot, part_name: str) -> list[str]:
        """Bring these paths back, as far as they are as in the current snapshot; returns those that are not."""

    def elsewhere(self, lines: Sequence[Line]) -> list[Line]:
        """What other sessions wrote about the same files since the first of these lines."""
        return lines_elsewhere(self.kept_in, lines)

    @abstractmethod
    def commits(self, spans: Sequence[Span]) -> tuple[str, ...]:
        """The commits that calls made in these spans."""

    @abstractmethod
    def remove_parts(self, part_name: str, paths: Sequence[str]) -> None:
        """Remove what a killed restore of these paths left unfinished."""


class LocalSnapshots(FolderSnapshots, SessionSnapshots):
    """Of a folder of this machine."""

    def __init__(self, kept_in: Path, folder: Path, environ: Mapping[str, str], own: Sequence[Path]) -> None:
        super().__init__(kept_in, folder, environ.get("PATH", os.defpath), own)
        self.kept_in, self._environ = kept_in, environ

    def use_path(self, path: str) -> None:
        """Look for programs only there."""
        if path != self._path:
            self._path, self._objects, self._environ = path, None, {**self._environ, "PATH": path}

    def changes(self, lines: Sequence[Line], shown_in: str = "") -> SessionChanges:
        """`shown_in` is put before each path."""
        return session_changes(self, lines, self._folder, shown_in)

    def line_counts(self, changed: Changed) -> Mapping[str, LineCount]:
        return line_counts(changed, self.contents)

    def carry_out(self, wanted: Wanted, current: Snapshot, part_name: str) -> list[str]:
        return carry_out(self, self._folder, wanted, part_name)

    def elsewhere(self, lines: Sequence[Line]) -> list[Line]:
        return lines_elsewhere(self.kept_in, lines, Path(os.path.realpath(self._folder)))

    def commits(self, spans: Sequence[Span]) -> tuple[str, ...]:
        return commits_made(self._folder, self._environ, spans)

    def remove_parts(self, part_name: str, paths: Sequence[str]) -> None:
        remove_parts(self._folder, part_name, paths)


def kept_snapshots(paths: Paths, session_id: str, folder: Path) -> Path:
    """Where the snapshots of a session's folder are kept."""
    return paths.snapshots(session_id) / folder_name(folder)
