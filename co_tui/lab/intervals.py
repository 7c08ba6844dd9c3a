"""Means over conversations with their 95 % interval."""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

RESAMPLES: Final = 1000
SEED: Final = 26
"""Fixed, so that the same replay gives the same figures."""


class Mean(NamedTuple):
    """A mean with the interval that holds 95 % of the means of resampled conversations."""

    mean: float
    low: float
    high: float
    conversations: int


def mean_of(values: Sequence[float]) -> Mean | None:
    """The mean and its percentile bootstrap interval; None without values."""
    if not values:
        return None
    count = len(values)
    draw = random.Random(SEED)
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(RESAMPLES))
    cut = RESAMPLES // 40
    return Mean(sum(values) / count, means[cut], means[-cut - 1], count)
