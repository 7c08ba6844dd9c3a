"""The ids of message texts, and what their indexes contain.

A text's id grows with its time, so that an index, which returns ids in order, returns the newest first, also after an
old session was imported. Indexes store no texts: matches are checked again.
"""

import sqlite3
from datetime import UTC, datetime

from co_tui.store.search.grams import index_text
from co_tui.store.search.search_words import short_words
from co_tui.store.sqlite.schema import ALL_SEQS

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST = 1 << 40
_STRETCH = 64
"""Ids checked at a time when looking for a free one."""


def index_short_words(tool: str, text: str) -> str:
    return " ".join(sorted(short_words(index_text(tool, text))))


def free_id(connection: sqlite3.Connection, wanted: int) -> int:
    """The wanted id, or the next that is free."""
    if connection.execute("SELECT 1 FROM message_texts WHERE id = ?", (wanted,)).fetchone() is None:
        return wanted
    while True:
        highest = connection.execute(
            "SELECT max(id) FROM message_texts WHERE id BETWEEN ? AND ?", (wanted, wanted + _STRETCH - 1)
        ).fetchone()[0]
        if highest is None:
            return wanted
        if highest < wanted + _STRETCH - 1:
            return int(highest) + 1
        wanted += _STRETCH


def last_id(connection: sqlite3.Connection, session_id: str, upto: int = ALL_SEQS) -> int:
    """Of the session's latest text up to a seq; 0 when it has none."""
    row = connection.execute(
        "SELECT id FROM message_texts WHERE session_id = ? AND seq <= ? ORDER BY seq DESC, id DESC LIMIT 1",
        (session_id, upto),
    ).fetchone()
    return int(row[0]) if row else 0


def seconds_of(timestamp: str) -> int:
    """The lowest id for a text of that time; 1 for an unreadable time."""
    try:
        when = datetime.fromisoformat(timestamp)
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)) - _BEGINNING
        return min(max(1, int(seconds.total_seconds())), _LATEST)
    except (ValueError, OverflowError):
        return 1
