"""A number that depends on the size of the context window. Imports nothing heavy."""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

SEPARATOR: Final = " at "


class ByWindow(tuple[tuple[int, float], ...]):
    """Numbers at some window sizes, smallest first; interpolated on a logarithmic scale in between."""

    __slots__ = ()

    def __str__(self) -> str:
        return ", ".join(f"{number:g}{SEPARATOR}{window}" for window, number in self)

    __repr__ = __str__

    @lru_cache(maxsize=64)  # noqa: B019 - a value, bounded; several are read for each request
    def at(self, window_tokens: int) -> float:
        before = [point for point in self if point[0] <= window_tokens]
        after = [point for point in self if point[0] > window_tokens]
        if not before or not after:
            return (before[-1] if before else after[0])[1]
        (low, first), (high, last) = before[-1], after[0]
        return first + (last - first) * math.log(window_tokens / low) / math.log(high / low)

    @classmethod
    def parse(cls, text: str) -> "ByWindow":
        """Reads `0.25 at 8000, 0.2 at 32000`. Raises ValueError."""
        points = []
        for point in text.split(","):
            number, at, window = point.partition(SEPARATOR.strip())
            if not at or int(window) <= 0:
                raise ValueError
            points.append((int(window), float(number)))
        if len({window for window, _ in points}) < len(points):
            raise ValueError
        return cls(sorted(points))


def in_window(number: float | ByWindow, window_tokens: int) -> float:
    """The number for a window of `window_tokens`."""
    return number.at(window_tokens) if isinstance(number, ByWindow) else number


def windows_of(numbers: Iterable[object]) -> list[int]:
    """The window sizes that any of the numbers names."""
    return sorted({window for number in numbers if isinstance(number, ByWindow) for window, _ in number})
