"""Each model's token ratio to our estimates, learned from what providers report, and stored."""

from pathlib import Path

from co_tui.context.measure.calibration import RATIO_RANGE
from co_tui.store.learned_numbers import LearnedNumbers
from co_tui.store.sync.files.synced_file import OnChange, not_synced

NOTICEABLE = 0.01


class Ratios:
    """The model's tokens for each one we estimate, by model."""

    def __init__(self, file: Path, on_change: OnChange = not_synced) -> None:
        self._numbers = LearnedNumbers(file, on_change)

    def of(self, model: str) -> float | None:
        """None until something was learned."""
        value = self._numbers.get(model)
        low, high = RATIO_RANGE
        return value if value is not None and low < value < high else None

    def learn(self, model: str, ratio: float | None) -> None:
        """Store a ratio; None, from a session that was too short, changes nothing."""
        if ratio is not None and abs(ratio - (self.of(model) or 1.0)) >= NOTICEABLE:
            self._numbers.put(model, round(ratio, 4))
