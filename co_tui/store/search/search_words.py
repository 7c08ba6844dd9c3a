"""The words of a search: whether and where a text contains them, and how relevant it is.

Words of three characters or more match anywhere, also inside other words. Shorter ones must be whole words, except in
scripts without spaces. Case and accents are ignored. Symbols of one or two characters count only when nothing else was
typed. Quotes make a phrase (see `typed_terms`).
"""

import re
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from co_tui.events.stored_messages import Role
from co_tui.inert import inert
from co_tui.late_pattern import late_pattern
from co_tui.store.search.case_folding import FoldedText, folded
from co_tui.store.search.typed_terms import GRAM_CHARS, LETTER, UNSPACED, typed_terms, whole_word

MAX_WORDS = 64
SNIPPET_CHARS = 200
CHARS_BEFORE_MATCH = 60
MAX_SEARCHED_CHARS = 1_000_000
"""Of one text, to mark the spans in it."""
_MAX_COUNTED = 8
_USUAL_CHARS = 400
_WEIGHTS: dict[Role, float] = {"user": 2.0, "assistant": 1.5}

_SHORT = late_pattern(f"(?<!{LETTER}){LETTER}{{1,2}}(?!{LETTER})")
_SHORT_ASCII = late_pattern("(?<![a-z0-9])[a-z0-9]{1,2}(?![a-z0-9])")
"""The same for ASCII, much faster."""
_STRETCH = late_pattern(f"[{UNSPACED}]+")


def short_words(folded_text: str) -> set[str]:
    """The words of a text that match although shorter than three characters."""
    if folded_text.isascii():
        return set(_SHORT_ASCII.findall(folded_text))
    found = set(_SHORT.findall(folded_text))
    for stretch in _STRETCH.findall(folded_text):
        found.update(stretch)
        found.update(map("".join, pairwise(stretch)))
    return found


class Snippet(NamedTuple):
    """A piece of a text on one line, without anything that steers a terminal, and what to mark in it."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """From which character to before which, in order; they do not overlap."""
    is_cut_before: bool = False
    is_cut_after: bool = False


class SearchWords:
    """The words and phrases of any typed text; there may be none."""

    def __init__(self, typed: str) -> None:
        terms = typed_terms(typed)
        words = tuple(word for word in terms.words if len(word) >= GRAM_CHARS or short_words(word))
        self.phrases = terms.phrases[:MAX_WORDS]
        self.words = (words if words or self.phrases else terms.words)[:MAX_WORDS]
        parts = (part for phrase in self.phrases for part in phrase.parts)
        self.indexed = tuple(dict.fromkeys((*self.words, *parts)))[:MAX_WORDS]
        """The words, and those of the phrases: a text that lacks one of them is no match."""
        self.long = tuple(word for word in self.indexed if len(word) >= GRAM_CHARS)
        """Those that match anywhere."""

    def __bool__(self) -> bool:
        return bool(self.indexed)

    def are_in(self, text: str) -> bool:
        """Whether the text contains all of the words and phrases."""
        text = folded(text)
        return (
            bool(self)
            and all(word in text for word in self.long)
            and all(pattern.search(text) for pattern in self._short_patterns)
            and all(phrase.is_in(text) for phrase in self.phrases)
        )

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """The spans of all matches in order; adjacent ones are merged."""
        if not self:
            return ()
        both = FoldedText(text[:MAX_SEARCHED_CHARS])
        found = sorted(both.original(*match.span()) for each in self._patterns for match in each.finditer(both.folded))
        merged: list[tuple[int, int]] = []
        for start, end in found:
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return tuple(merged)

    def snippet(self, text: str, chars: int = SNIPPET_CHARS) -> Snippet:
        """The text around the first of the words, with all of them marked."""
        spans = self.spans(text)
        start = max(0, (spans[0][0] if spans else 0) - CHARS_BEFORE_MATCH)
        start = max(0, min(start, len(text) - chars))
        end = min(len(text), start + chars)
        shown = inert(re.sub(r"\s", " ", text[start:end]))
        inside = tuple((max(a, start) - start, min(b, end) - start) for a, b in spans if a < end and b > start)
        return Snippet(shown, inside, is_cut_before=start > 0, is_cut_after=end < len(text))

    def relevance(self, text: str, role: Role) -> float:
        """A score from how often the words occur, whether as whole words, the length of the text and its role."""
        plain = folded(text)
        often = sum(min(_MAX_COUNTED, plain.count(word)) for word in self.indexed)
        alone = sum(bool(pattern.search(plain)) for pattern in self._whole_word_patterns)
        return (often + 3 * alone) * _WEIGHTS.get(role, 1.0) / (1 + len(plain) / _USUAL_CHARS)

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        anywhere = [re.compile(re.escape(word)) for word in self.words if len(word) >= GRAM_CHARS]
        return [*anywhere, *self._short_patterns, *(phrase.pattern for phrase in self.phrases)]

    @cached_property
    def _short_patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(whole_word(word)) for word in self.words if len(word) < GRAM_CHARS]

    @cached_property
    def _whole_word_patterns(self) -> list[re.Pattern[str]]:
        return [*(re.compile(whole_word(word)) for word in self.words), *(phrase.pattern for phrase in self.phrases)]
