"""The SQL of lists of sessions: each uses an index, so that only the listed rows are read."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from co_tui.store.postgres.log import Connection
from co_tui.store.search.session_filter import filter_words, has_phrases
from co_tui.store.search.typed_terms import typed_terms
from co_tui.store.stored_values import SessionRow

COLUMNS: Final = ", ".join(f"s.{column}" for column in SessionRow._fields)
_NOT_IN_TRASH, _IN_TRASH = "s.trashed = ''", "s.trashed <> ''"
_GROUPS: Final = (("s.pinned", 0), ("NOT s.pinned AND s.cwd = %s", 1), ("NOT s.pinned AND s.cwd <> %s", 1))
"""In listing order, each with how often it names the folder."""


def browse(
    connection: Connection, typed: str, cwd: str, limit: int | None, *, in_trash: bool, from_end: bool = False
) -> list[SessionRow]:
    """Pinned sessions first, then those of the folder, then all others, each newest first; or the last of them."""
    direction, step = ("ASC", -1) if from_end else ("DESC", 1)
    if in_trash:
        return _listed(connection, [_IN_TRASH], [], typed, limit, order=f"s.trashed {direction}")[::step]
    rows: list[SessionRow] = []
    for condition, values in _GROUPS[::step]:
        left = None if limit is None else limit - len(rows)
        if left is None or left > 0:
            of_folder = [cwd for _ in range(values)]
            conditions, order = [_NOT_IN_TRASH, condition], f"s.updated {direction}"
            rows += _listed(connection, conditions, of_folder, typed, left, order=order)
    return rows[::step]


def count(connection: Connection, typed: str, *, in_trash: bool) -> int:
    condition = _IN_TRASH if in_trash else _NOT_IN_TRASH
    if typed_terms(typed).phrases:
        return len(_listed(connection, [condition], [], typed, None))
    where, values = _filtered([condition], [], typed)
    row = connection.execute(f"SELECT count(*) FROM sessions s WHERE {where}", values).fetchone()
    return int(row[0]) if row else 0


def newest(connection: Connection, limit: int, cwd: str, *, in_trash: bool) -> list[SessionRow]:
    conditions = [_IN_TRASH if in_trash else _NOT_IN_TRASH, *(["s.cwd = %s"] if cwd else [])]
    return _listed(connection, conditions, [cwd] if cwd else [], "", limit)


def unused_since(connection: Connection, time: str) -> list[SessionRow]:
    conditions = [_NOT_IN_TRASH, "NOT s.pinned", "s.updated < %s", "s.came_in < %s"]
    return _listed(connection, conditions, [time, time], "", None, order="s.updated")


def trashed_before(connection: Connection, time: str) -> list[SessionRow]:
    return _listed(connection, [_IN_TRASH, "NOT s.pinned", "s.trashed < %s"], [time], "", None, order="s.trashed")


def rows_of(connection: Connection, session_ids: Iterable[str]) -> dict[str, SessionRow]:
    """Those of the sessions that are there."""
    wanted = list(dict.fromkeys(session_ids))
    found = connection.execute(f"SELECT {COLUMNS} FROM sessions s WHERE s.id = ANY(%s)", (wanted,))
    return {row[0]: SessionRow._make(row) for row in found}


def _listed(
    connection: Connection,
    conditions: Sequence[str],
    values: Sequence[str],
    typed: str,
    limit: int | None,
    order: str = "s.updated DESC",
) -> list[SessionRow]:
    where, filled = _filtered(conditions, values, typed)
    sql = f"SELECT {COLUMNS}, s.filter_text FROM sessions s WHERE {where} ORDER BY {order} LIMIT %s"
    # The server finds the words of phrases, not whether they stand together.
    has_phrases_typed = bool(typed_terms(typed).phrases)
    found = connection.execute(sql, (*filled, None if has_phrases_typed else limit))
    rows = (row[:-1] for row in found if not has_phrases_typed or has_phrases(row[-1], typed))
    return [SessionRow._make(row) for row in islice(rows, limit)]


def _filtered(conditions: Sequence[str], values: Sequence[str], typed: str) -> tuple[str, list[Any]]:
    words = filter_words(typed)
    return " AND ".join([*conditions, *["strpos(s.filter_text, %s) > 0"] * len(words)]), [*values, *words]
