"""Finding words anywhere in the messages of one session.

The index knows which rows hold each group of three characters, so that text inside a word, or in a
script without spaces, is found without reading the session. Rows that have all groups of a word are looked at then.
"""

import re
import sqlite3
from collections.abc import Callable, Sequence

from co_tui.store.search.case_folding import folded
from co_tui.store.sqlite.schema import seen
from co_tui.store.sqlite.sqlite_search import grams_of
from co_tui.store.stored_values import FoundMessages, messages_with_most_words

_BY_INDEX = """
    SELECT m.seq FROM message_grams g CROSS JOIN message_texts m ON m.id = g.rowid
    WHERE message_grams MATCH :grams AND g.rowid BETWEEN :first AND :last AND"""
_NOT_INDEXED = """
    SELECT m.seq FROM texts_to_index q CROSS JOIN message_texts m ON m.id = q.id
    WHERE q.id BETWEEN :first AND :last AND"""
_BY_READING = "SELECT m.seq FROM message_texts m WHERE"
_OF_SESSION = f"""
    m.session_id = :session_id AND {seen("m")} AND m.tool IS NOT :except_tool
    AND (m.text LIKE :like ESCAPE '\\' OR m.tool LIKE :like ESCAPE '\\')"""
_AND_HOLDS = " AND (holds(m.text, :words) OR holds(m.tool, :words))"


def messages_with(
    connection: sqlite3.Connection, session_id: str, words: Sequence[str], except_tool: str | None
) -> FoundMessages:
    of_session = "SELECT min(id), max(id) FROM message_texts WHERE session_id = ?"
    first, last = connection.execute(of_session, (session_id,)).fetchone()
    asked = {"session_id": session_id, "except_tool": except_tool, "first": first, "last": last}
    return messages_with_most_words(_seqs(connection, word, asked) for word in words)


def _seqs(connection: sqlite3.Connection, words: str, asked: dict[str, str | int | None]) -> list[int]:
    grams = grams_of(tuple(map(folded, words.split())))
    compared = _stretches(words, _known_to_like)
    # What is shorter than three characters no index knows; what is one stretch no closer look is needed for.
    condition = _OF_SESSION + ("" if compared == [words] else _AND_HOLDS)
    sql = f"{_BY_INDEX}{condition} UNION {_NOT_INDEXED}{condition}" if grams else _BY_READING + condition
    rows = connection.execute(sql, {**asked, "words": words, "grams": grams, "like": _like(compared)})
    return [seq for (seq,) in rows]


def _like(stretches: list[str]) -> str:
    """A pattern for all texts that have these stretches in this order."""
    escaped = (re.sub(r"([\\%_])", r"\\\1", each) for each in stretches)
    return f"%{'%'.join(escaped)}%"


def _stretches(words: str, known: Callable[[str], bool]) -> list[str]:
    """What SQLite compares with capital letters as Python does; the rest is left to `holds`."""
    capital_i_with_dot = "i\u0307"  # one character, and two in small letters
    return "".join(each if known(each) else " " for each in words.replace(capital_i_with_dot, " ")).split()


def _known_to_like(character: str) -> bool:
    return character.isascii() or _has_no_case(character)


def _has_no_case(character: str) -> bool:
    return character.upper() == character.lower()
