"""What each model's tokens are worth in our estimates, learnt from what providers reported and kept."""

import contextlib
import json
from pathlib import Path

from co_tui.paths import write_atomically

NOTICEABLE = 0.01


class Ratios:
    """A small file: model → tokens of its own for each one we estimate."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, model: str) -> float:
        """1 until something was learnt."""
        value = self._read().get(model, 1.0)
        return value if isinstance(value, int | float) and 0.2 < value < 5 else 1.0

    def learn(self, model: str, ratio: float) -> None:
        known = self._read()
        if abs(ratio - known.get(model, 1.0)) >= NOTICEABLE:
            # Another process may write its own at the same moment; either is good enough.
            with contextlib.suppress(OSError):
                write_atomically(self._file, json.dumps({**known, model: round(ratio, 4)}, indent=1))

    def _read(self) -> dict[str, float]:
        try:
            known = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}
