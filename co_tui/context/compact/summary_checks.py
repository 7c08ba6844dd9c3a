"""Whether a summary may stand in place of what it summarises (C3). Pure."""

import math
import re
import zlib
from typing import Final, NamedTuple

from co_tui.context.compact.language import language
from co_tui.context.measure.count import estimate_text

LEAST_JUDGED_CHARS: Final = 240
"""Shorter summaries repeat nothing worth speaking of."""
LEAST_DIFFERENT: Final = 0.3
"""Of the word groups in a summary, at least so many must differ."""
LEAST_DENSE: Final = 0.12
"""A text that packs to less of its length than this says one thing again and again."""

LEAST_JUDGED_WORDS: Final = 12
"""Fewer words that carry meaning tell nothing about what a summary is about."""
LEAST_JUDGED_NAMES: Final = 3
LEAST_FAMILIAR: Final = 0.25
"""Of the words that carry meaning, at least so many occur in what is summarised; a paraphrase shares no more."""
LEAST_NAMED: Final = 0.34
"""A summary that takes so many of its names from what it summarises is about it, in whatever words."""

STEM_CHARS: Final = 5
_WORD: Final = re.compile(r"[^\W\d_]+")
_TOKEN: Final = re.compile(r"[\w./@-]+")
_NAME: Final = re.compile(r"[^\W\d_][_/.]\w|\d\d|[a-z][A-Z]")
"""In what is written the same in every language and every wording: paths, identifiers, numbers."""
_HEADING: Final = re.compile(r"^#.*$", re.MULTILINE)
_FIRST_IDEOGRAM: Final = "\u2e80"


def objection(
    summary: str, replaced_tokens: float, source: str = "", ratio: float = 1.0, most_tokens: float = math.inf
) -> str:
    """Why the summary cannot be used, as the end of a sentence; empty when it can. `most_tokens` is the room it has."""
    text = summary.strip()
    if not re.search(r"\w", text):
        return "it is empty"
    if is_degenerate(text):
        return "it repeats one phrase"
    if ratio * estimate_text(text) >= replaced_tokens:
        return "it is no smaller than what it would replace"
    if ratio * estimate_text(text) > most_tokens:
        return "it is too long for the room there is"
    if source and is_foreign(text, source):
        return "it speaks of something else"
    return ""


def is_foreign(text: str, source: str) -> bool:
    """Whether it is about something else than what it should summarise.

    A summary may paraphrase, be short or be in another language. But it names what the source names; and in the
    language of the source it uses at least some of its words.
    """
    prose = _HEADING.sub("", text)
    told, known = _vocabulary(prose), _vocabulary(source)
    if told.names and _share(told.names, known.names) >= LEAST_NAMED:
        return False
    unfamiliar = _share(told.words, known.words) < LEAST_FAMILIAR
    if len(told.names) >= LEAST_JUDGED_NAMES and not told.names & known.names:
        return unfamiliar
    return unfamiliar and len(told.words) >= LEAST_JUDGED_WORDS and _comparable(language(prose), language(source))


def _comparable(told: str, known: str) -> bool:
    """Whether the words of two texts can be compared: unless they are known to be in different languages."""
    return told == known or not told or not known


class _Vocabulary(NamedTuple):
    """What a text speaks of."""

    words: set[str]
    """The beginnings of longer words, so that an ending makes no difference; where no spaces are written,
    each two characters."""
    names: set[str]


def _vocabulary(text: str) -> _Vocabulary:
    words: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word >= _FIRST_IDEOGRAM:
            words.update(word[place : place + 2] for place in range(len(word) - 1))
        elif len(word) >= STEM_CHARS:
            words.add(word[:STEM_CHARS])
    names = {token.strip("./@-").lower() for token in _TOKEN.findall(text) if _NAME.search(token)}
    return _Vocabulary(words, names)


def _share(told: set[str], known: set[str]) -> float:
    """How much of what is told is known."""
    return len(told & known) / max(1, len(told))


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
