"""What each model's tokens are worth in our estimates, learnt from what providers reported and kept."""

from pathlib import Path

from co_tui.context.measure.calibration import RATIO_RANGE
from co_tui.store.learned_numbers import LearnedNumbers

NOTICEABLE = 0.01


class Ratios:
    """Model → tokens of its own for each one we estimate."""

    def __init__(self, file: Path) -> None:
        self._numbers = LearnedNumbers(file)

    def of(self, model: str) -> float | None:
        """None until something was learnt."""
        value = self._numbers.get(model)
        low, high = RATIO_RANGE
        return value if value is not None and low < value < high else None

    def learn(self, model: str, ratio: float | None) -> None:
        """None is nothing to learn from: a session too short to tell keeps what was known."""
        if ratio is not None and abs(ratio - (self.of(model) or 1.0)) >= NOTICEABLE:
            self._numbers.put(model, round(ratio, 4))
