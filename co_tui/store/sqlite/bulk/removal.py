"""Removing a session, or what a crash left of one, step by step."""

import sqlite3
from collections.abc import Iterable

from co_tui.store.sqlite import index_queue
from co_tui.store.sqlite.bulk import unfinished
from co_tui.store.sqlite.deletions import decide, record_deletion
from co_tui.store.sqlite.spending import keep_spent
from co_tui.store.sqlite.transaction import A_MOMENT_S, STEP_CHARS, Steps, transaction
from co_tui.store.store_errors import SessionNotFound, SessionOfAnother
from co_tui.store.stored_values import Deletion

ROWS_AT_ONCE = 500


def delete(connection: sqlite3.Connection, session_id: str, deletion: Deletion | None = None) -> Steps[None]:
    """Remove a session and all that belongs to it; it is gone for everyone after the first step.

    `deletion` is the decision, if it was made elsewhere.
    """
    with unfinished.at_work(session_id):
        yield from _deleted(connection, session_id, deletion)


def _deleted(connection: sqlite3.Connection, session_id: str, deletion: Deletion | None) -> Steps[None]:
    with transaction(connection):
        connection.execute("DELETE FROM drafts WHERE session_id = ?", (session_id,))
        known = connection.execute("SELECT owner FROM sessions WHERE id = ?", (session_id,)).fetchone()
        if known is not None and known[0]:
            raise SessionOfAnother.of(session_id, known[0])
        if deletion is not None:
            record_deletion(connection, deletion)
        else:
            decide(connection, session_id, is_deleted=True)
        keep_spent(connection, session_id)
        if connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount == 0:
            raise SessionNotFound(f"No session {session_id}.")
        unfinished.claim(connection, session_id, 0)
        is_more = _remove_some(connection, session_id, 0)
    while is_more:
        yield
        with transaction(connection):
            unfinished.touch(connection, session_id)
            is_more = _remove_some(connection, session_id, 0)


def discard_remains(connection: sqlite3.Connection, session_id: str) -> Steps[None]:
    """Remove what a crash left of a session that was being written. Raises `StoreError` when it still is."""
    while unfinished.find(connection, session_id):
        with transaction(connection):
            _discard_some(connection, session_id)
        yield


def discard_at_once(connection: sqlite3.Connection, session_id: str) -> None:
    """The same within the caller's transaction."""
    while _discard_some(connection, session_id):
        pass


def clean_up(connection: sqlite3.Connection) -> bool:
    """Remove some of what crashes left; returns whether there is more."""
    for each in unfinished.abandoned(connection):
        with transaction(connection, A_MOMENT_S):
            _discard_some(connection, each.session_id)
        return True
    return False


def _discard_some(connection: sqlite3.Connection, session_id: str) -> bool:
    found = unfinished.find(connection, session_id)
    if found is None:
        return False
    unfinished.refuse_if_written(found)
    unfinished.claim(connection, session_id, found.after_seq)
    return _remove_some(connection, session_id, found.after_seq)


def _remove_some(connection: sqlite3.Connection, session_id: str, after_seq: int) -> bool:
    """Remove texts, then events, above a seq; returns whether there are more."""
    above = (session_id, after_seq, ROWS_AT_ONCE)
    lengths = "SELECT id, length(text) FROM message_texts WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"
    if texts := _first(connection.execute(lengths, above), index_queue.INDEXED_CHARS.amount):
        if not index_queue.remove_part(connection, texts[0]):
            index_queue.remove(connection, texts)
        return True
    lengths = "SELECT seq, length(payload) FROM events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"
    if events := _first(connection.execute(lengths, above), STEP_CHARS):
        connection.execute(
            "DELETE FROM events WHERE session_id = ? AND seq > ? AND seq <= ?", (session_id, after_seq, events[-1])
        )
        return True
    unfinished.release(connection, session_id)
    return False


def _first(rows: Iterable[tuple[int, int]], most_chars: int) -> list[int]:
    """The first of the rows, given their lengths: one, and more within so many characters."""
    found: list[int] = []
    chars = 0
    for number, length in rows:
        chars += length
        if found and chars > most_chars:
            break
        found.append(number)
    return found
