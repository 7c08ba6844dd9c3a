"""The one owner of a process's writing connection, on a thread of its own."""

import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from co_tui.events import Event, Fact, SessionFork
from co_tui.store.sqlite import log
from co_tui.store.sqlite.bulk import adding, removal
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.deletions import record_deletion
from co_tui.store.sqlite.idle_work import IdleWork
from co_tui.store.sqlite.spending import add_spent
from co_tui.store.sqlite.sqlite_failures import explained
from co_tui.store.sqlite.synced_rows import replace_tail
from co_tui.store.sqlite.transaction import LAST_WAIT_S, LET_OTHERS_IN_S, PatientConnection, Steps, transaction
from co_tui.store.store_errors import StoreError
from co_tui.store.stored_values import Deletion, ImportOutcome

if TYPE_CHECKING:
    from co_tui.store.sqlite.shared_connection import SharedConnection

T = TypeVar("T")
MAX_BATCH = 256
MANY_FACTS = 200
"""So many are appended in steps."""


class _Job(Generic[T]):
    def __init__(self, sessions: frozenset[str]) -> None:
        self.sessions = sessions
        """That it reads or changes; none for maintenance."""
        self.done: Future[T] = Future()


class _Change(_Job[T]):
    """A short change, in a transaction with others that wait."""

    def __init__(self, work: Callable[[sqlite3.Connection], T], *sessions: str) -> None:
        super().__init__(frozenset(sessions))
        self.work = work
        self.result: T
        self.error: Exception | None = None


class _LongChange(_Job[T]):
    """A change with transactions of its own; others may be made between its steps."""

    def __init__(self, steps: Callable[[sqlite3.Connection], Steps[T]], *sessions: str) -> None:
        super().__init__(frozenset(sessions))
        self.steps = steps


class Writer:
    """Makes every change to the database, those to one session in the order requested.

    Waiting changes are committed together; a future is resolved only after its commit, so an acknowledged
    append survives the death of the process. Without requests, it indexes what was written.
    """

    def __init__(
        self,
        path: Path,
        locks: Path | None = None,
        shared: "SharedConnection | None" = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Open the database, creating or migrating it; `locks` shows who has sessions of it open.

        `shared` is the connection to a database in memory. `report` gets a sentence, in any thread, when a change
        waits for another program.

        Raises `StoreError` with a sentence.
        """
        self._path = path
        self._shared = shared
        self._connection = shared.opened() if shared is not None else connect_for_writing(path, locks)
        if isinstance(self._connection, PatientConnection) and report is not None:
            self._connection.report = partial(report, f"Waiting for another program that writes to {path}.")
        self._exclusive: AbstractContextManager[object] = shared.lock if shared is not None else nullcontext()
        self._idle = IdleWork(self._connection)
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._postponed: deque[_Job[Any] | None] = deque()
        """Taken from the queue during a long change that they have to wait for."""
        self.changed: Callable[[frozenset[str]], None] = lambda sessions: None
        """Called in the writer's thread with the sessions that were written. Returns at once."""
        self._closed = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def append(self, session_id: str, facts: Iterable[Fact], *, ends_draft: bool = False) -> Future[tuple[Event, ...]]:
        """Log facts; with `ends_draft` the half reply they complete is dropped in the same step."""
        facts = tuple(facts)
        if len(facts) > MANY_FACTS:
            steps = partial(adding.append, session_id=session_id, facts=facts, ends_draft=ends_draft)
            return self._submit(_LongChange(steps, session_id))

        def work(connection: sqlite3.Connection) -> tuple[Event, ...]:
            events = log.append(connection, session_id, facts)
            if ends_draft:
                log.drop_reply(connection, session_id)
            return events

        return self._submit(_Change(work, session_id))

    def save_reply(self, session_id: str, number: int, body: str) -> Future[None]:
        """Keep some more of the reply that is being written; number 0 begins a new one."""
        return self._submit(
            _Change(lambda connection: log.save_reply(connection, session_id, number, body), session_id)
        )

    def recover(self, session_id: str) -> Future[tuple[Event, ...]]:
        return self._submit(_Change(lambda connection: log.recover(connection, session_id), session_id))

    def fork(self, source: str, target: str, upto: int | None, fact: SessionFork) -> Future[tuple[Event, ...]]:
        steps = partial(adding.fork, source=source, target=target, upto=upto, fact=fact)
        return self._submit(_LongChange(steps, source, target))

    def import_log(
        self, events: Sequence[Event], *, keeps_age: bool = False, keeps_trash: bool = False
    ) -> Future[ImportOutcome]:
        steps = partial(adding.import_log, events=events, keeps_age=keeps_age, keeps_trash=keeps_trash)
        return self._submit(_LongChange(steps, events[0].session_id))

    def delete(self, session_id: str, deletion: Deletion | None = None) -> Future[None]:
        steps = partial(removal.delete, session_id=session_id, deletion=deletion)
        return self._submit(_LongChange(steps, session_id))

    def replace_tail(self, session_id: str, after: int, events: Sequence[Event]) -> Future[None]:
        return self.change(lambda connection: replace_tail(connection, session_id, after, events), session_id)

    def record_deletion(self, deletion: Deletion) -> Future[bool]:
        return self.change(lambda connection: record_deletion(connection, deletion))

    def add_spent(self, dollars: float) -> Future[None]:
        return self.change(lambda connection: add_spent(connection, dollars))

    def change(self, work: Callable[[sqlite3.Connection], T], *sessions: str) -> Future[T]:
        """Make another short change, in order with those to the same sessions."""
        return self._submit(_Change(work, *sessions))

    def upkeep_steps(self) -> Iterator[Future[bool]]:
        """Maintain the database, one step at a time; each starts when the previous is done."""
        from co_tui.store.sqlite.upkeep import performed, steps

        for step in steps():
            is_more = True
            while is_more:
                done = self._submit(_LongChange(partial(_one_step, partial(performed, step))))
                yield done
                is_more = done.result()

    def stop_waiting(self) -> None:
        """Let changes fail that wait much longer for another program."""
        if isinstance(self._connection, PatientConnection):
            self._connection.waits_until = time.monotonic() + LAST_WAIT_S

    def close(self) -> None:
        """Finish pending changes, then close the connection."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _submit(self, job: _Job[T]) -> Future[T]:
        with self._gate:
            if self._closed:
                job.done.set_exception(StoreError(f"Database {self._path} is already closed."))
            else:
                self._jobs.put(job)
        return job.done

    def _work(self) -> None:
        is_open = True
        while is_open:
            batch: list[_Change[Any]] = []
            job = self._next()
            while isinstance(job, _Change):
                batch.append(job)
                if len(batch) >= MAX_BATCH or not self._is_more():
                    break
                job = self._next()
            self._commit(batch)
            if isinstance(job, _LongChange):
                self._make_in_steps(job)
            is_open = job is not None
        if self._shared is None:
            self._connection.close()

    def _is_more(self) -> bool:
        return bool(self._postponed) or not self._jobs.empty()

    def _next(self) -> _Job[Any] | None:
        """The next request, None for the end; does idle work while there is none."""
        while not self._postponed:
            try:
                return self._jobs.get(timeout=self._idle.pause_s)
            except queue.Empty:
                self._do_idle_work()
        return self._postponed.popleft()

    def _do_idle_work(self) -> None:
        try:
            with self._exclusive:
                self._idle.step()
        except (sqlite3.Error, StoreError):  # as from a damaged index: the next search says so
            self._idle.pause_s = None

    def _commit(self, batch: list[_Change[Any]]) -> None:
        # Skip jobs cancelled before their turn; a started job is finished.
        batch = [job for job in batch if job.done.set_running_or_notify_cancel()]
        if not batch:
            return
        try:
            with self._exclusive, transaction(self._connection):
                for job in batch:
                    self._perform(job)
        except Exception as error:
            for job in batch:
                job.done.set_exception(self._explained(error))
            return
        self._idle.something_was_written()
        self.changed(frozenset().union(*(job.sessions for job in batch)))
        for job in batch:
            if job.error is not None:
                job.done.set_exception(job.error)
            else:
                job.done.set_result(job.result)

    def _perform(self, job: _Change[Any]) -> None:
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

    def _make_in_steps(self, job: _LongChange[Any]) -> None:
        if not job.done.set_running_or_notify_cancel():
            return
        try:
            result = self._run(job.steps(self._connection), job.sessions)
        except Exception as error:
            job.done.set_exception(self._explained(error))
            return
        if job.sessions:
            self.changed(job.sessions)
        job.done.set_result(result)
        if job.sessions:
            self._idle.something_was_written()
            with suppress(sqlite3.Error):  # as above
                self._run(self._idle.catch_up(), frozenset())

    def _run(self, steps: Steps[T], sessions: frozenset[str]) -> T:
        while True:
            try:
                with self._exclusive:
                    next(steps)
            except StopIteration as done:
                result: T = done.value
                return result
            self._make_others(sessions)

    def _make_others(self, sessions: frozenset[str]) -> None:
        """Between two steps: make the changes that have nothing to do with these sessions, and let others write."""
        batch: list[_Change[Any]] = []
        while not self._jobs.empty():
            job = self._jobs.get()
            waits_for = sessions.union(*(each.sessions for each in self._postponed if each is not None))
            if isinstance(job, _Change) and not job.sessions & waits_for:
                batch.append(job)
            else:
                self._postponed.append(job)
        self._commit(batch)
        time.sleep(LET_OTHERS_IN_S)

    def _explained(self, error: Exception) -> Exception:
        return explained(error, self._path) if isinstance(error, sqlite3.Error | OSError) else error


def _one_step(work: Callable[[sqlite3.Connection], bool], connection: sqlite3.Connection) -> Steps[bool]:
    """A step of maintenance, as a change with nothing between."""
    return work(connection)
    yield
