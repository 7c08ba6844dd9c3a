"""Finding words and phrases within one session."""

import re
from functools import lru_cache


def find_phrase(words: str, lowered: str) -> int:
    """The position of the first match in a lower-case text, also inside a longer word; -1 for none.

    Several words are a phrase, with any white space between them.
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
