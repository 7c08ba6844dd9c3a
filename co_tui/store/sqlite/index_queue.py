"""The texts that wait to be indexed. A search reads these themselves, so nothing has to wait for the indexes.

Many at a time cost an index a fraction of what each by itself would, and its size does not delay an append. A long text
is indexed in parts, one a step, all under its id; it waits until the last is done.
"""

import sqlite3
import time
from collections.abc import Sequence
from json import dumps
from typing import NamedTuple

from co_tui.store.search.grams import index_text
from co_tui.store.sqlite.message_index import index_short_words
from co_tui.store.sqlite.transaction import A_MOMENT_S, Pace, transaction

INDEXES = {"message_grams": index_text, "message_short_words": index_short_words}
PART_CHARS, OVERLAP_CHARS = 16_000, 1_000
"""Of a long text, and how far a part reaches into the next, so that no word is cut.

Never to be changed: a part that is not removed from the indexes as it was added damages them.
"""
INDEXED_CHARS = Pace(least=10_000, most=40_000)
"""Of texts that are indexed, or removed, in one step."""
MERGED_PAGES = Pace(least=8, most=32)
"""Of an index, at once."""
TEXTS_AT_ONCE = 2_000
FEW_TEXTS, FEW_CHARS = 200, 100_000
"""So little is searched in a moment, and waits for more."""
MANY_CHARS = 8_000_000
"""So much is noticed in a search."""


class Waiting(NamedTuple):
    """How much waits."""

    texts: int
    chars: int

    @property
    def is_worth_a_step(self) -> bool:
        return self.texts > FEW_TEXTS or self.chars > FEW_CHARS

    @property
    def is_much(self) -> bool:
        return self.chars > MANY_CHARS


class _Part(NamedTuple):
    """A text, or the next part of a long one."""

    id: int
    tool: str
    text: str
    number: int


def waiting(connection: sqlite3.Connection) -> Waiting:
    return Waiting(*connection.execute("SELECT count(*), coalesce(sum(chars), 0) FROM texts_to_index").fetchone())


def merge_or_index(connection: sqlite3.Connection) -> bool:
    """A step towards indexes that hold everything; returns whether there may be more."""
    return merge_some(connection) or index_some(connection)


def index_some(connection: sqlite3.Connection) -> bool:
    """Index some of the texts that wait; returns whether there may be more.

    Raises `sqlite3.OperationalError` when another process does not let go.
    """
    began, version = time.thread_time(), _version_of_others(connection)
    parts = _some_parts(connection)
    if not parts:
        return False
    # Outside of the transaction: it is a third of the work.
    prepared = {index: [(each.id, of(each.tool, each.text)) for each in parts] for index, of in INDEXES.items()}
    with transaction(connection, A_MOMENT_S):
        # Else another process was faster.
        if _version_of_others(connection) == version or _some_parts(connection) == parts:
            for index, rows in prepared.items():
                connection.executemany(f"INSERT INTO {index}(rowid, text) VALUES(?, ?)", rows)
            _record(connection, parts)
    INDEXED_CHARS.learn(sum(len(each.text) for each in parts), began)
    return True


def _version_of_others(connection: sqlite3.Connection) -> int:
    """Another number whenever another connection has changed something."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _record(connection: sqlite3.Connection, parts: list[_Part]) -> None:
    """What is indexed now."""
    connection.executemany(
        "INSERT OR REPLACE INTO texts_in_parts(id, parts) VALUES(?, ?)",
        [(each.id, each.number + 1) for each in parts if each.number or len(each.text) > PART_CHARS],
    )
    done = (PART_CHARS, parts[-1].id)
    connection.execute("DELETE FROM texts_to_index WHERE chars <= ? AND id <= ?", done)
    connection.execute("UPDATE texts_to_index SET chars = chars - ? WHERE id <= ?", done)


def remove(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Remove texts, and what the indexes know of them. The caller holds the transaction."""
    wanted = (dumps(ids),)
    of_wanted = "id IN (SELECT value FROM json_each(?))"
    for (id_,) in connection.execute(f"SELECT id FROM texts_in_parts WHERE {of_wanted}", wanted).fetchall():
        while remove_part(connection, id_):
            pass
    indexed = connection.execute(
        f"SELECT id, tool, text FROM message_texts WHERE {of_wanted} AND id NOT IN (SELECT id FROM texts_to_index)"
        " AND id NOT IN (SELECT id FROM texts_in_parts) ORDER BY id",
        wanted,
    ).fetchall()
    _remove_from_indexes(connection, indexed)
    # In one statement: between two, an index writes a piece of its own.
    connection.execute(f"DELETE FROM message_texts WHERE {of_wanted}", wanted)


def remove_part(connection: sqlite3.Connection, id_: int) -> bool:
    """Remove the last part of a long text from the indexes; False if none is left.

    The caller holds the transaction, and removes the text itself afterwards.
    """
    part = connection.execute(
        f"SELECT m.id, {_part('p.parts - 1')} FROM texts_in_parts p CROSS JOIN message_texts m ON m.id = p.id"
        " WHERE p.id = ? AND p.parts > 0",
        (id_,),
    ).fetchone()
    if part is None:
        return False
    _remove_from_indexes(connection, [part])
    connection.execute("UPDATE texts_in_parts SET parts = parts - 1 WHERE id = ?", (id_,))
    connection.execute("DELETE FROM texts_to_index WHERE id = ?", (id_,))
    return True


def _remove_from_indexes(connection: sqlite3.Connection, texts: Sequence[tuple[int, str, str]]) -> None:
    began = time.thread_time()
    for index, of in INDEXES.items():
        connection.executemany(
            f"INSERT INTO {index}({index}, rowid, text) VALUES('delete', ?, ?)",
            [(id_, of(tool, text)) for id_, tool, text in texts],
        )
        _merge(connection, index)  # what is removed is a piece, too
    INDEXED_CHARS.learn(sum(len(text) for _, _, text in texts), began)


def merge_some(connection: sqlite3.Connection) -> bool:
    """Merge a few pieces of an index, so that searching it stays fast; returns whether there may be more.

    The more pieces there are, the longer each step takes: it is done before more is indexed.
    """
    with transaction(connection, A_MOMENT_S):
        return any(_merge(connection, index) for index in INDEXES)


def _merge(connection: sqlite3.Connection, index: str) -> bool:
    before, began, pages = connection.total_changes, time.thread_time(), MERGED_PAGES.amount
    connection.execute(f"INSERT INTO {index}({index}, rank) VALUES('merge', {pages})")
    MERGED_PAGES.learn(pages, began)
    # As its documentation has it: fewer than two changes are none.
    return connection.total_changes - before >= 2


def _some_parts(connection: sqlite3.Connection) -> list[_Part]:
    """The first that wait, in order: an index writes a piece of its own whenever a lower number follows."""
    ids = connection.execute("SELECT id, chars FROM texts_to_index ORDER BY id LIMIT ?", (TEXTS_AT_ONCE,)).fetchall()
    last, total = 0, 0
    for id_, chars in ids:
        total += min(chars, PART_CHARS)
        if last and total > INDEXED_CHARS.amount:
            break
        last = id_
    rows = connection.execute(
        f"SELECT q.id, {_part('coalesce(p.parts, 0)')}, coalesce(p.parts, 0) FROM texts_to_index q"
        " CROSS JOIN message_texts m ON m.id = q.id LEFT JOIN texts_in_parts p ON p.id = q.id"
        " WHERE q.id <= ? ORDER BY q.id",
        (last,),
    )
    return list(map(_Part._make, rows))


def _part(number: str) -> str:
    """The columns of a part of a text; its tool belongs to the first."""
    chars = PART_CHARS + OVERLAP_CHARS
    return f"iif({number}, '', m.tool), substr(m.text, ({number}) * {PART_CHARS} + 1, {chars})"
