"""Check whether a summary can replace its source (C3). Pure."""

import math
import re
import zlib
from typing import Final, NamedTuple

from co_tui.context.compact.language import language
from co_tui.context.measure.count import estimate_text

LEAST_JUDGED_CHARS: Final = 240
"""Shorter summaries are not checked for repetition."""
LEAST_DIFFERENT: Final = 0.3
"""Of the three-word groups in a summary, this share must be distinct."""
LEAST_DENSE: Final = 0.12
"""A text that compresses below this share of its length is repetitive."""

LEAST_JUDGED_WORDS: Final = 12
"""With fewer content words, the topic cannot be judged."""
LEAST_JUDGED_NAMES: Final = 3
LEAST_FAMILIAR: Final = 0.25
"""Of the content words, at least this share occurs in the source; a paraphrase may share no more."""
LEAST_NAMED: Final = 0.34
"""A summary that shares this many of its names with the source is about it, however worded."""

STEM_CHARS: Final = 5
_WORD: Final = re.compile(r"[^\W\d_]+")
_TOKEN: Final = re.compile(r"[\w./@-]+")
_NAME: Final = re.compile(r"[^\W\d_][_/.]\w|\d\d|[a-z][A-Z]")
"""Paths, identifiers and numbers, which are the same in every language and wording."""
_HEADING: Final = re.compile(r"^#.*$", re.MULTILINE)
_FIRST_IDEOGRAM: Final = "\u2e80"


def objection(
    summary: str, replaced_tokens: float, source: str = "", ratio: float = 1.0, most_tokens: float = math.inf
) -> str:
    """Why the summary cannot be used, as the end of a sentence; empty if it can. `most_tokens` is its room."""
    text = summary.strip()
    if not re.search(r"\w", text):
        return "it is empty"
    if is_degenerate(text):
        return "it repeats one phrase"
    if ratio * estimate_text(text) >= replaced_tokens:
        return "it is no smaller than what it would replace"
    if ratio * estimate_text(text) > most_tokens:
        return "it is too long for the room there is"
    if source and is_off_topic(text, source):
        return "it speaks of something else"
    return ""


def is_off_topic(text: str, source: str) -> bool:
    """Whether the summary is about something other than its source.

    A summary may paraphrase, be short or be in another language. But it shares names with the source, and in the
    same language at least some words.
    """
    prose = _HEADING.sub("", text)
    own, known = _vocabulary(prose), _vocabulary(source)
    if own.names and _share(own.names, known.names) >= LEAST_NAMED:
        return False
    unfamiliar = _share(own.words, known.words) < LEAST_FAMILIAR
    if len(own.names) >= LEAST_JUDGED_NAMES and not own.names & known.names:
        return unfamiliar
    return unfamiliar and len(own.words) >= LEAST_JUDGED_WORDS and _comparable(language(prose), language(source))


def _comparable(own: str, known: str) -> bool:
    """Whether the words can be compared: false only if the languages are known and differ."""
    return own == known or not own or not known


class _Vocabulary(NamedTuple):
    """The words and names of a text."""

    words: set[str]
    """Stems of longer words; in scripts without spaces, each pair of characters."""
    names: set[str]


def _vocabulary(text: str) -> _Vocabulary:
    words: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word >= _FIRST_IDEOGRAM:
            words.update(word[start : start + 2] for start in range(len(word) - 1))
        elif len(word) >= STEM_CHARS:
            words.add(word[:STEM_CHARS])
    names = {token.strip("./@-").lower() for token in _TOKEN.findall(text) if _NAME.search(token)}
    return _Vocabulary(words, names)


def _share(own: set[str], known: set[str]) -> float:
    """The share of `own` that is in `known`."""
    return len(own & known) / max(1, len(own))


def is_degenerate(text: str) -> bool:
    """Whether the text repeats one phrase."""
    if len(text) < LEAST_JUDGED_CHARS:
        return False
    words = re.findall(r"\w+", text.lower())
    groups = [tuple(words[n : n + 3]) for n in range(len(words) - 2)]
    if groups and len(set(groups)) < LEAST_DIFFERENT * len(groups):
        return True
    packed = text.encode(errors="replace")
    return len(zlib.compress(packed)) < LEAST_DENSE * len(packed)
