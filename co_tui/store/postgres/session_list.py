"""The SQL of lists of sessions: each uses an index, so that only the listed rows are read."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from co_tui.store.postgres.log import Connection
from co_tui.store.postgres.ownership import OWN, VISIBLE
from co_tui.store.search.session_filter import filter_words, has_phrases
from co_tui.store.search.typed_terms import typed_terms
from co_tui.store.stored_values import SessionFolder, SessionRow

_NOT_IN_TRASH, _IN_TRASH = "s.trashed = ''", "s.trashed <> ''"
_PINNED: Final = f"(s.pinned AND {OWN})"
"""Others' pins are theirs."""
_SHOWN: Final = {"pinned": f"{_PINNED} AS pinned", "owner": f"CASE WHEN {OWN} THEN '' ELSE s.owner END AS owner"}
COLUMNS: Final = ", ".join(_SHOWN.get(column, f"s.{column}") for column in SessionRow._fields)
_GROUPS: Final = (
    (_PINNED, 0),
    (f"NOT {_PINNED} AND s.cwd = ANY(%s)", 1),
    (f"NOT {_PINNED} AND s.cwd <> ALL(%s)", 1),
)
"""In listing order, each with how often it names the folders."""
_ANOTHERS: Final = f"s.shared AND NOT {OWN}"
_FOLDERS: Final = (
    f"SELECT DISTINCT s.cwd, s.repository FROM sessions s WHERE {OWN} AND s.repository_id = %s"
    " AND s.repository_id <> '' LIMIT 1000"
)


def browse(
    connection: Connection,
    typed: str,
    cwds: Sequence[str],
    limit: int | None,
    *,
    in_trash: bool,
    from_end: bool = False,
) -> list[SessionRow]:
    """Pinned sessions first, then those of the folders, then all others, each newest first; or the last of them."""
    direction, step = ("ASC", -1) if from_end else ("DESC", 1)
    if in_trash:
        return _listed(connection, [_IN_TRASH], [], typed, limit, order=f"s.trashed {direction}")[::step]
    rows: list[SessionRow] = []
    for condition, values in _GROUPS[::step]:
        left = None if limit is None else limit - len(rows)
        if left is None or left > 0:
            of_folder = [list(cwds) for _ in range(values)]
            conditions, order = [_NOT_IN_TRASH, condition], f"s.updated {direction}"
            rows += _listed(connection, conditions, of_folder, typed, left, order=order)
    return rows[::step]


def count(connection: Connection, typed: str, *, in_trash: bool) -> int:
    condition = _IN_TRASH if in_trash else _NOT_IN_TRASH
    if typed_terms(typed).phrases:
        return len(_listed(connection, [condition], [], typed, None))
    where, values = _filtered([condition, VISIBLE], [], typed)
    row = connection.execute(f"SELECT count(*) FROM sessions s WHERE {where}", values).fetchone()
    return int(row[0]) if row else 0


def newest(
    connection: Connection, limit: int, cwds: Sequence[str], *, in_trash: bool, own: bool = False
) -> list[SessionRow]:
    """Of these folders, or of all if there are none; `own` leaves out what others share."""
    conditions = [_IN_TRASH if in_trash else _NOT_IN_TRASH, *(["s.cwd = ANY(%s)"] if cwds else [])]
    return _listed(connection, conditions, [list(cwds)] if cwds else [], "", limit, own=own)


def unused_since(connection: Connection, time: str) -> list[SessionRow]:
    conditions = [_NOT_IN_TRASH, "NOT s.pinned", "s.updated < %s", "s.came_in < %s"]
    return _listed(connection, conditions, [time, time], "", None, order="s.updated", own=True)


def trashed_before(connection: Connection, time: str) -> list[SessionRow]:
    conditions = [_IN_TRASH, "NOT s.pinned", "s.trashed < %s"]
    return _listed(connection, conditions, [time], "", None, order="s.trashed", own=True)


def folders(connection: Connection, repository_id: str) -> list[SessionFolder]:
    return [SessionFolder._make(row) for row in connection.execute(_FOLDERS, (repository_id,))]


def rows_of(connection: Connection, session_ids: Iterable[str]) -> dict[str, SessionRow]:
    """Those of the sessions that are there and can be read."""
    wanted = list(dict.fromkeys(session_ids))
    found = connection.execute(f"SELECT {COLUMNS} FROM sessions s WHERE s.id = ANY(%s) AND {VISIBLE}", (wanted,))
    return {row[0]: SessionRow._make(row) for row in found}


def _listed(
    connection: Connection,
    conditions: Sequence[str],
    values: Sequence[Any],
    typed: str,
    limit: int | None,
    order: str = "s.updated DESC",
    *,
    own: bool = False,
) -> list[SessionRow]:
    """One's own, then, unless `own` or of the trash, others' among them: each part is read from its own index."""
    where, filled = _filtered(conditions, values, typed)
    whose = (OWN,) if own or _IN_TRASH in conditions else (OWN, _ANOTHERS)
    parts = [
        f"(SELECT {COLUMNS}, s.filter_text FROM sessions s WHERE {each} AND {where} ORDER BY {order} LIMIT %s)"
        for each in whose
    ]
    sql = f"SELECT * FROM ({' UNION ALL '.join(parts)}) s ORDER BY {order} LIMIT %s"
    # The server finds the words of phrases, not whether they stand together.
    has_phrases_typed = bool(typed_terms(typed).phrases)
    most = None if has_phrases_typed else limit
    found = connection.execute(sql, (*[*filled, most] * len(parts), most))
    rows = (row[:-1] for row in found if not has_phrases_typed or has_phrases(row[-1], typed))
    return [SessionRow._make(row) for row in islice(rows, limit)]


def _filtered(conditions: Sequence[str], values: Sequence[Any], typed: str) -> tuple[str, list[Any]]:
    words = filter_words(typed)
    return " AND ".join([*conditions, *["strpos(s.filter_text, %s) > 0"] * len(words)]), [*values, *words]
