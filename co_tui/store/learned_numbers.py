"""A small file of numbers by name: what was learned about models, kept between sessions."""

import contextlib
import json
from pathlib import Path

from co_tui.paths import read_small_text, write_atomically
from co_tui.store.sync.files.synced_file import OnChange, not_synced

LIMIT_BYTES = 1_000_000

LARGEST = 1e15
"""Larger values are treated as damage."""


class LearnedNumbers:
    """Read each time, since other processes write it too; failed reads and writes are ignored."""

    def __init__(self, file: Path, on_change: OnChange = not_synced) -> None:
        self._file = file
        self._on_change = on_change

    def get(self, name: str) -> float | None:
        value = self._read().get(name)
        good = isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST
        return value if good else None

    def put(self, name: str, value: float) -> None:
        # Another process may write its own at the same moment; either is good enough.
        with contextlib.suppress(OSError):
            write_atomically(self._file, json.dumps({**self._read(), name: value}, indent=1))
            self._on_change()

    def _read(self) -> dict[str, float]:
        try:
            known = json.loads(read_small_text(self._file, LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}
