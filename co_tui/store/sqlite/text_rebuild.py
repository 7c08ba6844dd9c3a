"""Writing the searchable texts of all messages anew, after a change of what they contain.

Goes through the log in short steps, so that other processes may write meanwhile, and continues where it was after a
crash. Until it is done, older messages are not found.
"""

import sqlite3
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from co_tui.events import Message
from co_tui.events.event import stored
from co_tui.store.search.searchable_text import SearchableText, searchable
from co_tui.store.sqlite.index_queue import INDEXES, index_some, merge_some, waiting
from co_tui.store.sqlite.message_index import free_id, last_id, seconds_of
from co_tui.store.sqlite.schema import TEXTS_ARE_REBUILT, lacks_texts
from co_tui.store.sqlite.transaction import LET_OTHERS_IN_S, PATIENCE_S, STEP_CHARS, transaction

Report: TypeAlias = Callable[[str], None]
"""Shows the user a sentence."""

EVENTS_AT_ONCE = 1_000
REPORTS = 20
_LACKS_TEXTS = (
    "SELECT 1 FROM events WHERE session_id = :session_id AND seq = :seq"
    " AND NOT EXISTS (SELECT 1 FROM message_texts WHERE session_id = :session_id AND seq = :seq)"
)
"""Another process may have deleted the event meanwhile, or added it with its texts."""


def request(connection: sqlite3.Connection) -> None:
    """From now on, the texts are to be rebuilt. The caller holds the transaction."""
    connection.execute("CREATE TABLE text_rebuild(done INTEGER NOT NULL)")
    connection.execute("INSERT INTO text_rebuild(done) VALUES(0)")
    connection.execute(f"PRAGMA application_id={TEXTS_ARE_REBUILT}")


def rebuild(connection: sqlite3.Connection, report: Report) -> None:
    """Write and index all texts that are missing. The caller keeps other processes from doing the same."""
    if not lacks_texts(connection):  # another process has done it meanwhile
        return
    done, reported = connection.execute("SELECT done FROM text_rebuild").fetchone()[0], 0
    # New ones may come meanwhile: a fork copies what is not rebuilt yet.
    while done < (last := _last_event(connection)):
        if done * REPORTS >= reported * last:
            report(f"Upgrading your sessions: {done:,} of {last:,} events done. Interrupting is safe.")
            reported = done * REPORTS // last + 1
        done = _rebuild_some(connection, done, last)
        _index_if_worth_it(connection)
    with transaction(connection):
        connection.execute("DROP TABLE text_rebuild")
        connection.execute("PRAGMA application_id=0")
    report("Your sessions are up to date.")


def _last_event(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(rowid), 0) FROM events").fetchone()[0])


def _rebuild_some(connection: sqlite3.Connection, done: int, upto: int) -> int:
    rows = connection.execute(
        "SELECT rowid, session_id, seq, type, timestamp, version, payload FROM events"
        " WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?",
        (done, upto, EVENTS_AT_ONCE),
    ).fetchall()
    texts, chars = [], 0
    for number, *row in rows:
        done = number
        texts.append((row[0], row[1], row[3], found := _texts_of(row)))
        chars += sum(len(each.text) for each in found)
        if chars > STEP_CHARS:
            break
    else:
        done = done if len(rows) == EVENTS_AT_ONCE else upto
    with transaction(connection):
        for session_id, seq, timestamp, parts in texts:
            _insert(connection, session_id, seq, timestamp, parts)
        connection.execute("UPDATE text_rebuild SET done = ?", (done,))
    time.sleep(LET_OTHERS_IN_S)
    return done


def _texts_of(row: list[Any]) -> tuple[SearchableText, ...]:
    if row[2] != Message.TYPE:
        return ()
    fact = stored(*row).fact
    return tuple(searchable(fact)) if isinstance(fact, Message) else ()


def _insert(
    connection: sqlite3.Connection, session_id: str, seq: int, timestamp: str, texts: tuple[SearchableText, ...]
) -> None:
    if not texts or not connection.execute(_LACKS_TEXTS, {"session_id": session_id, "seq": seq}).fetchone():
        return
    place = last_id(connection, session_id, seq)
    for text in texts:
        place = free_id(connection, max(seconds_of(timestamp), place + 1))
        connection.execute(
            "INSERT INTO message_texts(id, session_id, seq, role, tool, text) VALUES(?, ?, ?, ?, ?, ?)",
            (place, session_id, seq, *text),
        )


def _index_if_worth_it(connection: sqlite3.Connection) -> None:
    while waiting(connection).is_worth_a_step:
        index_some(connection, PATIENCE_S)
        time.sleep(LET_OTHERS_IN_S)
    for index in INDEXES:
        merge_some(connection, index, PATIENCE_S)
