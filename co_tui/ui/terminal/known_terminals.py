"""Whether the terminals used so far are dark, kept for the first paint of the next start."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.paths import Paths, ensure_dir, read_small_text, write_atomically

MOST: Final = 20
LIMIT_BYTES: Final = 16_000
_TELLING: Final = ("TERM_PROGRAM", "TERM", "COLORTERM", "SSH_TTY")
"""Variables by which one terminal is told from another; of the last only that it is there."""


class KnownTerminals:
    """A comfort, not a need: a file that cannot be read or written is as good as none."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        self._file: Path = paths.state / "terminals.json"
        values = (environ.get(name, "") for name in _TELLING[:-1])
        self._name = " ".join((*values, "ssh" if environ.get(_TELLING[-1]) else "here"))[:200]

    def is_dark(self) -> bool | None:
        """As this terminal was the last time; None for one that never said."""
        known = self._read().get(self._name)
        return known if isinstance(known, bool) else None

    def note(self, dark: bool) -> None:
        known = self._read()
        if known.get(self._name) is dark:
            return
        others = [(name, told) for name, told in known.items() if name != self._name][-(MOST - 1) :]
        with contextlib.suppress(OSError):
            ensure_dir(self._file.parent)
            write_atomically(self._file, json.dumps({**dict(others), self._name: dark}))

    def _read(self) -> dict[str, object]:
        try:
            kept = json.loads(read_small_text(self._file, LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) else {}
