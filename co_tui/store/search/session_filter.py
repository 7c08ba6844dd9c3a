"""The filter of a list of sessions: all words and phrases typed, anywhere in the title or the folder."""

import re

from co_tui.events.storable import storable_text
from co_tui.store.search.case_folding import FoldedText, folded
from co_tui.store.search.typed_terms import typed_terms

MAX_WORDS = 64
"""More than any title has, and few enough for SQLite."""


def filter_text(title: str, cwd: str) -> str:
    """The text that a filter is matched against."""
    return folded(storable_text(f"{title}\n{cwd}").replace("\0", " "))


def filter_words(typed: str) -> tuple[str, ...]:
    """The words that a session's text must contain, those of phrases too; none match every session."""
    terms = typed_terms(typed)
    parts = (part for phrase in terms.phrases for part in phrase.parts)
    return tuple(dict.fromkeys((*terms.words, *parts)))[:MAX_WORDS]


def has_phrases(text: str, typed: str) -> bool:
    """Whether a session's text contains all phrases typed."""
    return all(phrase.is_in(text) for phrase in typed_terms(typed).phrases)


def matches_filter(typed: str, title: str, cwd: str) -> bool:
    """Whether a session matches a filter."""
    text = filter_text(title, cwd)
    return all(word in text for word in filter_words(typed)) and has_phrases(text, typed)


def filter_spans(typed: str, text: str) -> list[tuple[int, int]]:
    """The spans of a filter's words and phrases in a text."""
    both, terms = FoldedText(text), typed_terms(typed)
    words = (re.compile(re.escape(word)) for word in terms.words[:MAX_WORDS])
    patterns = (*words, *(phrase.pattern for phrase in terms.phrases))
    return [both.original(*match.span()) for each in patterns for match in each.finditer(both.folded)]
