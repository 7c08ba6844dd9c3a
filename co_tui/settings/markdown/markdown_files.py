"""Find the Markdown files of a folder and those below it, within limits."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from co_tui.paths import is_inside

SUFFIX: Final = ".md"
MOST_ENTRIES: Final = 5_000
"""Looked at in one folder and those below: this is done before a project is trusted."""
DEEPEST: Final = 4
"""Levels of folders below."""


class MarkdownFiles:
    """Finds files, each folder once, whatever links lead to it, until it has seen too many entries."""

    def __init__(self, inside: Path | None) -> None:
        self._inside = inside
        self._seen: set[str] = set()
        self._left = MOST_ENTRIES
        self.is_cut = False

    def below(self, folder: Path, levels: int = DEEPEST) -> Iterator[Path]:
        """The Markdown files, those of the folder itself first."""
        self._seen.add(os.path.realpath(folder))
        names = self._entries(folder)
        yield from (Path(entry.path) for entry in names if entry.name.endswith(SUFFIX) and not entry.is_dir())
        for entry in names if levels > 0 else ():
            if entry.is_dir() and os.path.realpath(entry.path) not in self._seen and self._may_enter(entry.path):
                yield from self.below(Path(entry.path), levels - 1)

    def _may_enter(self, folder: str) -> bool:
        return self._inside is None or is_inside(folder, self._inside)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                listed = list(islice(found, self._left + 1))
        except OSError:
            return []
        self.is_cut = self.is_cut or len(listed) > self._left
        listed = listed[: self._left]
        self._left -= len(listed)
        return sorted((each for each in listed if not each.name.startswith(".")), key=lambda entry: entry.name)
