"""What message texts are found by: an id that grows with time, and an array of numbers for their grams."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple
from zlib import crc32

from co_tui.store.event_rows import EventRow
from co_tui.store.search.grams import index_text
from co_tui.store.search.search_words import short_words
from co_tui.store.search.typed_terms import GRAM_CHARS

_BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)
_SESSION_BITS: Final = 21
_MOST_MILLISECONDS: Final = (1 << (62 - _SESSION_BITS)) - 1


class TextRow(NamedTuple):
    """One searchable text, as it is stored."""

    session_id: str
    seq: int
    part: int
    id: int
    role: str
    tool: str
    text: str
    grams: list[int]


def text_rows(row: EventRow, last_id: int) -> Iterator[TextRow]:
    """The texts of an event, with ids above the last one of their session."""
    for part, each in enumerate(row.texts):
        last_id = max(last_id + 1, first_id(row.timestamp, row.session_id))
        yield TextRow(row.session_id, row.seq, part, last_id, *each, grams_of_text(each.tool, each.text))


def first_id(timestamp: str, session_id: str) -> int:
    """The lowest id for a text of that time: the millisecond, then a number of its session.

    So ids need no counter that all writers share. Two may be equal, once in millions of messages of one millisecond.
    """
    try:
        when = datetime.fromisoformat(timestamp)
        passed = (when if when.tzinfo else when.replace(tzinfo=UTC)) - _BEGINNING
        milliseconds = min(max(0, int(passed.total_seconds() * 1000)), _MOST_MILLISECONDS)
    except (ValueError, OverflowError):
        milliseconds = 0
    return (milliseconds << _SESSION_BITS) + session_number(session_id)


def session_number(session_id: str) -> int:
    """Added to the ids of copied texts, so that those of a fork differ from those of its source; at least 1."""
    return (crc32(session_id.encode("utf-8", "replace")) & ((1 << _SESSION_BITS) - 1)) | 1


def grams_of_text(tool: str, text: str) -> list[int]:
    """Every group of three characters within a word, and the words that match although shorter."""
    folded = index_text(tool, text)
    grams = {
        word[start : start + GRAM_CHARS] for word in set(folded.split()) for start in range(len(word) - GRAM_CHARS + 1)
    }
    return sorted(set(gram_numbers(grams | short_words(folded))))


def gram_numbers(grams: Iterable[str]) -> list[int]:
    """Numbers are smaller than texts, and quicker to compare. Two grams may share one: matches are checked again."""
    return [crc32(gram.encode("utf-8", "replace")) - (1 << 31) for gram in grams]
