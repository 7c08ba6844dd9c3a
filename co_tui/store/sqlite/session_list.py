"""The SQL of lists of sessions: each uses an index, so that only the listed rows are read."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from co_tui.store.search.session_filter import filter_words
from co_tui.store.search.typed_terms import typed_terms
from co_tui.store.stored_values import SessionFolder, SessionRow

COLUMNS = ", ".join(f"s.{column}" for column in SessionRow._fields)
NO_LIMIT = -1
_NOT_IN_TRASH, _IN_TRASH = "s.trashed = ''", "s.trashed <> ''"
OWN = "s.owner = ''"
"""The condition for a session of this user."""


def row_of(values: Sequence[Any]) -> SessionRow:
    row = SessionRow(*values)
    return row._replace(pinned=bool(row.pinned), shared=bool(row.shared))


def browse(
    connection: sqlite3.Connection,
    typed: str,
    cwds: Sequence[str],
    limit: int,
    *,
    in_trash: bool,
    from_end: bool = False,
) -> list[SessionRow]:
    """Pinned sessions first, then those of the folders, then all others, each newest first; or the last of them."""
    direction, way = "ASC" if from_end else "DESC", -1 if from_end else 1
    if in_trash:
        return _listed(connection, [_IN_TRASH], [], typed, limit, order=f"s.trashed {direction}")[::way]
    rows: list[SessionRow] = []
    for condition, values in _groups(cwds)[::way]:
        if len(rows) < limit:
            conditions, order = [_NOT_IN_TRASH, condition], f"s.updated {direction}"
            rows += _listed(connection, conditions, values, typed, limit - len(rows), order=order)
    return rows[::way]


def _groups(cwds: Sequence[str]) -> tuple[tuple[str, Sequence[str]], ...]:
    """The groups of a list in their order, as conditions with their values."""
    elsewhere = " AND ".join(["s.pinned = 0", *["s.cwd IS NOT ?"] * len(cwds)])
    return ("s.pinned = 1", ()), (f"s.pinned = 0 AND {_is_one_of(cwds)}", cwds), (elsewhere, cwds)


def _is_one_of(cwds: Sequence[str]) -> str:
    # With `IN`, one folder's sessions would not come in the order of their index.
    return "s.cwd = ?" if len(cwds) == 1 else f"s.cwd IN ({', '.join('?' for _ in cwds)})"


def count(connection: sqlite3.Connection, typed: str, *, in_trash: bool) -> int:
    where, values = _filtered([_IN_TRASH if in_trash else _NOT_IN_TRASH], [], typed)
    return int(connection.execute(f"SELECT count(*) FROM sessions s WHERE {where}", values).fetchone()[0])


def newest(
    connection: sqlite3.Connection, limit: int, cwds: Sequence[str], *, in_trash: bool, own: bool = False
) -> list[SessionRow]:
    """Of these folders, or of all if there are none; with `own`, none of other users."""
    conditions = [_IN_TRASH if in_trash else _NOT_IN_TRASH, *([_is_one_of(cwds)] if cwds else []), *[OWN] * own]
    return _listed(connection, conditions, cwds, "", limit)


def folders(connection: sqlite3.Connection, repository_id: str) -> list[SessionFolder]:
    found = connection.execute(
        "SELECT DISTINCT cwd, repository FROM sessions WHERE repository_id = ? AND repository_id <> ''"
        " AND owner = '' LIMIT 1000",
        (repository_id,),
    )
    return [SessionFolder(cwd or "", repository or "") for cwd, repository in found]


def unused_since(connection: sqlite3.Connection, time: str) -> list[SessionRow]:
    conditions = [_NOT_IN_TRASH, OWN, "s.pinned = 0", "s.updated < ?", "s.came_in < ?"]
    return _listed(connection, conditions, [time, time], "", NO_LIMIT, order="s.updated")


def trashed_before(connection: sqlite3.Connection, time: str) -> list[SessionRow]:
    conditions = [_IN_TRASH, OWN, "s.pinned = 0", "s.trashed < ?"]
    return _listed(connection, conditions, [time], "", NO_LIMIT, order="s.trashed")


def rows_of(connection: sqlite3.Connection, session_ids: Iterable[str]) -> dict[str, SessionRow]:
    """Those of the sessions that are there."""
    select = f"SELECT {COLUMNS} FROM sessions s WHERE s.id = ?"
    found = (connection.execute(select, (each,)).fetchone() for each in dict.fromkeys(session_ids))
    return {row[0]: row_of(row) for row in found if row is not None}


def _listed(
    connection: sqlite3.Connection,
    conditions: Sequence[str],
    values: Sequence[str],
    typed: str,
    limit: int,
    order: str = "s.updated DESC",
) -> list[SessionRow]:
    where, values = _filtered(conditions, values, typed)
    found = connection.execute(
        f"SELECT {COLUMNS} FROM sessions s WHERE {where} ORDER BY {order} LIMIT ?", (*values, limit)
    )
    return [row_of(row) for row in found]


def _filtered(conditions: Sequence[str], values: Sequence[str], typed: str) -> tuple[str, list[str]]:
    words = filter_words(typed)
    phrases = ["has_phrases(s.filter_text, ?)"] if typed_terms(typed).phrases else []
    conditions = [*conditions, *["instr(s.filter_text, ?)"] * len(words), *phrases]
    return " AND ".join(conditions), [*values, *words, *(typed for _ in phrases)]
