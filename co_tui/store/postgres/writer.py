"""The one owner of a process's writing connection, on a thread of its own."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, Generic, TypeVar

import psycopg

from co_tui.events import Event, Fact, SessionFork
from co_tui.store.event_rows import check_durable
from co_tui.store.postgres import bulk, log
from co_tui.store.postgres.commits import FORGET_WRITERS, CommitInDoubt, Commits
from co_tui.store.postgres.files.file_rows import FORGET_DELETED
from co_tui.store.postgres.leases import FORGET_LEASES, RENEW_S, Leases
from co_tui.store.postgres.log import Connection
from co_tui.store.postgres.ownership import share
from co_tui.store.postgres.postgres_failures import DatabaseUnreachable, explained, may_succeed_again
from co_tui.store.postgres.repeated import SavedUnheard
from co_tui.store.postgres.server import Server
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import ImportOutcome

T = TypeVar("T")
MAX_BATCH: Final = 64
PATIENCE_S: Final = 15.0
"""How long a change waits for a server that restarts."""
RETRY_S: Final = 0.25
MOST_RETRIES: Final = 5
"""Of a transaction that the server undid because of another one."""


class _Job(Generic[T]):
    def __init__(self, work: Callable[[Connection], T], *, waits: bool = True) -> None:
        """`waits` for a server that cannot be reached."""
        self.work = work
        self.waits = waits
        self.done: Future[T] = Future()
        self.result: T
        self.error: Exception | None = None


class _Append(_Job[tuple[Event, ...]]):
    def __init__(self, work: Callable[[Connection], tuple[Event, ...]], session_id: str) -> None:
        super().__init__(work)
        self.session_id = session_id


class Writer:
    """Makes every change to the database, in the order requested.

    Waiting changes are committed together; a future is resolved only after its commit. A lost connection is opened
    again, and a change whose answer was lost is not made twice: not by waiting for the server here, and not by the
    caller that got an error and tries again.
    """

    def __init__(self, server: Server) -> None:
        """Connect, creating or migrating the schema. Raises `StoreError` with a sentence."""
        self._server = server
        self.leases = Leases(server.host)
        self._commits = Commits(server, self.leases.owner.writer)
        self._commits.connected()
        self._unheard = SavedUnheard()
        self._in_doubt: tuple[int, list[_Job[Any]]] | None = None
        """The last transaction, when neither its failure nor its success is known."""
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._renewed = time.monotonic()
        self.after_commit: Callable[[], None] = lambda: None
        """Called after each transaction: there is a connection. Returns at once."""
        self._closed = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def append(self, session_id: str, facts: Iterable[Fact], *, ends_draft: bool = False) -> Future[tuple[Event, ...]]:
        facts = tuple(facts)

        def work(connection: Connection) -> tuple[Event, ...]:
            saved = self._unheard.beginning_of(session_id, facts)
            events = saved + log.append(connection, session_id, facts[len(saved) :], self.leases)
            if ends_draft:
                log.drop_reply(connection, session_id)
            return events

        job = _Append(work, session_id)
        try:
            check_durable(facts)
        except ValueError as error:
            job.done.set_exception(error)
            return job.done
        return self._submit(job)

    def save_reply(self, session_id: str, number: int, body: str) -> Future[None]:
        return self._submit(_Job(lambda connection: log.save_reply(connection, session_id, number, body, self.leases)))

    def recover(self, session_id: str) -> Future[tuple[Event, ...]]:
        return self._submit(_Job(lambda connection: log.recover(connection, session_id, self.leases)))

    def fork(self, source: str, target: str, upto: int | None, fact: SessionFork) -> Future[tuple[Event, ...]]:
        return self._submit(_Job(lambda connection: bulk.fork(connection, source, target, upto, fact, self.leases)))

    def import_log(
        self, events: Sequence[Event], *, keeps_age: bool = False, keeps_trash: bool = False
    ) -> Future[ImportOutcome]:
        return self._submit(
            _Job(lambda connection: bulk.import_log(connection, events, keeps_age, self.leases, keeps_trash))
        )

    def delete(self, session_id: str) -> Future[None]:
        return self._submit(_Job(lambda connection: bulk.delete(connection, session_id, self.leases)))

    def make(self, work: Callable[[Connection], T]) -> Future[T]:
        """Make another change, in order with the others; it fails at once when the server cannot be reached."""
        return self._submit(_Job(work, waits=False))

    def upkeep_steps(self) -> Iterator[Future[bool]]:
        """Little is left to do: PostgreSQL cleans up after itself."""
        for statement in (FORGET_WRITERS, FORGET_LEASES, FORGET_DELETED):
            yield self._submit(_Job(partial(_execute, statement)))

    def share(self, session_id: str, *, shared: bool) -> Future[None]:
        return self._submit(_Job(lambda connection: share(connection, session_id, shared)))

    def claim(self, session_id: str, *, take_over: bool = False) -> int:
        """Take the lease of a session; returns its number. Raises `SessionBusy`."""
        take = partial(self.leases.take, session_id=session_id, take_over=take_over)
        return self._submit(_Job(take, waits=False)).result()

    def release(self, session_id: str, number: int) -> None:
        """Release a lease. One that cannot be released now expires by itself."""
        self.leases.forget(session_id, number)
        with contextlib.suppress(StoreError):
            release = self.leases.release
            self._submit(_Job(lambda connection: release(connection, session_id, number), waits=False)).result()

    def close(self) -> None:
        """Finish pending changes, release all leases, then close the connection."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _submit(self, job: _Job[T]) -> Future[T]:
        with self._gate:
            if self._closed:
                job.done.set_exception(StoreError(f"Database {self._server.location} is already closed."))
            else:
                self._jobs.put(job)
        return job.done

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch: list[_Job[Any]] = []
            job = self._next()
            while job is not None:
                batch.append(job)
                if len(batch) >= MAX_BATCH or self._jobs.empty():
                    break
                job = self._jobs.get()
            is_open = job is not None
            self._commit([job for job in batch if job.done.set_running_or_notify_cancel()])
            self._renew_when_due()
        with contextlib.suppress(StoreError):
            self._commits.ask(self.leases.release_all)
        self._commits.close()

    def _next(self) -> _Job[Any] | None:
        """The next request, None for the end; renews leases while there is none."""
        while True:
            try:
                return self._jobs.get(timeout=RENEW_S if self.leases else None)
            except queue.Empty:
                self._renew_when_due()

    def _renew_when_due(self) -> None:
        if self.leases and time.monotonic() - self._renewed >= RENEW_S:
            self._renewed = time.monotonic()
            with contextlib.suppress(StoreError):  # the next renewal, or the next change, reports it
                self._commits.ask(self.leases.renew)

    def _commit(self, batch: list[_Job[Any]]) -> None:
        if not batch:
            return
        try:
            self._make(batch, PATIENCE_S if any(job.waits for job in batch) else 0)
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, StoreError):
                for job in batch:  # what one of them did must not harm the others
                    self._commit([job])
                return
            known = explained(error, self._server.location) if isinstance(error, psycopg.Error) else error
            for job in batch:
                job.done.set_exception(known)
            return
        self.leases.commit()
        self._unheard.commit()
        for job in batch:
            if job.error is not None:
                job.done.set_exception(job.error)
            else:
                job.done.set_result(job.result)
        self.after_commit()

    def _make(self, batch: list[_Job[Any]], patience_s: float) -> None:
        """Commit the batch once, however often the connection is lost. Raises `StoreError` when it stays away."""
        until, retries = time.monotonic() + patience_s, 0
        while True:
            try:
                self._commits.connected()
                if self._settled(batch):
                    return
                self._commits.make(lambda connection: self._perform(batch, connection))
                return
            except CommitInDoubt as doubt:
                self._in_doubt = (doubt.number, batch)
                failure: Exception = doubt.reason
            except DatabaseUnreachable as error:
                failure = error
            except psycopg.Error as error:
                retries += 1
                if not may_succeed_again(error) or retries > MOST_RETRIES:
                    raise
                continue
            if time.monotonic() >= until:
                raise failure
            time.sleep(RETRY_S)

    def _settled(self, batch: list[_Job[Any]]) -> bool:
        """Find out about a transaction in doubt; returns whether it was this batch, and is done."""
        if self._in_doubt is None:
            return False
        (number, jobs), self._in_doubt = self._in_doubt, None
        if not self._commits.is_committed(number):
            return False
        if jobs is batch:
            return True
        for job in jobs:
            if isinstance(job, _Append) and job.error is None:
                self._unheard.add(job.session_id, job.result)
        return False

    def _perform(self, batch: list[_Job[Any]], connection: Connection) -> None:
        """Run all jobs. One that refuses has read and not written, so that the others can be committed."""
        self.leases.begin()
        self._unheard.begin()
        for job in batch:
            job.error = None
            try:
                job.result = job.work(connection)
            except StoreError as error:
                job.error = error


def _execute(statement: str, connection: Connection) -> bool:
    """A step of maintenance that leaves nothing more to do."""
    connection.execute(statement.encode())
    return False
