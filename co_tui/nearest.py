"""Suggest a correction for a mistyped name."""

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known name closest to a mistyped one; empty when none is close."""
    from difflib import get_close_matches  # most runs have no typo

    names = list(known)
    # Swapped letters are the likeliest slip: `modle` is model, not mode.
    swapped = [each for each in names if sorted(each) == sorted(name)]
    return next(iter(get_close_matches(name, swapped or names, 1, cutoff)), "")
