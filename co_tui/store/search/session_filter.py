"""The filter of a list of sessions: all words of what was typed, anywhere in the title or the folder."""

import re

from co_tui.events.storable import storable_text
from co_tui.store.search.case_folding import FoldedText, folded

MAX_WORDS = 64
"""No title has more, and SQLite takes so many."""


def filter_text(title: str, cwd: str) -> str:
    """What a session is filtered by."""
    return folded(storable_text(f"{title}\n{cwd}").replace("\0", " "))


def filter_words(typed: str) -> tuple[str, ...]:
    """What has to stand in a session's text; none let every session through."""
    return tuple(dict.fromkeys(folded(storable_text(typed).replace("\0", " ")).split()))[:MAX_WORDS]


def matches_filter(typed: str, title: str, cwd: str) -> bool:
    """Whether a filter lets a session through."""
    text = filter_text(title, cwd)
    return all(word in text for word in filter_words(typed))


def filter_spans(typed: str, text: str) -> list[tuple[int, int]]:
    """Where the words of a filter stand in a text: from which character to before which."""
    both = FoldedText(text)
    matches = (match for word in filter_words(typed) for match in re.finditer(re.escape(word), both.folded))
    return [both.original(*match.span()) for match in matches]
