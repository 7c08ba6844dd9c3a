"""Whether a summary may stand in place of what it summarises (C3). Pure."""

import re
import zlib
from typing import Final

from co_tui.context.count import estimate_text

LEAST_JUDGED_CHARS: Final = 240
"""Shorter summaries repeat nothing worth speaking of."""
LEAST_DIFFERENT: Final = 0.3
"""Of the word groups in a summary, at least so many must differ."""
LEAST_DENSE: Final = 0.12
"""A text that packs to less of its length than this says one thing again and again."""


LEAST_FAMILIAR: Final = 0.35
"""Of a summary's longer words, at least so many occur in what it summarises."""


def objection(summary: str, replaced_tokens: float, source: str = "", ratio: float = 1.0) -> str:
    """Why the summary cannot be used, as the end of a sentence; empty when it can."""
    text = summary.strip()
    if not re.search(r"\w", text):
        return "it is empty"
    if is_degenerate(text):
        return "it repeats one phrase"
    if ratio * estimate_text(text) >= replaced_tokens:
        return "it is no smaller than what it would replace"
    if source and is_foreign(text, source):
        return "it speaks of something else"
    return ""


def is_foreign(text: str, source: str) -> bool:
    """Whether hardly any of its words come from what it should summarise."""
    words = set(re.findall(r"\w{5,}", text.lower()))
    known = set(re.findall(r"\w{5,}", source.lower()))
    return len(words) >= 12 and len(words & known) < LEAST_FAMILIAR * len(words)


def is_degenerate(text: str) -> bool:
    """Whether it is one phrase, over and over."""
    if len(text) < LEAST_JUDGED_CHARS:
        return False
    words = re.findall(r"\w+", text.lower())
    groups = [tuple(words[n : n + 3]) for n in range(len(words) - 2)]
    if groups and len(set(groups)) < LEAST_DIFFERENT * len(groups):
        return True
    packed = text.encode(errors="replace")
    return len(zlib.compress(packed)) < LEAST_DENSE * len(packed)
