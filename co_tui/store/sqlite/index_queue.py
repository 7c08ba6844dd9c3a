"""The texts that wait to be indexed. A search reads these themselves, so nothing has to wait for the indexes.

Many at a time cost an index a fraction of what each by itself would, and its size does not delay an append.
"""

import sqlite3
from collections.abc import Sequence
from json import dumps
from typing import NamedTuple

from co_tui.store.search.grams import index_text
from co_tui.store.sqlite.message_index import index_short_words
from co_tui.store.sqlite.transaction import A_MOMENT_S, STEP_CHARS, transaction

INDEXES = {"message_grams": index_text, "message_short_words": index_short_words}
MERGED_PAGES = 64
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


def waiting(connection: sqlite3.Connection) -> Waiting:
    return Waiting(*connection.execute("SELECT count(*), coalesce(sum(chars), 0) FROM texts_to_index").fetchone())


def index_some(connection: sqlite3.Connection, patience_s: float = A_MOMENT_S) -> bool:
    """Index some of the texts that wait; returns whether there may be more.

    Raises `sqlite3.OperationalError` when another process does not let go.
    """
    texts = _some_texts(connection)
    if not texts:
        return False
    # Outside of the transaction: it is a third of the work.
    prepared = {index: [(id_, of(tool, text)) for id_, tool, text in texts] for index, of in INDEXES.items()}
    with transaction(connection, patience_s):
        if _some_texts(connection) == texts:  # else another process was faster
            for index, rows in prepared.items():
                connection.executemany(f"INSERT INTO {index}(rowid, text) VALUES(?, ?)", rows)
            connection.execute("DELETE FROM texts_to_index WHERE id <= ?", (texts[-1][0],))
    return True


def remove(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Remove texts, and what the indexes know of them. The caller holds the transaction."""
    wanted = (dumps(ids),)
    indexed = connection.execute(
        "SELECT id, tool, text FROM message_texts WHERE id IN (SELECT value FROM json_each(?))"
        " AND id NOT IN (SELECT id FROM texts_to_index) ORDER BY id",
        wanted,
    ).fetchall()
    for index, of in INDEXES.items():
        connection.executemany(
            f"INSERT INTO {index}({index}, rowid, text) VALUES('delete', ?, ?)",
            [(id_, of(tool, text)) for id_, tool, text in indexed],
        )
    # In one statement: between two, an index writes a piece of its own.
    connection.execute("DELETE FROM message_texts WHERE id IN (SELECT value FROM json_each(?))", wanted)


def merge_some(connection: sqlite3.Connection, index: str, patience_s: float = A_MOMENT_S) -> bool:
    """Merge a few pieces of an index, so that searching it stays fast; returns whether there may be more."""
    before = connection.total_changes
    with transaction(connection, patience_s):
        connection.execute(f"INSERT INTO {index}({index}, rank) VALUES('merge', {MERGED_PAGES})")
    # As its documentation has it: fewer than two changes are none.
    return connection.total_changes - before >= 2


def _some_texts(connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """The first that wait, in order: an index writes a piece of its own whenever a lower number follows."""
    ids = connection.execute("SELECT id, chars FROM texts_to_index ORDER BY id LIMIT ?", (TEXTS_AT_ONCE,)).fetchall()
    last, total = 0, 0
    for id_, chars in ids:
        if last and total + chars > STEP_CHARS:
            break
        last, total = id_, total + chars
    return connection.execute(
        "SELECT m.id, m.tool, m.text FROM texts_to_index q CROSS JOIN message_texts m ON m.id = q.id"
        " WHERE q.id <= ? ORDER BY q.id",
        (last,),
    ).fetchall()
