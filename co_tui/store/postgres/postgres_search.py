"""Searching the messages of all sessions by their grams, newest first."""

from collections.abc import Collection, Iterator
from typing import Any, Final

from co_tui.events.storable import storable_text
from co_tui.store.postgres.bulk import ALL_SEQS
from co_tui.store.postgres.log import Connection
from co_tui.store.postgres.ownership import VISIBLE
from co_tui.store.postgres.session_list import browse, rows_of
from co_tui.store.postgres.text_index import gram_numbers
from co_tui.store.search.case_folding import folded
from co_tui.store.search.grams import MAX_GRAMS, covering_grams
from co_tui.store.search.message_search import Candidate, Search, SearchPage, hits_of
from co_tui.store.search.search_words import SearchWords, short_words
from co_tui.store.search.searchable_text import SAID
from co_tui.store.search.session_words import holds
from co_tui.store.stored_values import FoundMessages, SessionRow, messages_with_most_words

FIRST_PAGE, LARGEST_PAGE = 100, 1_600
"""Texts read at once; each time more, since most searches end early."""
MANY_SESSIONS_PAGE: Final = 400
"""The first page where many texts are needed: a round trip costs more than texts."""
MAX_SCANNED_TEXTS: Final = 20_000
"""Texts, for what no index knows."""
_SAID: Final = sorted(SAID)


def search(connection: Connection, asked: Search, session_id: str, in_trash: bool) -> SearchPage:
    seen = asked.seen()
    found = candidates(
        connection,
        asked.words,
        before=asked.before,
        session_id=session_id,
        in_trash=in_trash,
        skip_sessions=seen,
        first_page=MANY_SESSIONS_PAGE if asked.once_per_session or asked.by_relevance else FIRST_PAGE,
    )
    chosen, more = asked.chosen(found, seen)
    if not chosen:
        return SearchPage(hits_of(asked, chosen, {}, {}), more)
    rows = rows_of(connection, (each.session_id for each in chosen))
    times = connection.execute(
        "SELECT e.session_id, e.seq, e.timestamp FROM events e"
        " JOIN unnest(%s::text[], %s::bigint[]) AS w(id, seq) ON e.session_id = w.id AND e.seq = w.seq",
        ([each.session_id for each in chosen], [each.seq for each in chosen]),
    )
    return SearchPage(hits_of(asked, chosen, rows, {(id_, seq): time for id_, seq, time in times}), more)


def sessions_with(connection: Connection, typed: str, limit: int, cwd: str, *, in_trash: bool) -> list[SessionRow]:
    """Sessions whose title holds the text, or in which its words were said; the newest first."""
    words = SearchWords(typed)
    text = folded(storable_text(typed)).strip()
    rows = {
        row.id: row
        for row in browse(connection, typed, [cwd] if cwd else [], None, in_trash=in_trash)
        if text in folded(row.title) and (not cwd or row.cwd == cwd)
    }
    said_in: set[str] = set()
    for each in candidates(connection, words, in_trash=in_trash, skip_sessions=said_in):
        if each.session_id not in said_in and each.holds(words):
            said_in.add(each.session_id)
            if len(said_in) >= limit and not cwd:
                break
    of_messages = rows_of(connection, said_in).values()
    rows |= {row.id: row for row in of_messages if not cwd or row.cwd == cwd}
    return sorted(rows.values(), key=lambda row: row.updated, reverse=True)[:limit]


def candidates(
    connection: Connection,
    words: SearchWords,
    *,
    before: int | None = None,
    session_id: str = "",
    in_trash: bool = False,
    skip_sessions: Collection[str] = (),
    first_page: int = FIRST_PAGE,
) -> Iterator[Candidate]:
    """Texts that the index finds for the words, newest first, read page by page.

    Skips sessions that are in `skip_sessions` when a page is read. No index knows symbols alone: for those the newest
    texts are scanned.
    """
    if not words:
        return
    where, values = _conditions(connection, words, session_id, in_trash)
    sql = (
        f"SELECT m.id, m.session_id, m.seq, m.role, m.tool, m.text FROM message_texts m WHERE {where}"
        " AND m.id < %(before)s AND m.session_id <> ALL(%(skipped)s::text[]) ORDER BY m.id DESC LIMIT %(limit)s"
    )
    limit = first_page
    last = before if before is not None else ALL_SEQS
    while True:
        asked = {**values, "before": last, "skipped": list(skip_sessions), "limit": limit}
        # Never prepared: which index is best depends on the words.
        rows = connection.execute(sql, asked, prepare=False).fetchall()
        yield from map(Candidate._make, rows)
        if len(rows) < limit:
            return
        last, limit = rows[-1][0], min(2 * limit, LARGEST_PAGE)


def _conditions(
    connection: Connection, words: SearchWords, session_id: str, in_trash: bool
) -> tuple[str, dict[str, Any]]:
    where, values = ["m.role = ANY(%(said)s)"], {"said": _SAID, "session_id": session_id, "in_trash": in_trash}
    grams = covering_grams(words.words) or [unit for word in words.words for unit in sorted(short_words(word))]
    if grams:
        where.append("m.grams @> %(grams)s::integer[]")
        values["grams"] = gram_numbers(grams[:MAX_GRAMS])
    else:
        where.append("m.id >= %(first)s")
        values["first"] = _first_scanned(connection)
    wanted = "s.id = m.session_id AND "
    if session_id:
        where.append("m.session_id = %(session_id)s")
        wanted += VISIBLE
    else:
        wanted += f"{VISIBLE} AND (s.trashed <> '') = %(in_trash)s"
    where.append(f"EXISTS (SELECT 1 FROM sessions s WHERE {wanted})")
    return " AND ".join(where), values


def _first_scanned(connection: Connection) -> int:
    row = connection.execute(
        "SELECT id FROM message_texts ORDER BY id DESC OFFSET %s LIMIT 1", (MAX_SCANNED_TEXTS,)
    ).fetchone()
    return int(row[0]) if row else 0


def messages_with(
    connection: Connection, session_id: str, words: Collection[str], except_tool: str | None
) -> FoundMessages:
    """The messages of a session that hold the most of these words, newest first."""
    return messages_with_most_words(_seqs(connection, session_id, each, except_tool) for each in words)


def _seqs(connection: Connection, session_id: str, words: str, except_tool: str | None) -> list[int]:
    # What is shorter than three characters no index knows: then all texts of the session are read.
    grams = gram_numbers(covering_grams(folded(words).split()))
    rows = connection.execute(
        "SELECT m.seq, m.tool, m.text FROM sessions s JOIN message_texts m ON m.session_id = s.id"
        f" WHERE s.id = %s AND {VISIBLE} AND m.tool IS DISTINCT FROM %s::text"
        + (" AND m.grams @> %s::integer[]" if grams else ""),
        (session_id, except_tool, *([grams] if grams else [])),
    )
    return [seq for seq, tool, text in rows if holds(text, words) or holds(tool, words)]
