"""The one owner of a process's writing connection, on a thread of its own."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeVar

import psycopg

from co_tui.events import Event, Fact, SessionFork
from co_tui.store.event_rows import check_durable
from co_tui.store.postgres import bulk, log
from co_tui.store.postgres.away.away import Away
from co_tui.store.postgres.away.kept_here import KeptHere
from co_tui.store.postgres.commits import FORGET_WRITERS, Commits
from co_tui.store.postgres.files.file_rows import FORGET_DELETED
from co_tui.store.postgres.jobs import Batches, Job, ServerAway
from co_tui.store.postgres.leases import FORGET_LEASES, RENEW_S, Leases
from co_tui.store.postgres.log import Connection
from co_tui.store.postgres.ownership import share
from co_tui.store.postgres.postgres_failures import DatabaseUnreachable, explained
from co_tui.store.postgres.server import Server
from co_tui.store.store_errors import SessionTakenOver, StoreError
from co_tui.store.stored_values import ImportOutcome

T = TypeVar("T")
Report = Callable[[str], None]
CarryFiles = Callable[[str, str], None]
MAX_BATCH: Final = 64
PATIENCE_S: Final = 2.0
"""How long changes wait for a server that restarts before they are kept here."""
LONG_PATIENCE_S: Final = 15.0
"""The same for a change that cannot be kept here."""


class Writer:
    """Makes every change to the database, in the order requested.

    Waiting changes are committed together; a future is resolved only after its commit. A lost connection is opened
    again, and a change whose answer was lost is not made twice. While the server is away, logs are written here.
    """

    def __init__(self, server: Server, kept: KeptHere, report: Report, carry_files: CarryFiles) -> None:
        """Connect, creating or migrating the schema. Raises `StoreError` unless the server is just away."""
        self._server = server
        self.leases = Leases(server.host)
        self._away = Away(server, kept, self.leases, report, carry_files)
        self._commits = Commits(server, self.leases.owner.writer)
        self._batches = Batches(self._commits, self.leases)
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._renewed = time.monotonic()
        self.after_commit: Callable[[], None] = lambda: None
        """Called after each transaction: there is a connection. Returns at once."""
        self._closed = False
        self._gate = threading.Lock()
        self._answers = threading.Event()
        """Set when a server that was away answers again."""
        self._away.watch(self._found)
        try:
            self._commits.connected()
        except DatabaseUnreachable as error:
            self._away.leave(error)
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def append(self, session_id: str, facts: Iterable[Fact], *, ends_draft: bool = False) -> Future[tuple[Event, ...]]:
        facts = tuple(facts)

        def work(connection: Connection) -> tuple[Event, ...]:
            name = self._away.present_id(session_id)
            saved = self._batches.unheard.beginning_of(name, facts)
            events = saved + log.append(connection, name, facts[len(saved) :], self.leases)
            if ends_draft:
                log.drop_reply(connection, name)
            return events

        job = Job(work, partial(self._away.append, facts=facts, ends_draft=ends_draft), session_id=session_id)
        try:
            check_durable(facts)
        except ValueError as error:
            job.done.set_exception(error)
            return job.done
        return self._submit(job)

    def save_reply(self, session_id: str, number: int, body: str) -> Future[None]:
        def work(connection: Connection) -> None:
            log.save_reply(connection, self._away.present_id(session_id), number, body, self.leases)

        return self._submit(Job(work, partial(self._away.save_reply, number=number, body=body), session_id=session_id))

    def recover(self, session_id: str) -> Future[tuple[Event, ...]]:
        work = partial(log.recover, session_id=session_id, leases=self.leases)
        return self._submit(Job(work, self._away.recover, session_id=session_id))

    def fork(self, source: str, target: str, upto: int | None, fact: SessionFork) -> Future[tuple[Event, ...]]:
        def work(connection: Connection) -> tuple[Event, ...]:
            return bulk.fork(connection, self._away.present_id(source), target, upto, fact, self.leases)

        return self._submit(Job(work, session_id=target))

    def import_log(
        self, events: Sequence[Event], *, keeps_age: bool = False, keeps_trash: bool = False
    ) -> Future[ImportOutcome]:
        return self._submit(
            Job(lambda connection: bulk.import_log(connection, events, keeps_age, self.leases, keeps_trash))
        )

    def delete(self, session_id: str) -> Future[None]:
        return self._submit(Job(lambda connection: bulk.delete(connection, session_id, self.leases)))

    def make(self, work: Callable[[Connection], T]) -> Future[T]:
        """Make another change, in order with the others; it fails at once when the server cannot be reached."""
        return self._submit(Job(work, waits=False))

    def upkeep_steps(self) -> Iterator[Future[bool]]:
        """Little is left to do: PostgreSQL cleans up after itself."""
        for statement in (FORGET_WRITERS, FORGET_LEASES, FORGET_DELETED):
            yield self._submit(Job(partial(_execute, statement), waits=False))

    def share(self, session_id: str, *, shared: bool) -> Future[None]:
        return self._submit(Job(lambda connection: share(connection, self._away.present_id(session_id), shared)))

    def claim(self, session_id: str, *, take_over: bool = False) -> None:
        """Take the lease of a session. Raises `SessionBusy`. While the server is away it is taken later."""
        work = partial(self._away.take, session_id, take_over=take_over)
        self._submit(Job(work, self._away.take_later, waits=False, session_id=session_id)).result()

    def release(self, session_id: str) -> None:
        """Release a lease. One that cannot be released now expires by itself."""
        with contextlib.suppress(StoreError):
            work = partial(self._away.release, session_id)
            self._submit(Job(work, lambda _: None, waits=False, session_id=session_id)).result()
        self._away.forget(session_id)

    def close(self) -> None:
        """Finish pending changes, release all leases, then close the connection."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._away.stop_trying()
        self._thread.join()

    def _found(self) -> None:
        """In a thread: the server answers again."""
        self._answers.set()
        self._submit(Job(lambda _: None, lambda _: None))

    def _submit(self, job: Job[T]) -> Future[T]:
        with self._gate:
            if self._closed:
                job.done.set_exception(StoreError(f"Database {self._server.location} is already closed."))
            else:
                self._jobs.put(job)
        return job.done

    def _run(self) -> None:
        self._adopt()
        is_open, job = True, self._next()
        while is_open:
            batch: list[Job[Any]] = []
            following: Job[Any] | None = None
            while job is not None:
                batch.append(job)
                if len(batch) >= MAX_BATCH or self._jobs.empty():
                    break
                following = self._jobs.get()
                if following is not None and _patience(following) != _patience(job):
                    break
                job, following = following, None
            is_open = job is not None
            self._commit_surely([each for each in batch if each.done.set_running_or_notify_cancel()])
            if self._answers.is_set() and is_open:
                self._return()
            self._renew_when_due()
            if is_open:
                job = following or self._next()
        if not self._away.is_away:
            with contextlib.suppress(StoreError):
                self._commits.ask(self.leases.release_all)
        self._commits.close()
        self._away.close()

    def _next(self) -> Job[Any] | None:
        """The next request, None for the end; renews leases while there is none."""
        while True:
            try:
                return self._jobs.get(timeout=RENEW_S if self.leases else None)
            except queue.Empty:
                self._renew_when_due()

    def _renew_when_due(self) -> None:
        if self._away.is_away or not self.leases or time.monotonic() - self._renewed < RENEW_S:
            return
        self._renewed = time.monotonic()
        try:
            with contextlib.suppress(StoreError):
                self._commits.ask(self.leases.renew)
                return
            self._commits.ask(self.leases.renew)  # once more, on a new connection
        except DatabaseUnreachable as error:
            self._away.leave(error)
        except StoreError:
            pass  # the next change reports it

    def _adopt(self) -> None:
        """Hand over what earlier processes of this machine kept."""
        if self._away.adopt() and not self._away.is_away:
            self._return()

    def _return(self) -> None:
        """Hand over what was kept here."""
        self._answers.clear()
        try:
            self._commits.connected()
        except StoreError as error:
            self._away.leave(error)
            return
        self._batches.settled([])
        try:
            self._away.come_back(self._make_one)
            self.after_commit()
        except Exception as error:  # as a file here that cannot be read: what is kept stays, and is tried again
            self._away.leave(StoreError(f"What was kept here could not be handed over: {error}"))

    def _commit_surely(self, batch: list[Job[Any]]) -> None:
        """Answer every change, whatever happens: without this thread, all later ones would wait for ever."""
        try:
            self._commit(batch)
        except Exception as error:
            _fail([job for job in batch if not job.done.done()], error)

    def _commit(self, batch: list[Job[Any]]) -> None:
        if not batch:
            return
        try:
            if self._away.is_away:
                self._keep(batch)
                return
            self._batches.make(batch, max(map(_patience, batch)))
        except ServerAway as away:
            self._away.leave(away.reason)
            self._keep(batch)
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, StoreError):
                for job in batch:  # what one of them did must not harm the others
                    self._commit([job])
                return
            _fail(batch, explained(error, self._server.location) if isinstance(error, psycopg.Error) else error)
        else:
            self._finish(batch)

    def _finish(self, batch: list[Job[Any]]) -> None:
        self._batches.finish()
        late = [job for job in batch if isinstance(job.error, SessionTakenOver) and job.keep and job.session_id]
        for job in batch:
            self._away.saw(job.events)
            if job not in late:
                job.finish()
        self.after_commit()
        if late:  # this process was asleep, and another one went on with the session
            self._keep(late)
            self._return()

    def _keep(self, batch: list[Job[Any]]) -> None:
        """Make changes here. Those that need the server fail with a sentence."""
        try:
            self._away.keep(batch)
        except Exception as error:
            _fail(batch, error)
            return
        self._batches.forget(batch)  # handing over finds out which of it is there
        for job in batch:
            job.finish()

    def _make_one(self, work: Callable[[Connection], T]) -> T:
        """A change of the writer's own. Raises `StoreError`."""
        job = Job(work)
        batch: list[Job[Any]] = [job]
        try:
            self._batches.make(batch, PATIENCE_S)
        except ServerAway as away:
            self._batches.forget(batch)
            raise DatabaseUnreachable(str(away.reason)) from away
        except psycopg.Error as error:
            raise explained(error, self._server.location) from error
        if job.error is not None:
            raise job.error
        self._batches.finish()
        return job.result


def _patience(job: Job[Any]) -> float:
    if job.keep is not None:
        return PATIENCE_S
    return LONG_PATIENCE_S if job.waits else 0.0


def _fail(batch: list[Job[Any]], error: Exception) -> None:
    for job in batch:
        job.done.set_exception(error)


def _execute(statement: str, connection: Connection) -> bool:
    """A step of maintenance that leaves nothing more to do."""
    connection.execute(statement.encode())
    return False
