"""What it means that a text holds some words, for a search within one session."""

import re
from functools import lru_cache


def find_phrase(words: str, lowered: str) -> int:
    """Where the words first stand in a text in small letters, also inside a longer word; -1 when nowhere.

    Several words stand together, with any white space between them.
    """
    if " " not in words:
        return lowered.find(words)
    found = _together(words).search(lowered)
    return found.start() if found else -1


def holds(text: str, words: str) -> bool:
    return find_phrase(words, text.lower()) >= 0


@lru_cache(maxsize=100)
def _together(words: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, words.split())))
