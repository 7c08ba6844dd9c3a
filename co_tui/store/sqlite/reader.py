"""Reading sessions and events with plain sqlite3; cheap enough for the first paint."""

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from co_tui.events import Event, UsageInfo
from co_tui.events.event import stored
from co_tui.store.errors import StoreError
from co_tui.store.searchable import SAID
from co_tui.store.sqlite.connect import connect_for_reading
from co_tui.store.sqlite.failures import explained
from co_tui.store.sqlite.rows import ALL_SEQS, REPLY_ROWS, REPLY_SLOTS
from co_tui.store.values import FoundMessages, Health, SessionRow, only_one

_COLUMNS = ", ".join(f"s.{column}" for column in SessionRow._fields)
_SAID = ", ".join(f"'{role}'" for role in sorted(SAID))
_EVENT = "session_id, seq, type, timestamp, version, payload"


class Reader:
    """A read-only view of the database; without a database, an empty one."""

    def __init__(self, path: Path) -> None:
        """Raises `StoreError` for a database that is damaged or of a newer version."""
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._connected()

    def close(self) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        if self._connection is not None:
            self.close()
            warn(f"A reader of {self._path} was never closed.", ResourceWarning, source=self)

    def sessions(self, limit: int = 50, search: str = "", cwd: str = "") -> list[SessionRow]:
        """The newest sessions first; with `search`, those whose title or messages hold its words."""
        conditions, values = [], []
        if search.strip():
            conditions.append(
                "(s.title LIKE ? ESCAPE '\\' OR s.id IN (SELECT t.session_id FROM message_texts_fts f"
                f" JOIN message_texts t ON t.id = f.rowid WHERE message_texts_fts MATCH ? AND t.role IN ({_SAID})))"
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
        return only_one([SessionRow(*row) for row in rows], name)

    def latest(self, cwd: str) -> SessionRow | None:
        """The newest session of this folder, else the newest of all."""
        found = self.sessions(limit=1, cwd=cwd) or self.sessions(limit=1)
        return found[0] if found else None

    def events(self, session_id: str, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """The log in order, from just after one seq up to and including another."""
        connection = self._connected()
        if connection is None:
            return
        try:
            cursor = connection.execute(
                f"SELECT {_EVENT} FROM events WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq",
                (session_id, after, upto if upto is not None else ALL_SEQS),
            )
            for row in cursor:
                yield stored(*row)
        except sqlite3.Error as error:
            raise explained(error, self._path) from error

    def last_events(self, session_id: str, count: int, before: int | None = None) -> list[Event]:
        """The last `count` events, oldest first; with `before`, of those below that seq."""
        rows = self._rows(
            f"SELECT {_EVENT} FROM events WHERE session_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
            (session_id, before if before is not None else ALL_SEQS, count),
        )
        return [stored(*row) for row in reversed(rows)]

    def messages_with(self, session_id: str, words: Sequence[str], *, but_of_tool: str | None = None) -> FoundMessages:
        """The messages that hold the most of these words, newest first; the index finds them."""
        connection = self._connected()
        if connection is None:
            return FoundMessages(0, ())
        from co_tui.store.sqlite.word_search import messages_with

        try:
            return messages_with(connection, session_id, words, but_of_tool)
        except sqlite3.Error as error:
            raise explained(error, self._path) from error

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

    def half_reply(self, session_id: str) -> list[str]:
        """What was saved of a reply that is not an event yet, in order."""
        return [body for (body,) in self._rows(REPLY_ROWS, (session_id, *REPLY_SLOTS))]

    def health(self) -> Health:
        """A look at the whole file; takes longer the larger it is."""
        if self._connected() is None:
            return Health(exists=self._path.exists())
        verdict = self._rows("PRAGMA integrity_check(1)", ())[0][0]
        return Health(
            exists=True,
            size_bytes=self._path.stat().st_size,
            sessions=self._rows("SELECT count(*) FROM sessions", ())[0][0],
            events=self._rows("SELECT count(*) FROM events", ())[0][0],
            verdict=verdict,
            open_to_others=os.name == "posix" and bool(self._path.stat().st_mode & 0o077),
        )

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        connection = self._connected()
        if connection is None:
            return []
        try:
            return connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise explained(error, self._path) from error

    def _connected(self) -> sqlite3.Connection | None:
        """The connection; None while there is no database yet."""
        if self._closed:
            raise StoreError(f"The database {self._path} is closed already.")
        if self._connection is None:
            self._connection = connect_for_reading(self._path)
        return self._connection


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _fts_phrase(text: str) -> str:
    """Every word must occur; quoting keeps FTS operators in the user's text from meaning anything."""
    words = text.split()
    return " ".join(f'"{word.replace(chr(34), chr(34) * 2)}"*' for word in words)
