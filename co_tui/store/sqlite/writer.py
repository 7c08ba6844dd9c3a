"""The one owner of a process's writing connection, on a thread of its own."""

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from co_tui.events import Event, Fact, SessionFork
from co_tui.store.sqlite import log
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.sqlite_failures import explained
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import ImportOutcome

if TYPE_CHECKING:
    from co_tui.store.sqlite.shared_connection import SharedConnection

T = TypeVar("T")
MAX_BATCH = 256


class _Job(Generic[T]):
    def __init__(self, work: Callable[[sqlite3.Connection], T], *, alone: bool = False) -> None:
        self.work = work
        self.alone = alone
        """Not in a transaction with others."""
        self.done: Future[T] = Future()
        self.result: T
        self.error: Exception | None = None


class Writer:
    """Makes every change to the database, in the order requested.

    Waiting changes are committed together; a future is resolved only after its commit, so an acknowledged
    append survives the death of the process.
    """

    def __init__(self, path: Path, locks: Path | None = None, shared: "SharedConnection | None" = None) -> None:
        """Open the database, creating or migrating it; `locks` shows who has sessions of it open.

        `shared` is the connection to a database in memory.

        Raises `StoreError` with a sentence.
        """
        self._path = path
        self._shared = shared
        self._connection = shared.opened() if shared is not None else connect_for_writing(path, locks)
        self._exclusive: AbstractContextManager[object] = shared.lock if shared is not None else nullcontext()
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._closed = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def append(self, session_id: str, facts: Iterable[Fact], *, ends_draft: bool = False) -> Future[tuple[Event, ...]]:
        """Log facts; with `ends_draft` the half reply they complete is dropped in the same step."""
        facts = tuple(facts)

        def work(connection: sqlite3.Connection) -> tuple[Event, ...]:
            events = log.append(connection, session_id, facts)
            if ends_draft:
                log.drop_reply(connection, session_id)
            return events

        return self._submit(work)

    def save_reply(self, session_id: str, number: int, body: str) -> Future[None]:
        """Keep some more of the reply that is being written; number 0 begins a new one."""
        return self._submit(lambda connection: log.save_reply(connection, session_id, number, body))

    def recover(self, session_id: str) -> Future[tuple[Event, ...]]:
        return self._submit(lambda connection: log.recover(connection, session_id))

    def fork(self, source: str, target: str, upto: int | None, fact: SessionFork) -> Future[tuple[Event, ...]]:
        return self._submit(lambda connection: log.fork(connection, source, target, upto, fact))

    def import_log(self, events: Sequence[Event], *, keeps_age: bool = False) -> Future[ImportOutcome]:
        return self._submit(lambda connection: log.import_log(connection, events, keeps_age=keeps_age))

    def delete(self, session_id: str) -> Future[None]:
        return self._submit(lambda connection: log.delete(connection, session_id))

    def upkeep_steps(self) -> Iterator[Future[bool]]:
        """Maintain the database, one step at a time; each starts when the previous is done."""
        from co_tui.store.sqlite.upkeep import performed, steps

        for step in steps():
            is_more = True
            while is_more:
                done = self._submit(partial(performed, step), alone=True)
                yield done
                is_more = done.result()

    def close(self) -> None:
        """Finish pending changes, then close the connection."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _submit(self, work: Callable[[sqlite3.Connection], T], *, alone: bool = False) -> Future[T]:
        job = _Job(work, alone=alone)
        with self._gate:
            if self._closed:
                job.done.set_exception(StoreError(f"Database {self._path} is already closed."))
            else:
                self._jobs.put(job)
        return job.done

    def _work(self) -> None:
        open_ = True
        while open_:
            batch: list[_Job[Any]] = []
            item = self._jobs.get()
            while item is not None:
                batch.append(item)
                if item.alone or len(batch) >= MAX_BATCH or self._jobs.empty():
                    break
                item = self._jobs.get()
            open_ = item is not None
            alone = batch.pop() if batch and batch[-1].alone else None
            if batch:
                self._commit(batch)
            if alone is not None:
                self._perform_alone(alone)
        if self._shared is None:
            self._connection.close()

    def _commit(self, batch: list[_Job[Any]]) -> None:
        # Skip jobs cancelled before their turn; a started job is finished.
        batch = [job for job in batch if job.done.set_running_or_notify_cancel()]
        try:
            with self._exclusive:
                self._transact(batch)
        except Exception as error:
            failure = explained(error, self._path) if isinstance(error, sqlite3.Error | OSError) else error
            for job in batch:
                job.done.set_exception(failure)
            return
        for job in batch:
            if job.error is not None:
                job.done.set_exception(job.error)
            else:
                job.done.set_result(job.result)

    def _transact(self, batch: list[_Job[Any]]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job in batch:
                self._perform(job)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _perform_alone(self, job: _Job[Any]) -> None:
        if not job.done.set_running_or_notify_cancel():
            return
        try:
            with self._exclusive:
                result = job.work(self._connection)
            job.done.set_result(result)
        except sqlite3.Error as error:
            job.done.set_exception(explained(error, self._path))

    def _perform(self, job: _Job[Any]) -> None:
        """Run one job of a batch; its own mistakes undo it alone, the database's undo the batch."""
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(self._connection)
        except sqlite3.Error:
            raise
        except Exception as error:
            job.error = error
            self._connection.execute("ROLLBACK TO job")
        self._connection.execute("RELEASE job")
