"""The windows that providers named when they refused a request, by model and endpoint."""

from pathlib import Path

from co_tui.agent.failures import Asked
from co_tui.store.learned_numbers import LearnedNumbers

SMALLEST_TOKENS = 256
"""A limit below this is no window one could work in; it is not kept."""


class Limits:
    """A window once learnt is assumed from then on, when it is smaller than what the model tells."""

    def __init__(self, file: Path) -> None:
        self._numbers = LearnedNumbers(file)

    def of(self, asked: Asked) -> int | None:
        value = self._numbers.get(_name(asked))
        return int(value) if value is not None and value >= SMALLEST_TOKENS else None

    def learn(self, asked: Asked, tokens: int) -> None:
        known = self.of(asked)
        if tokens >= SMALLEST_TOKENS and (known is None or tokens < known):
            self._numbers.put(_name(asked), tokens)


def _name(asked: Asked) -> str:
    return f"{asked.model} at {asked.address}" if asked.address else asked.model
