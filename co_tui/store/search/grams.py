"""Groups of three characters, by which indexes find words anywhere in a text."""

from collections.abc import Iterable

from co_tui.store.search.case_folding import folded
from co_tui.store.search.typed_terms import GRAM_CHARS

MAX_GRAMS = 64
"""More of them would find the same; each text that is found is looked at anyway."""


def index_text(tool: str, text: str) -> str:
    """What words of three characters or more are found in."""
    return folded(f"{tool}\n{text}" if tool else text)


def covering_grams(words: Iterable[str]) -> list[str]:
    """Groups of three characters that cover the folded words; none when no word has three.

    Every group of a word would find hardly less, and takes twice as long.
    """
    grams = (word[start : start + GRAM_CHARS] for word in words for start in _covering(len(word)))
    return list(dict.fromkeys(grams))[:MAX_GRAMS]


def _covering(chars: int) -> Iterable[int]:
    last = chars - GRAM_CHARS
    return (*range(0, last, GRAM_CHARS), last) if last >= 0 else ()
