"""The order of a provider's models: newest first, then the strongest; dated and special ones apart."""

import re
from typing import Final

_DATED: Final = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{2}-\d{4}|(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01]))(?:-|$)")
"""A release date: `-2025-04-14`, `-20250929`, `-09-2025`, `-0905`."""
_SPECIAL: Final = re.compile(
    r"audio|image|vision|whisper|tts|transcribe|realtime|embed|moderation|guard|computer-use|search-preview|deep-research"
)
"""Made for something else than conversation with tools."""
LATEST: Final = 100.0
_VERSION: Final = re.compile(r"(?<![\d.])v?(\d{1,2})(?:[.-](\d{1,2}))?(?![\dbk])")


def is_older(name: str) -> bool:
    """Whether it is listed apart: a dated release, whose undated name is listed too, or a special model."""
    return bool(_DATED.search(name) or _SPECIAL.search(name))


def version_of(name: str) -> float:
    """The version in a model's name, as in `opus-4-8` or `grok-4.20`; 0 without one."""
    found = _VERSION.search(name)
    return float(f"{found[1]}.{found[2] or 0}") if found else 0.0


def rank(name: str, output_price: float | None) -> tuple[float, float, str]:
    """Sorts the newest version first, and within it the most expensive one. `latest` is newest, if it has a price."""
    is_latest = output_price is not None and name.endswith("-latest")
    version = version_of(name) or (LATEST if is_latest else 0.0)
    return -version, -(output_price or 0.0), name
