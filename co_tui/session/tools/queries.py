"""What a model looks for, in words, and the piece of a text where they stand."""

import re
from collections.abc import Sequence
from typing import Final

from co_tui.store.search.session_words import find_phrase

EXCERPT_CHARS: Final = 600
BEFORE_CHARS: Final = 200
"""How much of an excerpt stands before what was found."""
MAX_WORDS: Final = 40


def words_of(query: str) -> list[str]:
    """The words and quoted phrases of a query, each once."""
    found = re.findall(r'["“”]([^"“”]+)["“”]|([^\s"“”]+)', query.lower())
    cleaned = (" ".join((phrase or word).split()) for phrase, word in found)
    return list(dict.fromkeys(filter(None, cleaned)))[:MAX_WORDS]


def excerpt(text: str, words: Sequence[str]) -> str:
    """The text around the first of the words in it."""
    lower = text.lower()
    first = min((place for each in words if (place := find_phrase(each, lower)) >= 0), default=0)
    start = max(0, min(first - BEFORE_CHARS, len(text) - EXCERPT_CHARS))
    end = start + EXCERPT_CHARS
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
