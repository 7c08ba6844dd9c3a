"""Reading sessions and events with plain sqlite3; cheap enough for the first paint."""

import sqlite3
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from co_tui.events import Event, UsageInfo
from co_tui.events.event import stored
from co_tui.events.model_names import EXAMPLE_MODEL
from co_tui.store.sqlite import session_list, synced_rows
from co_tui.store.sqlite.connect import connect_for_reading
from co_tui.store.sqlite.deletions import deletion_of, deletions
from co_tui.store.sqlite.schema import ALL_SEQS, REPLY_ROWS, REPLY_SLOTS, seen
from co_tui.store.sqlite.spending import SPENT_SINCE
from co_tui.store.sqlite.sqlite_failures import explained
from co_tui.store.store_errors import QueryCancelled, StoreError
from co_tui.store.stored_values import (
    Deletion,
    FoundMessages,
    Health,
    Preview,
    PreviewLine,
    SessionFolder,
    SessionRow,
    newest_distinct,
    only_one,
)

if TYPE_CHECKING:
    from co_tui.store.search.message_search import FoundCount, NextPage, SearchPage
    from co_tui.store.sqlite.shared_connection import SharedConnection

T = TypeVar("T")

EVENTS_AT_ONCE = 500
QUICKLY_CHECKED_BYTES = 50_000_000
"""A larger file is checked in part unless asked: reading a gigabyte takes seconds."""
STEPS_BETWEEN_CHECKS = 2_000
"""Of SQLite's virtual machine: a cancelled query goes on for about a millisecond."""
_IS_RECORDED = (
    "EXISTS (SELECT 1 FROM events AS first WHERE first.session_id = message_texts.session_id AND first.seq = 1"
    f""" AND instr(first.payload, '"{EXAMPLE_MODEL}"') > 0)"""
    " AND NOT EXISTS (SELECT 1 FROM events AS opened WHERE opened.session_id = message_texts.session_id"
    " AND opened.seq < message_texts.seq AND opened.type IN ('session.resume', 'session.fork'))"
)
"""Whether a text is of the example's recording: the user did not write it."""
_EVENT = "session_id, seq, type, timestamp, version, payload"
_OF_SESSION = f"events WHERE session_id = ? AND {seen('events')}"


class Reader:
    """A read-only view of the database; empty without a database. Concurrent queries wait for each other."""

    def __init__(self, path: Path, locks: Path | None = None, shared: "SharedConnection | None" = None) -> None:
        """Raises `StoreError` for a database that is damaged or of a newer version.

        `shared` is the connection to a database in memory, which outlives the reader.
        """
        self._path = path
        self._shared = shared
        self._locks = locks
        self._connection: sqlite3.Connection | None = None
        self._closed = self._cancelled = False
        # Two threads in one connection whose queries call back would deadlock.
        self._lock = shared.lock if shared is not None else threading.Lock()
        self._connected()

    def cancel(self) -> None:
        """Stop the running query of another thread, and all later ones."""
        self._cancelled = True

    def close(self) -> None:
        with self._lock:
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

    def sessions(self, limit: int = 50, search: str = "", cwd: str = "", *, in_trash: bool = False) -> list[SessionRow]:
        """The newest sessions first; with `search`, those in which its words were said last."""
        if not search.strip():
            return self._ask(
                lambda connection: session_list.newest(connection, limit, _folders(cwd), in_trash=in_trash), []
            )
        return self._ask(lambda connection: self._sessions_with(connection, search, limit, cwd, in_trash), [])

    def _sessions_with(
        self, connection: sqlite3.Connection, search: str, limit: int, cwd: str, in_trash: bool
    ) -> list[SessionRow]:
        from co_tui.store.sqlite.sqlite_search import sessions_with

        return sessions_with(connection, search, limit, cwd, in_trash=in_trash)

    def browse(
        self,
        typed: str,
        cwd: str,
        limit: int = 200,
        *,
        also: Sequence[str] = (),
        in_trash: bool = False,
        from_end: bool = False,
    ) -> list[SessionRow]:
        """Sessions whose title or folder holds the words; pinned ones, then those of this folder, then all others."""
        ask = partial(session_list.browse, in_trash=in_trash, from_end=from_end)
        return self._ask(lambda connection: ask(connection, typed, (cwd, *also), limit), [])

    def count(self, typed: str = "", *, in_trash: bool = False) -> int:
        return self._ask(lambda connection: session_list.count(connection, typed, in_trash=in_trash), 0)

    def search(
        self,
        typed: str,
        *,
        by_relevance: bool = False,
        limit: int = 50,
        page: "NextPage | None" = None,
        session_id: str = "",
        once_per_session: bool = False,
        in_trash: bool = False,
    ) -> "SearchPage":
        """Messages of all sessions that hold all words."""
        from co_tui.store.search.message_search import Search, SearchPage
        from co_tui.store.search.search_words import SearchWords
        from co_tui.store.sqlite.sqlite_search import search

        asked = Search(SearchWords(typed), by_relevance, limit, page, once_per_session)
        return self._ask(lambda connection: search(connection, asked, session_id, in_trash), SearchPage())

    def count_found(
        self, typed: str, *, most: int = 1000, session_id: str = "", in_trash: bool = False
    ) -> "FoundCount":
        from co_tui.store.search.message_search import FoundCount, counted
        from co_tui.store.search.search_words import SearchWords
        from co_tui.store.sqlite.sqlite_search import candidates

        words = SearchWords(typed)
        return self._ask(
            lambda connection: counted(
                words, candidates(connection, words, session_id=session_id, in_trash=in_trash), most
            ),
            FoundCount(),
        )

    def preview(self, session_id: str, count: int = 6, chars: int = 1000) -> Preview:
        """The beginning and end of a session, from its texts, without its events."""
        of_session = f"FROM message_texts WHERE session_id = ? AND {seen('message_texts')} AND role"
        first = self._rows(
            f"SELECT substr(text, 1, ?) {of_session} = 'user' ORDER BY seq, id LIMIT 1", (chars, session_id)
        )
        last = self._rows(
            f"SELECT seq, role, substr(text, 1, ?) {of_session} IN ('user', 'assistant')"
            " ORDER BY seq DESC, id DESC LIMIT ?",
            (chars, session_id, count),
        )
        return Preview(first[0][0] if first else "", tuple(PreviewLine(*row) for row in reversed(last)))

    def session(self, name: str) -> SessionRow:
        """The session with that id, or the only one whose id starts or ends with it."""
        rows = self._rows(f"SELECT {session_list.COLUMNS} FROM sessions s WHERE s.id = ?", (name,))
        if not rows and name:
            pattern = _like(name)
            rows = self._rows(
                f"SELECT {session_list.COLUMNS} FROM sessions s"
                " WHERE s.id LIKE ? ESCAPE '\\' OR s.id LIKE ? ESCAPE '\\' LIMIT 3",
                (f"{pattern}%", f"%{pattern}"),
            )
        return only_one([session_list.row_of(row) for row in rows], name)

    def unused_since(self, time: str) -> list[SessionRow]:
        return self._ask(lambda connection: session_list.unused_since(connection, time), [])

    def trashed_before(self, time: str) -> list[SessionRow]:
        return self._ask(lambda connection: session_list.trashed_before(connection, time), [])

    def folders(self, repository_id: str) -> list[SessionFolder]:
        return self._ask(lambda connection: session_list.folders(connection, repository_id), [])

    def latest(self, cwd: str, *, also: Sequence[str] = (), without: Collection[str] = ()) -> SessionRow | None:
        """The newest session of this folder or the others, or the newest of all if there are none."""
        newest = partial(session_list.newest, limit=1 + len(without), in_trash=False, own=True)

        def ask(connection: sqlite3.Connection) -> list[SessionRow]:
            return newest(connection, cwds=_folders(cwd, also)) or newest(connection, cwds=())

        found: list[SessionRow] = self._ask(ask, [])
        return next((row for row in found if row.id not in without), None)

    def events(self, session_id: str, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """The log in order, from just after one seq up to and including another."""
        select = f"SELECT {_EVENT} FROM {_OF_SESSION} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        last = upto if upto is not None else ALL_SEQS
        while rows := self._rows(select, (session_id, after, last, EVENTS_AT_ONCE)):
            yield from (stored(*row) for row in rows)
            after = rows[-1][1]

    def last_events(self, session_id: str, count: int, before: int | None = None) -> list[Event]:
        """The last `count` events, oldest first; with `before`, of those below that seq."""
        rows = self._rows(
            f"SELECT {_EVENT} FROM {_OF_SESSION} AND seq < ? ORDER BY seq DESC LIMIT ?",
            (session_id, before if before is not None else ALL_SEQS, count),
        )
        return [stored(*row) for row in reversed(rows)]

    def messages_with(self, session_id: str, words: Sequence[str], *, except_tool: str | None = None) -> FoundMessages:
        """The messages that hold the most of these words, newest first; the index finds them."""
        from co_tui.store.sqlite.word_search import messages_with

        return self._ask(
            lambda connection: messages_with(connection, session_id, words, except_tool), FoundMessages(0, ())
        )

    def usage(self, session_id: str) -> UsageInfo | None:
        """The session's newest measurement, from its row."""
        rows = self._rows("SELECT usage FROM sessions WHERE id = ?", (session_id,))
        if not rows or not rows[0][0]:
            return None
        fact = stored(session_id, None, UsageInfo.TYPE, "", UsageInfo.VERSION, rows[0][0]).fact
        return fact if isinstance(fact, UsageInfo) else None

    def prompts(self, limit: int, search: str = "", cwd: str = "") -> list[str]:
        """The user's latest prompts of all sessions, or of a folder's, that hold a text; oldest first, each once."""
        wanted = (
            "role = 'user' AND session_id NOT IN (SELECT id FROM sessions WHERE trashed <> '' OR owner <> '')"
            f" AND {seen('message_texts')}"
        )
        values: list[str] = []
        if search:
            wanted, values = f"{wanted} AND holds(text, ?)", [search.lower()]
        if cwd:
            wanted, values = f"{wanted} AND session_id IN (SELECT id FROM sessions WHERE cwd = ?)", [*values, cwd]
        sql = f"SELECT text FROM message_texts WHERE {wanted} AND NOT ({_IS_RECORDED}) ORDER BY id DESC LIMIT ?"
        return newest_distinct(limit, lambda most: [text for (text,) in self._rows(sql, (*values, most))])

    def spent_since(self, time: str) -> float:
        rows = self._rows(SPENT_SINCE, {"time": time})
        return float(rows[0][0]) if rows else 0.0

    def partial_reply(self, session_id: str) -> list[str]:
        """What was saved of a reply that is not an event yet, in order."""
        return [body for (body,) in self._rows(REPLY_ROWS, (session_id, *REPLY_SLOTS))]

    def owner(self, session_id: str) -> str | None:
        """The user a session belongs to, empty for this one; None if there is no such session."""
        rows = self._rows("SELECT owner FROM sessions WHERE id = ?", (session_id,))
        return str(rows[0][0]) if rows else None

    def is_from_elsewhere(self, session_id: str) -> bool:
        return bool(self._rows("SELECT 1 FROM sessions WHERE id = ? AND pulled", (session_id,)))

    def deletions(self) -> list[Deletion]:
        return self._ask(deletions, [])

    def deletion(self, session_id: str) -> Deletion | None:
        return self._ask(lambda connection: deletion_of(connection, session_id), None)

    def not_fetched(self) -> frozenset[str]:
        found: list[str] = self._ask(synced_rows.not_fetched, [])
        return frozenset(found)

    def unpushed(self, server: str) -> list[str]:
        """The user's sessions that a server lacks something of, as far as is known; newest first."""
        return self._ask(lambda connection: synced_rows.unpushed(connection, server), [])

    def pushed_seqs(self, server: str) -> dict[str, int]:
        """The same of each session."""
        return self._ask(lambda connection: synced_rows.pushed_seqs(connection, server), {})

    def last_events_of_all(self) -> dict[str, tuple[int, str]]:
        """Seq and time of the last event of each session of this user."""
        return self._ask(synced_rows.last_events_of_all, {})

    def last_seq(self, session_id: str) -> int | None:
        """None if there is no such session."""
        rows = self._rows("SELECT last_seq FROM sessions WHERE id = ?", (session_id,))
        return int(rows[0][0]) if rows else None

    def pushed_seq(self, server: str, session_id: str) -> int:
        """The last event that this machine and the server have in common, as far as is known."""
        return self._ask(lambda connection: synced_rows.pushed_seq(connection, server, session_id), 0)

    def health(self, *, full: bool = True) -> Health:
        """A check of the whole file, which reads all of it; without `full`, of a large one's list of sessions."""
        if self._connected() is None:
            return Health(exists=self._shared is not None or self._path.exists())
        pages, page_bytes = self._rows("PRAGMA page_count", ())[0][0], self._rows("PRAGMA page_size", ())[0][0]
        is_partial = not full and pages * page_bytes > QUICKLY_CHECKED_BYTES
        verdict = self._rows(f"PRAGMA integrity_check({'sessions' if is_partial else 1})", ())[0][0]
        status = self._path.stat() if self._shared is None else None
        return Health(
            exists=True,
            size_bytes=status.st_size if status else pages * page_bytes,
            sessions=self._rows("SELECT count(*) FROM sessions", ())[0][0],
            events=self._rows("SELECT count(*) FROM events", ())[0][0],
            verdict=verdict,
            is_partial=is_partial,
            open_to_others=status is not None and bool(status.st_mode & 0o077),
        )

    def _rows(self, sql: str, values: tuple[Any, ...] | Mapping[str, Any]) -> list[Any]:
        return self._ask(lambda connection: connection.execute(sql, values).fetchall(), [])

    def _ask(self, question: Callable[[sqlite3.Connection], T], without: T) -> T:
        """Run a query; returns `without` while there is no database."""
        with self._lock:
            connection = self._connected()
            if connection is None:
                return without
            # Also what lets Ctrl+C in between: its handler runs in Python code only.
            connection.set_progress_handler(self._is_cancelled, STEPS_BETWEEN_CHECKS)
            try:
                return question(connection)
            except sqlite3.Error as error:
                if self._cancelled:
                    raise QueryCancelled() from error
                raise explained(error, self._path) from error
            finally:
                connection.set_progress_handler(None, 0)

    def _is_cancelled(self) -> bool:
        return self._cancelled

    def _connected(self) -> sqlite3.Connection | None:
        """The connection; None while there is no database yet."""
        if self._closed:
            raise StoreError(f"Database {self._path} is already closed.")
        if self._shared is not None:
            return self._shared.current()
        if self._connection is None:
            self._connection = connect_for_reading(self._path, self._locks)
        return self._connection


def _folders(cwd: str, also: Sequence[str] = ()) -> list[str]:
    return [each for each in (cwd, *also) if each]


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
