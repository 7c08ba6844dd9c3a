"""A small set of names in the state folder: hints that were heeded, questions that were answered."""

import contextlib
import json
from pathlib import Path
from typing import Final

from co_tui.paths import read_small_text, write_atomically

LIMIT_BYTES: Final = 16_000


class KeptNames:
    """A comfort, not a need: a file that cannot be read or written is as good as none."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> frozenset[str]:
        try:
            kept = json.loads(read_small_text(self._file, LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return frozenset()
        return frozenset(name for name in kept if isinstance(name, str)) if isinstance(kept, list) else frozenset()

    def add(self, name: str) -> None:
        with contextlib.suppress(OSError):
            write_atomically(self._file, json.dumps(sorted({*self.read(), name})))
