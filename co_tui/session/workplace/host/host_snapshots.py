"""Snapshots of a folder on another host: taken and kept there. Blocks: call it in a thread."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from co_tui.session.snapshots.commits import Span
from co_tui.session.snapshots.entries import FileEntry, Snapshot, Uncovered, changed_paths
from co_tui.session.snapshots.file_diffs import FileChange, SessionChanges
from co_tui.session.snapshots.folder_snapshots import NOTHING, Taken
from co_tui.session.snapshots.journal import Line
from co_tui.session.snapshots.line_counts import Changed, LineCount
from co_tui.session.snapshots.restore import Wanted
from co_tui.session.snapshots.session_snapshots import SessionSnapshots
from co_tui.session.workplace.host.link import SessionLink


class HostSnapshots(SessionSnapshots):
    """As snapshots of a folder here. Only what changed is sent."""

    def __init__(self, kept_in: Path, link: SessionLink) -> None:
        self.kept_in = kept_in
        self.last = None
        self._link = link

    def take(self, base: str = "") -> Taken:
        known = self.last.id if self.last is not None else base
        said = self._link.ask("snapshots.take", known)
        before = self.last if self.last is not None and self.last.id == said["before"] else None
        if before is None:
            before = self.read(said["before"]) if said["before"] else NOTHING
        gone = set(said["gone"])
        entries = {path: entry for path, entry in before.entries.items() if path not in gone} | _entries(said["set"])
        self.last = snapshot = Snapshot(str(said["id"]), entries, _uncovered(said["uncovered"]))
        return Taken(snapshot, before, changed_paths(before, snapshot) if before.id else ())

    def read(self, snapshot: str) -> Snapshot:
        if self.last is not None and snapshot == self.last.id:
            return self.last
        said = self._link.ask("snapshots.read", snapshot)
        return Snapshot(snapshot, _entries(said["entries"]), _uncovered(said["uncovered"]))

    def carry_out(self, wanted: Wanted, current: Snapshot, part_name: str) -> list[str]:
        return list(map(str, self._link.ask("snapshots.carry_out", wanted, current.id, part_name, again=False)))

    def commits(self, spans: Sequence[Span]) -> tuple[str, ...]:
        return tuple(map(str, self._link.ask("snapshots.commits", spans)))

    def remove_parts(self, part_name: str, paths: Sequence[str]) -> None:
        self._link.ask("snapshots.remove_parts", part_name, tuple(paths))

    def line_counts(self, changed: Changed) -> Mapping[str, LineCount]:
        said = self._link.ask("snapshots.line_counts", changed)
        return {str(path): LineCount(*counts) for path, counts in said.items()}

    def changes(self, lines: Sequence[Line]) -> SessionChanges:
        said = self._link.ask("snapshots.changes", tuple(lines))
        files = [FileChange(str(path), str(what), str(text)) for path, what, text in said["files"]]
        return SessionChanges(files, int(said["left_out"]))


def _entries(said: Mapping[str, Any]) -> dict[str, FileEntry]:
    return {str(path): entry for path, entry in said.items() if isinstance(entry, FileEntry)}


def _uncovered(said: Mapping[str, Any]) -> dict[str, Uncovered]:
    return {str(path): why for path, why in said.items() if isinstance(why, Uncovered)}
