"""The filter of a list of sessions: all words typed, anywhere in the title or the folder."""

import re

from co_tui.events.storable import storable_text
from co_tui.store.search.case_folding import FoldedText, folded

MAX_WORDS = 64
"""More than any title has, and few enough for SQLite."""


def filter_text(title: str, cwd: str) -> str:
    """The text that a filter is matched against."""
    return folded(storable_text(f"{title}\n{cwd}").replace("\0", " "))


def filter_words(typed: str) -> tuple[str, ...]:
    """The words that a session's text must contain; none match every session."""
    return tuple(dict.fromkeys(folded(storable_text(typed).replace("\0", " ")).split()))[:MAX_WORDS]


def matches_filter(typed: str, title: str, cwd: str) -> bool:
    """Whether a session matches a filter."""
    text = filter_text(title, cwd)
    return all(word in text for word in filter_words(typed))


def filter_spans(typed: str, text: str) -> list[tuple[int, int]]:
    """The spans of a filter's words in a text."""
    both = FoldedText(text)
    matches = (match for word in filter_words(typed) for match in re.finditer(re.escape(word), both.folded))
    return [both.original(*match.span()) for match in matches]
