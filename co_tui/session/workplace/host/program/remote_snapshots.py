"""Snapshots on the other host, next to the folder they cover. What changed is sent, not the whole folder."""

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from co_tui.session.snapshots.commits import Span
from co_tui.session.snapshots.entries import FileEntry
from co_tui.session.snapshots.journal import Line
from co_tui.session.snapshots.line_counts import Changed
from co_tui.session.snapshots.objects import SnapshotsUnusable
from co_tui.session.snapshots.session_snapshots import LocalSnapshots


class RemoteSnapshots:
    """The snapshots of one session's folder, one call at a time."""

    def __init__(self, kept_in: Path, folder: Path, state: Path) -> None:
        """`state` is our own folder, which is not covered."""
        self._snapshots = LocalSnapshots(kept_in, folder, os.environ, (state,))
        self._order = threading.Lock()

    def take(self, base: str) -> dict[str, Any]:
        """Take a snapshot: its name, the one before, and how they differ."""
        with self._order:
            try:
                taken = self._snapshots.take(base)
            except SnapshotsUnusable:
                # A fork has the snapshots of its own time only; those of long unused sessions are removed.
                taken = self._snapshots.take()
        before, now = taken.before, taken.snapshot
        return {
            "id": now.id,
            "before": before.id,
            "set": {path: entry for path, entry in now.entries.items() if before.entries.get(path) != entry},
            "gone": [path for path in before.entries if path not in now.entries],
            "uncovered": now.uncovered,
        }

    def read(self, name: str) -> dict[str, Any]:
        with self._order:
            snapshot = self._snapshots.read(name)
        return {"entries": snapshot.entries, "uncovered": snapshot.uncovered}

    def carry_out(self, wanted: Mapping[str, FileEntry | None], current: str, part_name: str) -> list[str]:
        """Bring these paths back, unless they changed since the current snapshot."""
        with self._order:
            if self._snapshots.last is None:
                self._snapshots.take(current)  # the connection was renewed since the plan
            assert self._snapshots.last is not None
            before, now = self._snapshots.read(current).entries, self._snapshots.last.entries
            same = {path: entry for path, entry in wanted.items() if before.get(path) == now.get(path)}
            failed = self._snapshots.carry_out(same, self._snapshots.last, part_name)
        return sorted({*failed, *(wanted.keys() - same)})

    def commits(self, spans: Sequence[Span]) -> Sequence[str]:
        return self._snapshots.commits(spans)

    def remove_parts(self, part_name: str, paths: Sequence[str]) -> None:
        self._snapshots.remove_parts(part_name, paths)

    def line_counts(self, changed: Changed) -> Mapping[str, Any]:
        with self._order:
            return {path: tuple(count) for path, count in self._snapshots.line_counts(changed).items()}

    def changes(self, lines: Sequence[Line]) -> Mapping[str, Any]:
        with self._order:
            found = self._snapshots.changes(lines)
        return {"files": [tuple(each) for each in found.files], "left_out": found.left_out}
