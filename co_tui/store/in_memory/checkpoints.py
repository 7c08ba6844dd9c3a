"""Checkpoints of a session that leaves nothing behind: the same as in files, until the process ends."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from co_tui.store.notes.checkpoints import Checkpoint, Checkpoints, file_name, heading

Shelf: TypeAlias = dict[Path, dict[str, Checkpoint]]
"""Of each session, by its folder, the checkpoints by file name; none of these is on disk."""


class InMemoryCheckpoints(Checkpoints):
    """Those of one session on a shelf that all sessions of a process share."""

    def __init__(self, shelf: Shelf, folder: Path) -> None:
        super().__init__(folder)
        self._shelf = shelf
        self._kept = shelf.setdefault(folder, {})
        self._standing: set[str] = set(self._kept)

    def write(
        self, number: int, title: str, body: str, *, facts: Mapping[str, object], workspace: Mapping[str, str]
    ) -> Checkpoint:
        title = heading(title)
        name = file_name(number, title)
        kept = self._kept[name] = Checkpoint(number, title, Path("in memory") / name)
        self._standing.add(name)
        return kept

    def list(self) -> Sequence[Checkpoint]:
        return sorted(each for name, each in self._kept.items() if name in self._standing)

    def align(self, names: Collection[str], workspace: Mapping[str, str]) -> None:
        self._standing = set(names) & set(self._kept)

    def copy_to(self, folder: Path, names: Collection[str]) -> "InMemoryCheckpoints":
        self._shelf.setdefault(folder, {}).update({name: self._kept[name] for name in names if name in self._kept})
        return InMemoryCheckpoints(self._shelf, folder)
