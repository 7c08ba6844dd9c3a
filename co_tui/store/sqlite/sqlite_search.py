"""Searching the messages of all sessions by their indexes, newest first."""

import sqlite3
from collections.abc import Container, Iterable, Iterator
from heapq import merge
from typing import Any

from co_tui.events.storable import storable_text
from co_tui.store.search.case_folding import folded
from co_tui.store.search.grams import MAX_GRAMS, covering_grams
from co_tui.store.search.message_search import Candidate, Search, SearchPage, hits_of
from co_tui.store.search.search_words import SearchWords, short_words
from co_tui.store.search.searchable_text import SAID
from co_tui.store.sqlite.connect import session_filter
from co_tui.store.sqlite.schema import ALL_SEQS, lacks_texts, seen
from co_tui.store.sqlite.session_list import browse, rows_of
from co_tui.store.stored_values import SessionRow

MAX_COMPARED_CHARS = 1_000
"""Of a word; SQLite refuses longer patterns at some point."""
MAX_SCANNED_TEXTS = 20_000
"""Texts, for what no index knows."""
EVERYTHING = 1 << 31
_SAID = ", ".join(f"'{role}'" for role in sorted(SAID))


def search(connection: sqlite3.Connection, asked: Search, session_id: str, in_trash: bool) -> SearchPage:
    seen = asked.seen()
    found = candidates(
        connection, asked.words, before=asked.before, session_id=session_id, in_trash=in_trash, skip_sessions=seen
    )
    chosen, more = asked.chosen(found, seen)
    rows = rows_of(connection, (each.session_id for each in chosen))
    time = "SELECT timestamp FROM events WHERE session_id = ? AND seq = ?"
    wanted = {(each.session_id, each.seq) for each in chosen}
    times = {place: row[0] for place in wanted if (row := connection.execute(time, place).fetchone())}
    return SearchPage(hits_of(asked, chosen, rows, times), more, is_incomplete=lacks_texts(connection))


def sessions_with(
    connection: sqlite3.Connection, typed: str, limit: int, cwd: str, *, in_trash: bool
) -> list[SessionRow]:
    """Sessions whose title holds the text or the phrases, or in which its words were said; the newest first."""
    words = SearchWords(typed)
    text = folded(storable_text(typed)).strip()
    rows = {}
    for row in browse(connection, typed, [cwd], EVERYTHING, in_trash=in_trash):
        in_title = words.are_in(row.title) if words.phrases else text in folded(row.title)
        if in_title and (not cwd or row.cwd == cwd):
            rows[row.id] = row
    said_in: set[str] = set()
    for each in candidates(connection, words, in_trash=in_trash, skip_sessions=said_in):
        if each.holds(words):
            said_in.add(each.session_id)
            if len(said_in) >= limit and not cwd:
                break
    of_messages = rows_of(connection, said_in).values()
    rows |= {row.id: row for row in of_messages if not cwd or row.cwd == cwd}
    return sorted(rows.values(), key=lambda row: row.updated, reverse=True)[:limit]


def candidates(
    connection: sqlite3.Connection,
    words: SearchWords,
    *,
    before: int | None = None,
    session_id: str = "",
    in_trash: bool = False,
    skip_sessions: Container[str] = (),
) -> Iterator[Candidate]:
    """Texts that the index finds for the words, newest first, each read when it is asked for.

    Skips sessions that are in `skip_sessions` by then. No index knows symbols alone: for those the newest texts are
    scanned.
    """
    if not words:
        return
    index, query = _query(words)
    values = {"query": query, **_range(connection, before, session_id)}
    patterns = words.long if query else words.indexed
    likes = {f"like{n}": f"%{_escaped(word[:MAX_COMPARED_CHARS])}%" for n, word in enumerate(patterns)}
    if not query:
        values["first"] = max(values["first"], _newest(connection, values["last"]) - MAX_SCANNED_TEXTS)
    trashed = {row[0] for row in connection.execute("SELECT id FROM sessions WHERE trashed <> ''")}

    def wanted(of_session: str) -> bool:
        is_listed = of_session == session_id if session_id else (of_session in trashed) == in_trash
        return is_listed and of_session not in skip_sessions

    with session_filter(wanted) as number:
        found = (
            connection.execute(
                f"SELECT m.id, m.session_id, m.seq, m.role, m.tool, m.text FROM {source}"
                f" {place} BETWEEN :first AND :last AND m.role IN ({_SAID}) AND {seen('m')}"
                f" AND passes(:number, m.session_id) {_prefilter(list(likes))} ORDER BY {place} DESC",
                {**values, **likes, "number": number},
            )
            for source, place in _sources(index if query else "")
        )
        yield from _newest_first(map(Candidate._make, rows) for rows in found)


def _sources(index: str) -> Iterator[tuple[str, str]]:
    """Where texts are looked for, and the column that orders them.

    What waits to be indexed first: a text that is indexed in between is rather found twice than not at all.
    """
    if not index:
        yield "message_texts m WHERE", "m.id"
        return
    yield "texts_to_index q CROSS JOIN message_texts m ON m.id = q.id WHERE", "q.id"
    yield f"{index} i CROSS JOIN message_texts m ON m.id = i.rowid WHERE {index} MATCH :query AND", "i.rowid"


def _newest_first(found: Iterable[Iterator[Candidate]]) -> Iterator[Candidate]:
    last = None
    for each in merge(*found, key=lambda each: each.id, reverse=True):
        if each.id != last:
            yield each
        last = each.id


def _range(connection: sqlite3.Connection, before: int | None, session_id: str) -> dict[str, Any]:
    """The first and last place to search: all, those before a place, or those of a session."""
    upto = before - 1 if before is not None else ALL_SEQS
    if not session_id:
        return {"first": 0, "last": upto}
    first, last = connection.execute(
        "SELECT min(id), max(id) FROM message_texts WHERE session_id = ?", (session_id,)
    ).fetchone()
    return {"first": first or 0, "last": min(upto, last or 0)}


def _newest(connection: sqlite3.Connection, upto: int) -> int:
    """The place of the newest text that is not above a place."""
    return int(connection.execute("SELECT max(id) FROM message_texts WHERE id <= ?", (upto,)).fetchone()[0] or 0)


def _prefilter(likes: list[str]) -> str:
    """The first look at what an index found: SQLite is quick at it, where no letter can have an accent."""
    texts = "(m.tool || char(10) || m.text)"
    held = " AND ".join(f"{texts} LIKE :{name} ESCAPE '\\'" for name in likes)
    return f"AND (length({texts}) <> length(CAST({texts} AS BLOB)) OR {held})" if likes else ""


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _query(words: SearchWords) -> tuple[str, str]:
    """Which index is asked, and for what; nothing where no index knows any of the words."""
    if grams := grams_of(words.indexed):
        return "message_grams", grams
    units = [unit for word in words.indexed for unit in sorted(short_words(word))]
    return "message_short_words", _all_of(units)


def grams_of(words: tuple[str, ...]) -> str:
    """Groups of three characters that cover the folded words, as a query; empty when no word has three."""
    return _all_of(covering_grams(words))


def _all_of(terms: list[str]) -> str:
    wanted = list(dict.fromkeys(terms))[:MAX_GRAMS]
    return " AND ".join('"' + term.replace('"', '""') + '"' for term in wanted)
