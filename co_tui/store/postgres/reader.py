"""Reading sessions and events, on connections of their own: a question never waits for the writer."""

import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import psycopg

from co_tui.events import Event, UsageInfo
from co_tui.events.event import stored
from co_tui.store.postgres import session_list
from co_tui.store.postgres.bulk import ALL_SEQS, EVENTS_AT_ONCE
from co_tui.store.postgres.leases import live_sessions
from co_tui.store.postgres.log import Connection, plain_text
from co_tui.store.postgres.ownership import OWN, VISIBLE
from co_tui.store.postgres.postgres_failures import explained, is_lost
from co_tui.store.postgres.read_connections import ReadConnections
from co_tui.store.store_errors import QueryCancelled, StoreError
from co_tui.store.stored_values import (
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

T = TypeVar("T")

CANCEL_S: Final = 5.0
"""How long the server may take to hear that a query is no longer wanted."""

_EVENT: Final = (
    "SELECT e.session_id, e.seq, e.type, e.timestamp, e.version, e.payload FROM sessions s"
    f" JOIN events e ON e.session_id = s.id WHERE s.id = %s AND {VISIBLE}"
)
_SPENT_SINCE: Final = (
    "SELECT coalesce(sum(e.cost), 0) FROM events e JOIN sessions s ON s.id = e.session_id"
    f" WHERE {OWN} AND e.cost IS NOT NULL AND e.timestamp >= %s AND e.timestamp >= s.came_in"
    " AND e.seq > coalesce((SELECT max(f.seq) FROM events f"
    " WHERE f.session_id = s.id AND f.type = 'session.fork'), 0)"
)
_HEALTH: Final = (
    "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM events), (SELECT count(*) FROM sessions s"
    " WHERE s.last_seq <> (SELECT coalesce(max(e.seq), 0) FROM events e WHERE e.session_id = s.id))"
)
_SIZE: Final = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n"
    " ON n.oid = c.relnamespace WHERE n.nspname = 'co_tui' AND c.relkind = 'r'"
)


class Reader:
    """A view of the database. Concurrent queries wait for each other; a lost connection is opened again."""

    def __init__(self, connections: ReadConnections) -> None:
        self._connections = connections
        self._connection: Connection | None = None
        self._closed = self._cancelled = False
        self._lock = threading.Lock()
        self._cancelling: threading.Thread | None = None
        self._starting_to_cancel = threading.Lock()

    def cancel(self) -> None:
        """Stop the running query of another thread, and all later ones. Does not wait for the server."""
        self._cancelled = True
        with self._starting_to_cancel:
            connection = None if self._closed or self._cancelling is not None else self._connection
            if connection is not None:
                self._cancelling = threading.Thread(target=_cancel, args=(connection,), name="cancelling", daemon=True)
                self._cancelling.start()

    def close(self) -> None:
        with self._lock:
            with self._starting_to_cancel:
                self._closed = True
            if self._cancelling is not None:  # else it could stop a query of the connection's next user
                self._cancelling.join()
            if self._connection is not None:
                self._connections.give_back(self._connection)
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        if self._connection is not None:
            self.close()
            warn(f"A reader of {self._connections.location} was never closed.", ResourceWarning, source=self)

    def sessions(self, limit: int = 50, search: str = "", cwd: str = "", *, in_trash: bool = False) -> list[SessionRow]:
        if not search.strip():
            return self._ask(
                lambda connection: session_list.newest(connection, limit, _folders(cwd), in_trash=in_trash)
            )
        from co_tui.store.postgres.postgres_search import sessions_with

        return self._ask(
            lambda connection: sessions_with(connection, search, limit, plain_text(cwd), in_trash=in_trash)
        )

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
        ask = partial(session_list.browse, in_trash=in_trash, from_end=from_end)
        return self._ask(lambda connection: ask(connection, typed, _folders(cwd, also), limit))

    def count(self, typed: str = "", *, in_trash: bool = False) -> int:
        return self._ask(lambda connection: session_list.count(connection, typed, in_trash=in_trash))

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
        from co_tui.store.postgres.postgres_search import search
        from co_tui.store.search.message_search import Search
        from co_tui.store.search.search_words import SearchWords

        asked = Search(SearchWords(typed), by_relevance, limit, page, once_per_session)
        return self._ask(lambda connection: search(connection, asked, session_id, in_trash))

    def count_found(
        self, typed: str, *, most: int = 1000, session_id: str = "", in_trash: bool = False
    ) -> "FoundCount":
        from co_tui.store.postgres.postgres_search import candidates
        from co_tui.store.search.message_search import counted
        from co_tui.store.search.search_words import SearchWords

        words = SearchWords(typed)
        ask = partial(candidates, words=words, session_id=session_id, in_trash=in_trash)
        return self._ask(lambda connection: counted(words, ask(connection), most))

    def preview(self, session_id: str, count: int = 6, chars: int = 1000) -> Preview:
        """The beginning and end of a session, from its texts, without its events."""
        of_session = (
            f"FROM sessions s JOIN message_texts m ON m.session_id = s.id WHERE s.id = %s AND {VISIBLE} AND m.role"
        )
        first = f"SELECT left(m.text, %s) {of_session} = 'user' ORDER BY m.seq, m.part LIMIT 1"
        latest = (
            f"SELECT m.seq, m.role, left(m.text, %s) {of_session} IN ('user', 'assistant')"
            " ORDER BY m.seq DESC, m.part DESC LIMIT %s"
        )

        def ask(connection: Connection) -> Preview:
            name = plain_text(session_id)
            with connection.pipeline():  # both in one round trip
                opening = connection.execute(first.encode(), (chars, name))
                last = connection.execute(latest.encode(), (chars, name, count))
            prompt = opening.fetchone()
            return Preview(prompt[0] if prompt else "", tuple(PreviewLine(*row) for row in reversed(last.fetchall())))

        return self._ask(ask)

    def session(self, name: str) -> SessionRow:
        visible = f"SELECT {session_list.COLUMNS} FROM sessions s WHERE {VISIBLE}"
        rows = self._rows(f"{visible} AND s.id = %s", (name,))
        if not rows and name:
            pattern = _like(name)
            rows = self._rows(
                f"{visible} AND (s.id ILIKE %s OR s.id ILIKE %s) LIMIT 3",
                (f"{pattern}%", f"%{pattern}"),
            )
        return only_one([SessionRow._make(row) for row in rows], name)

    def unused_since(self, time: str) -> list[SessionRow]:
        return self._ask(lambda connection: session_list.unused_since(connection, time))

    def trashed_before(self, time: str) -> list[SessionRow]:
        return self._ask(lambda connection: session_list.trashed_before(connection, time))

    def folders(self, repository_id: str) -> list[SessionFolder]:
        return self._ask(lambda connection: session_list.folders(connection, repository_id)) if repository_id else []

    def latest(self, cwd: str, *, also: Sequence[str] = (), without: Collection[str] = ()) -> SessionRow | None:
        ask = partial(session_list.newest, limit=1 + len(without), in_trash=False, own=True)
        here = _folders(cwd, also)
        found = self._ask(lambda connection: ask(connection, cwds=here) or ask(connection, cwds=()))
        return next((row for row in found if row.id not in without), None)

    def events(self, session_id: str, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        select = f"{_EVENT} AND e.seq > %s AND e.seq <= %s ORDER BY e.seq LIMIT %s"
        last = upto if upto is not None else ALL_SEQS
        is_more = True
        while is_more and (rows := self._rows(select, (session_id, after, last, EVENTS_AT_ONCE))):
            yield from (stored(*row) for row in rows)
            after, is_more = rows[-1][1], len(rows) == EVENTS_AT_ONCE

    def last_events(self, session_id: str, count: int, before: int | None = None) -> list[Event]:
        rows = self._rows(
            f"{_EVENT} AND e.seq < %s ORDER BY e.seq DESC LIMIT %s",
            (session_id, before if before is not None else ALL_SEQS, count),
        )
        return [stored(*row) for row in reversed(rows)]

    def messages_with(self, session_id: str, words: Sequence[str], *, except_tool: str | None = None) -> FoundMessages:
        from co_tui.store.postgres.postgres_search import messages_with

        return self._ask(lambda connection: messages_with(connection, session_id, words, except_tool))

    def usage(self, session_id: str) -> UsageInfo | None:
        rows = self._rows(f"SELECT s.usage FROM sessions s WHERE s.id = %s AND {VISIBLE}", (session_id,))
        if not rows or not rows[0][0]:
            return None
        fact = stored(session_id, None, UsageInfo.TYPE, "", UsageInfo.VERSION, rows[0][0]).fact
        return fact if isinstance(fact, UsageInfo) else None

    def prompts(self, limit: int, search: str = "", cwd: str = "") -> list[str]:
        wanted, values = f"m.role = 'user' AND s.trashed = '' AND {OWN}", []
        if search:
            wanted, values = f"{wanted} AND m.text ILIKE %s", [f"%{_like(search)}%"]
        if cwd:
            wanted, values = f"{wanted} AND s.cwd = %s", [*values, cwd]
        sql = (
            "SELECT m.text FROM message_texts m JOIN sessions s ON s.id = m.session_id"
            f" WHERE {wanted} ORDER BY m.id DESC LIMIT %s"
        )
        return newest_distinct(limit, lambda most: [text for (text,) in self._rows(sql, (*values, most))])

    def spent_since(self, time: str) -> float:
        return float(self._rows(_SPENT_SINCE, (time,))[0][0])

    def partial_reply(self, session_id: str) -> list[str]:
        rows = self._rows(
            "SELECT d.body FROM sessions s JOIN drafts d ON d.session_id = s.id"
            f" WHERE s.id = %s AND {VISIBLE} ORDER BY d.number",
            (session_id,),
        )
        return [body for (body,) in rows]

    def claimed(self) -> frozenset[str]:
        return self._ask(live_sessions)

    def health(self, *, full: bool = True) -> Health:
        """Whether every session's row agrees with its log; the server answers that from an index."""
        sessions, events, wrong = self._rows(_HEALTH, ())[0]
        return Health(
            exists=True,
            size_bytes=self._size(),
            sessions=sessions,
            events=events,
            verdict=f"{wrong} sessions whose log has gaps at the end" if wrong else "ok",
        )

    def _size(self) -> int:
        """0 where the server does not know."""
        try:
            return int(self._rows(_SIZE, ())[0][0])
        except StoreError:
            return 0

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        plain = tuple(plain_text(value) if isinstance(value, str) else value for value in values)
        return self._ask(lambda connection: connection.execute(sql.encode(), plain).fetchall())

    def _ask(self, question: Callable[[Connection], T]) -> T:
        """Run a query; once more on a new connection when the old one was lost."""
        with self._lock:
            try:
                return self._asked(question)
            except _Lost:
                pass
            try:
                return self._asked(question)
            except _Lost as lost:
                raise lost.reason from None

    def _asked(self, question: Callable[[Connection], T]) -> T:
        if self._closed:
            raise StoreError(f"Database {self._connections.location} is already closed.")
        if self._connection is None:
            self._connection = self._connections.take()
        connection = self._connection
        try:
            answer = question(connection)
            if self._cancelled:
                raise QueryCancelled()
            return answer
        except psycopg.Error as error:
            if self._cancelled:
                raise QueryCancelled() from error
            reason = explained(error, self._connections.location)
            if is_lost(error, connection):
                connection.close()
                self._connection = None
                raise _Lost(reason) from error
            raise reason from error


def _cancel(connection: Connection) -> None:
    with suppress(psycopg.Error):
        connection.cancel_safe(timeout=CANCEL_S)


class _Lost(Exception):
    def __init__(self, reason: StoreError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _folders(cwd: str, also: Sequence[str] = ()) -> list[str]:
    return [plain_text(each) for each in (cwd, *also) if each]


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
