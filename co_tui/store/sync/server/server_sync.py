"""Push sessions to a server and pull them from it, in one thread with one connection.

Everything here may be repeated: a push or a pull that was cut off is made again. What is not pushed yet is known from
the disk, so that the next process continues what a killed one left.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedTooLong
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from co_tui.paths import Paths
from co_tui.store.store_errors import SessionBusy, StoreError
from co_tui.store.sync.files.file_sync import ServerFiles
from co_tui.store.sync.files.synced_file import session_files
from co_tui.store.sync.server.asks import Asks
from co_tui.store.sync.sync import REFRESH_S, Unpushed

if TYPE_CHECKING:
    from co_tui.store.sqlite.store import SqliteStore
    from co_tui.store.sync.server.link import Link
    from co_tui.store.sync.server.rounds import Rounds
    from co_tui.store.sync.server.server import Connection, Server
    from co_tui.store.sync.server.waker import Waker

T = TypeVar("T")
CLOSE_S: Final = 3.0
"""How long closing waits for what is being pushed."""
FIRST_PAUSE_S: Final = 1.0
"""Before a server that is away is tried again; each time twice as long."""
LONGEST_PAUSE_S: Final = 15.0
RENEW_S: Final = 20.0
FULL_S: Final = 300.0
"""How often everything is compared; without notifications, at every renewal."""
CLOSED: Final = "The store is closed."
NOT_YET: Final = "The server does not answer yet: what is new on other machines may be missing."


class ServerSync:
    """The sync of one store with one server. Its thread starts when it is first needed."""

    def __init__(self, store: "SqliteStore", paths: Paths, url: str, make: "Callable[[], Server]") -> None:
        """`make` is called in the thread, and may raise `StoreError`."""
        self._store, self._paths, self._make = store, paths, make
        self._key = key = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()[:16]
        """The server, in what is stored here."""
        self.server = url.partition("?")[0]
        self.files = ServerFiles(paths.state / f"copied-files-{key}.sqlite", self._ask)
        self._report: Callable[[str], None] = lambda sentence: None
        self._show: Callable[[Unpushed], None] | None = None
        self._shown: Unpushed | None = None
        self._asks = Asks()
        self._changed: set[str] = set()
        self._gate = threading.Lock()
        self._thread: threading.Thread | None = None
        self._waker: Waker | None = None
        self._rounds: Rounds | None = None
        self._open: dict[str, int] = {}
        """The sessions that this process has open, with the number of their lease; 0 without one."""
        self._refreshing = 0
        self._is_closing = False
        self._is_tried = threading.Event()
        """Set once the server was reached, or could not be."""
        self._reason = ""
        """Why the server cannot be used now; empty while it can."""
        self._pause_s, self._tried_at, self._renewed, self._compared = 0.0, 0.0, 0.0, 0.0

    # For the store and its users

    def report_to(self, report: Callable[[str], None]) -> None:
        self._report = report

    def show_unpushed(self, show: Callable[[Unpushed], None]) -> None:
        self._show, self._shown = show, None
        self._wake()

    def changed(self, session_ids: frozenset[str]) -> None:
        if session_ids:
            with self._gate:
                self._changed |= session_ids
            self._wake()

    def unpushed(self) -> Unpushed:
        with self._store.reading() as reading:
            sessions = reading.unpushed(self._key)
        problem = next(iter(self._rounds.problems.values()), "") if self._rounds is not None else ""
        return Unpushed(len(sessions), self.files.unsent(), self._reason or problem)

    def refresh(self, session_id: str = "") -> str:
        def work(connection: "Connection") -> None:
            if not session_id:
                self._compare(connection)
                return
            rounds = self._rounds
            assert rounds is not None
            with self._store.reading() as reading:
                is_other = bool(reading.owner(session_id))
            if is_other:
                rounds.others.fetch(connection, session_id)
            else:
                rounds.some(connection, [session_id])

        self._refreshing += 1
        try:
            asked = self._ask(work)
            asked.result(REFRESH_S)
        except WaitedTooLong:
            asked.cancel()
            return NOT_YET
        except StoreError as error:
            return str(error)
        finally:
            self._refreshing -= 1
        return ""

    def complete(self) -> None:
        self._store.drain()
        self._ask(self._compare).result()
        self._ask(lambda connection: None).result()  # after the files that this asked for
        if left := self.unpushed():
            raise StoreError(f"{left.text}. {left.reason}".rstrip())

    def lease(self, session_id: str, *, take_over: bool, is_new: bool) -> "Lease":
        lease = Lease(self, session_id)
        if is_new:
            self._opened(session_id)
            return lease

        def work(connection: "Connection") -> None:
            assert self._rounds is not None
            self._rounds.lease(connection, session_id, take_over=take_over)

        asked = self._ask(work)
        try:
            try:
                asked.result(REFRESH_S)
            except WaitedTooLong:
                if asked.cancel():
                    raise StoreError(NOT_YET) from None
                asked.result()
        except SessionBusy:
            raise
        except StoreError:
            self._opened(session_id)
            self._report(f"Session {session_id} continues as it is on this machine: the server does not answer.")
        return lease

    def leased(self) -> frozenset[str]:
        return self._rounds.leased if self._rounds is not None else frozenset()

    def share(self, session_id: str, *, shared: bool) -> Future[None]:
        def work(connection: "Connection") -> None:
            from co_tui.store.sqlite import synced_rows
            from co_tui.store.sync.server import server_rows

            assert self._rounds is not None
            self._rounds.some(connection, [session_id])
            server_rows.share(connection, session_id, shared=shared)
            note = partial(synced_rows.note_share, session_id=session_id, shared=shared)
            self._store.writing().change(note).result()

        return self._ask(work)

    def close(self) -> None:
        with self._gate:
            thread, was_closing, self._is_closing = self._thread, self._is_closing, True
        if thread is None or was_closing:
            self.files.close()
            return
        self._store.drain()
        self._wake()
        if self._is_tried.wait(CLOSE_S) and not self._reason:
            thread.join(CLOSE_S)
        self.files.close()

    def released(self, session_id: str) -> None:
        """A session is closed here."""

        def work(connection: "Connection") -> None:
            assert self._rounds is not None
            self._rounds.release(connection, session_id)

        self._open.pop(session_id, None)
        self._ask(work)

    # The thread

    def _opened(self, session_id: str) -> None:
        """A session is open without a lease, which is asked for once the server answers."""
        self._open.setdefault(session_id, 0)
        self._wake()

    def _ask(self, work: "Callable[[Connection], T]") -> Future[T]:
        with self._gate:
            asked = self._asks.add(work)
            has_ended = self._is_closing and self._waker is None
        if has_ended:
            self._asks.refuse(CLOSED)
        self._wake()
        return asked

    def _wake(self) -> None:
        with self._gate:
            if self._thread is None and not self._is_closing:
                from co_tui.store.sync.server.waker import Waker

                self._waker = Waker()
                self._thread = threading.Thread(target=self._run, args=(self._waker,), name="store-sync", daemon=True)
                self._thread.start()
            if self._waker is not None:
                self._waker.wake()

    def _run(self, waker: "Waker") -> None:
        import psycopg

        from co_tui.store.sync.server.link import Link

        link = Link(self._make, waker)
        while not (self._is_closing and (self._reason or self._is_idle(link))):
            try:
                self._turn(link, link.wait(self._waiting_s(link)))
            except psycopg.Error as error:
                self._leave(link.failed(error))
            except StoreError as error:
                link.close()
                self._leave(error)
            except Exception as error:  # without this thread, nothing is pushed any more
                link.close()
                self._leave(StoreError(f"Syncing failed: {type(error).__name__}: {error}."))
        self._end(link)

    def _is_idle(self, link: "Link") -> bool:
        return link.is_open and not self._asks and not self._changed

    def _waiting_s(self, link: "Link") -> float:
        if self._reason:
            return max(0.0, self._tried_at + self._pause_s - time.monotonic())
        return RENEW_S if self._is_idle(link) and not self._is_closing else 0.0

    def _turn(self, link: "Link", heard: set[str]) -> None:
        """Do all there is to do now. Raises `StoreError` and psycopg's errors when the server cannot be used."""
        if self._reason and time.monotonic() - self._tried_at < FIRST_PAUSE_S:
            self._asks.refuse(self._reason)
            self._publish()
            return
        self._tried_at = time.monotonic()
        connection, is_new = link.connected()
        if is_new or self._reason:
            self._arrive(link, connection)
        rounds = self._rounds
        assert rounds is not None
        self._asks.answer(connection, self.server)
        every_s = FULL_S if link.can_notify else RENEW_S
        if time.monotonic() - self._compared > every_s:
            if self._is_closing:
                self._push_the_rest()
            else:
                self._compare(connection, between=lambda: self._asks.answer(connection, self.server))
        with self._gate:
            changed, self._changed = self._changed, set()
        try:
            rounds.push_changed(connection, changed)
            rounds.some(connection, heard - changed)
        except BaseException:
            with self._gate:
                self._changed |= changed
            raise
        if time.monotonic() - self._renewed > RENEW_S:
            rounds.renew(connection)
            self._renewed = time.monotonic()
        self._pause_s = 0.0
        self._publish()

    def _compare(self, connection: "Connection", *, between: Callable[[], None] = lambda: None) -> None:
        """Bring everything up to date; `between` is called after each session."""
        assert self._rounds is not None
        for _ in self._rounds.full(connection):
            between()
        self._compared = time.monotonic()

    def _push_the_rest(self) -> None:
        """Push what an earlier process left unpushed, although there is no time left to pull."""
        with self._store.reading() as reading:
            unpushed = reading.unpushed(self._key)
        with self._gate:
            self._changed |= {*unpushed}
        self._compared = time.monotonic()

    def _arrive(self, link: "Link", connection: "Connection") -> None:
        """The server answers, for the first time or again."""
        from co_tui.store.sync.placing import carry_files
        from co_tui.store.sync.server.kept_journals import kept_sessions
        from co_tui.store.sync.server.leases import Leases
        from co_tui.store.sync.server.rounds import Rounds

        if self._rounds is None:
            leases = Leases(link.host)
            carry = carry_files(self._paths)
            self._rounds = Rounds(self._store, self._key, leases, self._open, lambda said: self._report(said), carry)
            self._rounds.refresh_files = lambda session_id: self.files.pull(session_files(self._paths, session_id))
            self.files.redact, self.files.writer = link.redacted, leases.owner.writer
        if self._reason:
            self._report(f"Database {link.location} is back.")
        self._reason, self._compared = "", -FULL_S
        self._is_tried.set()
        self._rounds.release_closed(connection)
        self.files.send_unsent()
        with kept_sessions(self._paths.state / "kept", link.location) as kept:
            self._rounds.take_kept(connection, kept)

    def _leave(self, error: Exception) -> None:
        """The server cannot be used for now."""
        reason = str(error).removesuffix(" Try again later.")
        if not self._reason and not self._refreshing:  # those who refresh say so themselves
            self._report(f"{reason} Keep working: what is new is pushed later.")
        self._reason = reason
        self._pause_s = min(max(2 * self._pause_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
        self._tried_at = time.monotonic()
        self._is_tried.set()
        self._asks.refuse(self._reason)
        self._publish()

    def _publish(self) -> None:
        if self._show is None:
            return
        with suppress(StoreError):
            unpushed = self.unpushed()
            if unpushed != self._shown:
                self._shown = unpushed
                self._show(unpushed)

    def _end(self, link: "Link") -> None:
        import psycopg

        if link.is_open and self._rounds is not None:
            with suppress(StoreError, psycopg.Error):
                self._rounds.release_all(link.connected()[0])
        link.close()
        with self._gate:
            waker, self._waker = self._waker, None
        self._reason = self._reason or CLOSED
        self._asks.refuse(self._reason)
        if waker is not None:
            waker.close()


class Lease:
    """The right to write one session on all machines, as far as the server could be asked."""

    def __init__(self, sync: ServerSync, session_id: str) -> None:
        self._sync: ServerSync | None = sync
        self._session_id = session_id

    def release(self) -> None:
        sync, self._sync = self._sync, None
        if sync is not None:
            sync.released(self._session_id)
