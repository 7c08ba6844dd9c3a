"""A small file of numbers by name: what was learned about models, kept between sessions."""

import contextlib
from pathlib import Path

from co_tui.kept_file import kept_table
from co_tui.store.sync.files.synced_file import OnChange, not_synced

LARGEST = 1e15
"""Larger values are treated as damage."""


class LearnedNumbers:
    """Read each time, since other processes write it too; failed reads and writes are ignored."""

    def __init__(self, file: Path, on_change: OnChange = not_synced) -> None:
        self._file = kept_table(file)
        self._on_change = on_change

    def get(self, name: str) -> float | None:
        value = self._file.read_or_empty().get(name)
        good = isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST
        return value if good else None

    def put(self, name: str, value: float) -> None:
        with contextlib.suppress(OSError):
            self._file.change(lambda known: {**known, name: value})
            self._on_change()
