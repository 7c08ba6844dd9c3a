"""The sessions that other users share: listed here, their text fetched ahead up to a limit, or when one is opened."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from co_tui.store.sqlite import synced_rows
from co_tui.store.store_errors import StoreError
from co_tui.store.sync.server import server_rows
from co_tui.store.sync.server.checked_rows import BadRows
from co_tui.store.sync.server.server import Connection
from co_tui.store.sync.server.server_rows import Listing

if TYPE_CHECKING:
    from co_tui.store.sqlite.store import SqliteStore

MOST_BYTES_EACH: Final = 5_000_000
MOST_BYTES_OF_ALL: Final = 100_000_000
"""How much text is fetched before it is asked for."""
MOST_BYTES_ASKED: Final = 200_000_000
"""The largest session that is fetched at all."""


class OthersSessions:
    """Used by the sync's thread."""

    def __init__(self, store: "SqliteStore", report: Callable[[str], None]) -> None:
        self._store, self._report = store, report

    def note(self, listing: Listing, among: Collection[str] | None = None) -> None:
        """What is shared by and with this user is this now, of all sessions or `among` some."""
        writing = self._store.writing()
        writing.change(partial(synced_rows.list_others, rows=listing.others, among=among)).result()
        if among is None:
            writing.change(partial(synced_rows.note_shared, shared=listing.shared)).result()

    def fetch(self, connection: Connection, session_id: str, most_bytes: int = MOST_BYTES_ASKED) -> int:
        """Fetch the text of a session; returns its bytes, 0 if it is too large. Raises `StoreError` and `BadRows`."""
        with self._store.reading() as reading:
            last = reading.last_events(session_id, 1)
        after = (last[0].seq or 0) if last else 0
        size = server_rows.size(connection, session_id, after)
        if size > most_bytes:
            return 0
        if events := server_rows.events(connection, session_id, after):
            self._store.writing().replace_tail(session_id, after, events).result()
        return size

    def fetch_some(self, connection: Connection) -> Iterator[None]:
        """Fetch what is not here yet, the newest first."""
        left = MOST_BYTES_OF_ALL
        with self._store.reading() as reading:
            missing = sorted(reading.not_fetched(), reverse=True)
        for session_id in missing:
            left -= self._fetch_ahead(connection, session_id, min(left, MOST_BYTES_EACH))
            yield

    def fetch_these(self, connection: Connection, session_ids: Sequence[str]) -> None:
        for session_id in session_ids:
            self._fetch_ahead(connection, session_id, MOST_BYTES_EACH)

    def _fetch_ahead(self, connection: Connection, session_id: str, most_bytes: int) -> int:
        """What cannot be fetched is left out, with a sentence."""
        try:
            return self.fetch(connection, session_id, most_bytes)
        except (StoreError, BadRows) as error:
            self._report(f"Session {session_id} of another user is left out: {error}")
            return 0
