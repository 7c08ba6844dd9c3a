"""The models that were chosen lately, kept for the next time."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from co_tui.paths import Paths, ensure_dir, read_small_text, write_atomically

MOST: Final = 8
MOST_CHARS: Final = 500
"""Of one model string; a longer one is not kept."""
LIMIT_BYTES: Final = 64_000


class RecentModels:
    """A comfort, not a need: a file that cannot be read or written is as good as none."""

    def __init__(self, paths: Paths) -> None:
        self._file: Path = paths.state / "recent-models.json"

    def read(self) -> Sequence[str]:
        """The newest first."""
        try:
            kept = json.loads(read_small_text(self._file, LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return ()
        names = kept if isinstance(kept, list) else ()
        return [name for name in names if isinstance(name, str) and 0 < len(name) <= MOST_CHARS][:MOST]

    def note(self, model: str) -> None:
        if len(model) > MOST_CHARS:
            return
        names = [model, *(name for name in self.read() if name != model)]
        with contextlib.suppress(OSError):
            ensure_dir(self._file.parent)
            write_atomically(self._file, json.dumps(names[:MOST]))
