"""Reading sessions and events with plain sqlite3; cheap enough for the first paint."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from co_tui.events import Event, UsageInfo, share_of
from co_tui.events.event import stored
from co_tui.store.connect import connect_for_reading
from co_tui.store.errors import SessionNotFound, explained


class SessionRow(NamedTuple):
    """A session as it is listed; every figure is kept in its row, none is counted."""

    id: str
    title: str
    created: str
    updated: str
    model: str
    policy: str
    cwd: str
    repository: str
    branch: str
    last_seq: int
    turns: int
    messages: int
    compactions: int
    tokens: int | None
    token_limit: int | None
    cost: float

    @property
    def share(self) -> float | None:
        """How much of the window is filled, as last measured; None before that."""
        return share_of(self.tokens, self.token_limit) if self.tokens and self.token_limit else None

    @property
    def known_cost(self) -> float | None:
        """Of turns and summaries, in US dollars; None when nobody published a price for any of it."""
        return self.cost or None

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "cost": self.known_cost}


_COLUMNS = ", ".join(f"s.{column}" for column in SessionRow._fields)
_EVENT = "session_id, seq, type, timestamp, version, payload"


class Health(NamedTuple):
    """What `doctor` tells of the database."""

    exists: bool
    size_bytes: int = 0
    schema: int = 0
    sessions: int = 0
    events: int = 0
    verdict: str = "ok"


class Reader:
    """A read-only view of the database; without a database, an empty one."""

    def __init__(self, path: Path) -> None:
        """Raises `StoreError` for a database that is damaged or of a newer version."""
        self._path = path
        self._connection = connect_for_reading(path)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def sessions(self, limit: int = 50, search: str = "", cwd: str = "") -> list[SessionRow]:
        """The newest sessions first; with `search`, those whose title or messages hold its words."""
        conditions, values = [], []
        if search.strip():
            conditions.append(
                "(s.title LIKE ? ESCAPE '\\' OR s.id IN (SELECT t.session_id FROM message_texts_fts f"
                " JOIN message_texts t ON t.id = f.rowid WHERE message_texts_fts MATCH ?))"
            )
            values += [f"%{_like(search)}%", _fts_phrase(search)]
        if cwd:
            conditions.append("s.cwd = ?")
            values.append(cwd)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM sessions s {where} ORDER BY s.updated DESC LIMIT ?", (*values, limit)
        )
        return [SessionRow(*row) for row in rows]

    def browse(self, title: str, cwd: str, limit: int = 200) -> list[SessionRow]:
        """Sessions whose title holds the text, newest first; those of this folder before all others."""
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM sessions s WHERE s.title LIKE ? ESCAPE '\\'"
            " ORDER BY s.cwd = ? DESC, s.updated DESC LIMIT ?",
            (f"%{_like(title)}%", cwd, limit),
        )
        return [SessionRow(*row) for row in rows]

    def count(self) -> int:
        rows = self._rows("SELECT count(*) FROM sessions", ())
        return int(rows[0][0]) if rows else 0

    def session(self, name: str) -> SessionRow:
        """The session with that id, or the only one whose id starts or ends with it."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM sessions s WHERE s.id = ?", (name,))
        if not rows and name:
            pattern = _like(name)
            rows = self._rows(
                f"SELECT {_COLUMNS} FROM sessions s WHERE s.id LIKE ? ESCAPE '\\' OR s.id LIKE ? ESCAPE '\\' LIMIT 3",
                (f"{pattern}%", f"%{pattern}"),
            )
        if not rows:
            raise SessionNotFound(f"There is no session {name!r}. `co-tui sessions` lists them.")
        if len(rows) > 1:
            raise SessionNotFound(f"Several sessions answer to {name!r}: {rows[0][0]}, {rows[1][0]} … Give more of it.")
        return SessionRow(*rows[0])

    def latest(self, cwd: str) -> SessionRow | None:
        """The newest session of this folder, else the newest of all."""
        found = self.sessions(limit=1, cwd=cwd) or self.sessions(limit=1)
        return found[0] if found else None

    def events(self, session_id: str, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """The log in order, from just after one seq up to and including another."""
        if self._connection is None:
            return
        try:
            cursor = self._connection.execute(
                f"SELECT {_EVENT} FROM events WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq",
                (session_id, after, upto if upto is not None else 1 << 62),
            )
            for row in cursor:
                yield stored(*row)
        except sqlite3.Error as error:
            raise explained(error, self._path) from error

    def last_events(self, session_id: str, count: int, before: int | None = None) -> list[Event]:
        """The last `count` events, oldest first; with `before`, of those below that seq."""
        rows = self._rows(
            f"SELECT {_EVENT} FROM events WHERE session_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
            (session_id, before if before is not None else 1 << 62, count),
        )
        return [stored(*row) for row in reversed(rows)]

    def usage(self, session_id: str) -> UsageInfo | None:
        """The session's newest measurement, from its row."""
        rows = self._rows("SELECT usage FROM sessions WHERE id = ?", (session_id,))
        if not rows or not rows[0][0]:
            return None
        fact = stored(session_id, None, UsageInfo.TYPE, "", UsageInfo.VERSION, rows[0][0]).fact
        return fact if isinstance(fact, UsageInfo) else None

    def prompts(self, limit: int) -> list[str]:
        """The user's latest prompts of all sessions, oldest first, each once."""
        rows = self._rows("SELECT text FROM message_texts WHERE role = 'user' ORDER BY id DESC LIMIT ?", (limit,))
        return list(dict.fromkeys(row[0] for row in rows))[::-1]

    def drafts(self, session_id: str) -> dict[str, str]:
        """What was being written when the session was last left, by slot."""
        return dict(self._rows("SELECT slot, body FROM drafts WHERE session_id = ?", (session_id,)))

    def health(self) -> Health:
        """A look at the whole file; takes longer the larger it is."""
        if self._connection is None:
            return Health(exists=self._path.exists())
        verdict = self._rows("PRAGMA integrity_check(1)", ())[0][0]
        return Health(
            exists=True,
            size_bytes=self._path.stat().st_size,
            schema=self._rows("PRAGMA user_version", ())[0][0],
            sessions=self._rows("SELECT count(*) FROM sessions", ())[0][0],
            events=self._rows("SELECT count(*) FROM events", ())[0][0],
            verdict=verdict,
        )

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise explained(error, self._path) from error


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _fts_phrase(text: str) -> str:
    """Every word must occur; quoting keeps FTS operators in the user's text from meaning anything."""
    words = text.split()
    return " ".join(f'"{word.replace(chr(34), chr(34) * 2)}"*' for word in words)
