"""The words of a search: whether and where a text contains them, and how relevant it is.

Words of three characters or more match anywhere, also inside other words. Shorter ones must be whole words, except in
scripts without spaces. Case and accents are ignored. Symbols of one or two characters count only when nothing else was
typed.
"""

import re
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from co_tui.events.storable import storable_text
from co_tui.events.stored_messages import Role
from co_tui.inert import inert
from co_tui.store.search.case_folding import FoldedText, folded

GRAM_CHARS = 3
"""Words of this length or more match anywhere."""
MAX_WORDS = 64
SNIPPET_CHARS = 200
CHARS_BEFORE_MATCH = 60
MAX_SEARCHED_CHARS = 1_000_000
"""Of one text, to mark the spans in it."""
_MAX_COUNTED = 8
_USUAL_CHARS = 400
_WEIGHTS: dict[Role, float] = {"user": 2.0, "assistant": 1.5}

_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u2190-\u2bff\u2e80-\u2fff\u3005-\u3007\u3040-\ufaff\uff66-\uffdc\U0001f000-\U0003ffff"
)
"""Scripts without spaces between words, and symbols that are words by themselves."""
_LETTER = f"[^\\W_{_UNSPACED}]"
_SHORT = re.compile(f"(?<!{_LETTER}){_LETTER}{{1,2}}(?!{_LETTER})")
_SHORT_ASCII = re.compile("(?<![a-z0-9])[a-z0-9]{1,2}(?![a-z0-9])")
"""The same for ASCII, much faster."""
_STRETCH = re.compile(f"[{_UNSPACED}]+")


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
    """The words of any typed text; there may be none."""

    def __init__(self, typed: str) -> None:
        plain = folded(storable_text(typed).replace("\0", " "))
        typed_words = list(dict.fromkeys(plain.split()))
        words = [word for word in typed_words if len(word) >= GRAM_CHARS or short_words(word)]
        self.words = tuple((words or typed_words)[:MAX_WORDS])
        self.long = tuple(word for word in self.words if len(word) >= GRAM_CHARS)
        """Those that match anywhere."""

    def __bool__(self) -> bool:
        return bool(self.words)

    def are_in(self, text: str) -> bool:
        """Whether the text contains all of the words."""
        text = folded(text)
        return (
            bool(self.words)
            and all(word in text for word in self.long)
            and all(pattern.search(text) for pattern in self._short_patterns)
        )

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """The spans of all matches in order; adjacent ones are merged."""
        if not self.words:
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
        often = sum(min(_MAX_COUNTED, plain.count(word)) for word in self.words)
        alone = sum(bool(pattern.search(plain)) for pattern in self._whole_word_patterns)
        return (often + 3 * alone) * _WEIGHTS.get(role, 1.0) / (1 + len(plain) / _USUAL_CHARS)

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [*(re.compile(re.escape(word)) for word in self.long), *self._short_patterns]

    @cached_property
    def _short_patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(_bounded(word)) for word in self.words if len(word) < GRAM_CHARS]

    @cached_property
    def _whole_word_patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(_bounded(word)) for word in self.words]


def _bounded(word: str) -> str:
    before = f"(?<!{_LETTER})" if re.match(_LETTER, word[0]) else ""
    after = f"(?!{_LETTER})" if re.match(_LETTER, word[-1]) else ""
    return before + re.escape(word) + after
