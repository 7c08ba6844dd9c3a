"""Facts about the terminal: dark or light, the sizes that can be drawn, job control."""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from textual.events import Resize
from textual.geometry import Size

from co_tui.paths import Paths, ensure_dir, read_small_text, write_atomically

MAX_KNOWN: Final = 20
LIMIT_BYTES: Final = 16_000
_IDENTIFYING: Final = ("TERM_PROGRAM", "TERM", "COLORTERM", "SSH_TTY")
"""Variables that identify a terminal; of the last, only whether it is set."""


class KnownTerminals:
    """Remembers which terminals are dark, for the first paint of the next start; file errors are ignored."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        self._file: Path = paths.state / "terminals.json"
        values = (environ.get(name, "") for name in _IDENTIFYING[:-1])
        self._name = " ".join((*values, "ssh" if environ.get(_IDENTIFYING[-1]) else "here"))[:200]

    def is_dark(self) -> bool | None:
        """Whether this terminal was dark the last time; None when unknown."""
        known = self._read().get(self._name)
        return known if isinstance(known, bool) else None

    def note(self, dark: bool) -> None:
        known = self._read()
        if known.get(self._name) is dark:
            return
        others = [(name, was_dark) for name, was_dark in known.items() if name != self._name][-(MAX_KNOWN - 1) :]
        with contextlib.suppress(OSError):
            ensure_dir(self._file.parent)
            write_atomically(self._file, json.dumps({**dict(others), self._name: dark}))

    def _read(self) -> dict[str, object]:
        try:
            kept = json.loads(read_small_text(self._file, LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) else {}


def is_job() -> bool:
    """Whether we run under job control: a shell then gives each job its own process group."""
    return os.getpgrp() != os.getsid(0)


MIN_COLUMNS, MIN_ROWS = 20, 5
"""Below this, borders leave no room for content, and Textual fails."""
MAX_CELLS: Final = 4000
"""Most columns and rows, whatever a terminal reports."""


def clamped_resize(resized: Resize) -> Resize:
    """The event with its size limited to what can be drawn; the terminal cuts off the rest."""
    size = Size(_clamped(MIN_COLUMNS, resized.size.width), _clamped(MIN_ROWS, resized.size.height))
    return resized if size == resized.size else Resize(size, size, size, resized.pixel_size)


def _clamped(minimum: int, cells: int) -> int:
    return max(minimum, min(cells, MAX_CELLS))
