"""What each model's tokens are worth in our estimates, learnt from what providers reported and kept."""

from pathlib import Path

from co_tui.store.numbers import Numbers

NOTICEABLE = 0.01


class Ratios:
    """Model → tokens of its own for each one we estimate."""

    def __init__(self, file: Path) -> None:
        self._numbers = Numbers(file)

    def of(self, model: str) -> float:
        """1 until something was learnt."""
        value = self._numbers.get(model)
        return value if value is not None and 0.2 < value < 5 else 1.0

    def learn(self, model: str, ratio: float) -> None:
        if abs(ratio - self.of(model)) >= NOTICEABLE:
            self._numbers.put(model, round(ratio, 4))
