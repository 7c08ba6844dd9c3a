"""What is typed into a search, as words and phrases; a phrase is in quotes: `"exact words"`."""

import re
from functools import cached_property, lru_cache
from typing import NamedTuple

from co_tui.events.storable import storable_text
from co_tui.store.search.case_folding import folded

GRAM_CHARS = 3
"""Words of this length or more match anywhere."""
UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u2190-\u2bff\u2e80-\u2fff\u3005-\u3007\u3040-\ufaff\uff66-\uffdc\U0001f000-\U0003ffff"
)
"""Scripts without spaces between words, and symbols that are words by themselves."""
LETTER = f"[^\\W_{UNSPACED}]"
_OPENING, _CLOSING = '"“„', '"“”'
_TERM = f"(?<!\\S)[{_OPENING}](?P<phrase>[^{_CLOSING}]*)(?P<closing>[{_CLOSING}]?)|(?P<word>\\S+)"


class Phrase:
    """Words that follow each other with any white space between them, ignoring case and accents.

    It begins and ends where a word does; without its closing quote, the last word may go on.
    """

    def __init__(self, parts: tuple[str, ...], *, is_closed: bool) -> None:
        self.parts = parts
        self._is_closed = is_closed

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds it in a folded text."""
        first, last = self.parts[0], self.parts[-1]
        ends_word = self._is_closed or len(last) < GRAM_CHARS
        together = r"\s+".join(map(re.escape, self.parts))
        return re.compile(word_start(first) + together + (word_end(last) if ends_word else ""))

    def is_in(self, folded_text: str) -> bool:
        return all(part in folded_text for part in self.parts) and self.pattern.search(folded_text) is not None


class TypedTerms(NamedTuple):
    """Each word and phrase once, in order."""

    words: tuple[str, ...]
    phrases: tuple[Phrase, ...] = ()


@lru_cache(maxsize=20)
def typed_terms(typed: str) -> TypedTerms:
    """Quotes count at the beginning of a word only: `print("x")` is a word. Quotes alone are words, too."""
    plain = folded(storable_text(typed).replace("\0", " "))
    if not any(quote in plain for quote in _OPENING):
        return TypedTerms(tuple(dict.fromkeys(plain.split())))
    words: dict[str, None] = {}
    phrases: dict[tuple[tuple[str, ...], bool], None] = {}
    for found in re.finditer(_TERM, plain):
        if found["word"]:
            words[found["word"]] = None
        elif parts := tuple(found["phrase"].split()):
            phrases[parts, bool(found["closing"])] = None
    if not words and not phrases:
        return TypedTerms(tuple(dict.fromkeys(plain.split())))
    return TypedTerms(tuple(words), tuple(Phrase(parts, is_closed=closed) for parts, closed in phrases))


def whole_word(word: str) -> str:
    """A pattern for a word that is no part of another."""
    return word_start(word) + re.escape(word) + word_end(word)


def word_start(word: str) -> str:
    return f"(?<!{LETTER})" if re.match(LETTER, word[0]) else ""


def word_end(word: str) -> str:
    return f"(?!{LETTER})" if re.match(LETTER, word[-1]) else ""
