"""Changes that wait for the writer's thread, and batches of them that the server makes exactly once."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar

import psycopg

from co_tui.events import Event
from co_tui.store.postgres.commits import CommitInDoubt, Commits
from co_tui.store.postgres.leases import Leases
from co_tui.store.postgres.log import Connection
from co_tui.store.postgres.postgres_failures import may_succeed_again
from co_tui.store.postgres.repeated import SavedUnheard
from co_tui.store.store_errors import StoreError

T = TypeVar("T")
RETRY_S: Final = 0.25
MOST_RETRIES: Final = 5
"""Of a transaction that the server undid because of another one."""


class Job(Generic[T]):
    """A change, as the server makes it and as it is kept here. Its future is resolved once the change is durable."""

    def __init__(
        self,
        work: Callable[[Connection], T],
        keep: "Callable[[Job[T]], T] | None" = None,
        *,
        waits: bool = True,
        session_id: str = "",
    ) -> None:
        """`keep` makes the change here while the server is away; without it, it `waits` for the server for a while."""
        self.work, self.keep = work, keep
        self.waits, self.session_id = waits, session_id
        self.done: Future[T] = Future()
        self.result: T
        self.error: Exception | None = None
        self.is_tried = False
        """Whether `result` is of the last try, which may have been committed."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What the last try has logged."""
        tried = self.result if self.is_tried and self.error is None else None
        return tried if isinstance(tried, tuple) and all(isinstance(each, Event) for each in tried) else ()

    def finish(self) -> None:
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self.result)


class ServerAway(Exception):
    """The server cannot be used, for now."""

    def __init__(self, reason: StoreError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Batches:
    """Commits batches of changes, each exactly once however often the connection is lost."""

    def __init__(self, commits: Commits, leases: Leases) -> None:
        self._commits, self._leases = commits, leases
        self.unheard = SavedUnheard()
        self._in_doubt: tuple[int, list[Job[Any]]] | None = None
        """The last transaction, when neither its failure nor its success is known."""

    def finish(self) -> None:
        """After a batch was made."""
        self._leases.commit()
        self.unheard.commit()

    def forget(self, batch: list[Job[Any]]) -> None:
        """No one asks again for what is in doubt of this batch."""
        if self._in_doubt is not None and self._in_doubt[1] is batch:
            self._in_doubt = None

    def make(self, batch: list[Job[Any]], patience_s: float) -> None:
        """Commit the batch once, however often the connection is lost. Raises `ServerAway` when it stays away."""
        until, retries = time.monotonic() + patience_s, 0
        for job in batch:
            job.is_tried = False
        while True:
            try:
                self._connect()
                if self.settled(batch):
                    return
                self._commits.make(lambda connection: self._perform(batch, connection))
                return
            except CommitInDoubt as doubt:
                self._in_doubt = (doubt.number, batch)
                failure = ServerAway(doubt.reason)
            except ServerAway as error:
                failure = error
            except psycopg.Error as error:
                retries += 1
                if not may_succeed_again(error) or retries > MOST_RETRIES:
                    raise
                continue
            if time.monotonic() >= until:
                raise failure
            time.sleep(RETRY_S)

    def _connect(self) -> None:
        try:
            self._commits.connected()
        except StoreError as error:
            raise ServerAway(error) from error

    def settled(self, batch: list[Job[Any]]) -> bool:
        """Find out about a transaction in doubt; returns whether it was this batch, and is done."""
        if self._in_doubt is None:
            return False
        (number, jobs), self._in_doubt = self._in_doubt, None
        if not self._commits.is_committed(number):
            return False
        if jobs is batch:
            return True
        for job in jobs:
            if job.events:
                self.unheard.add(job.events[0].session_id, job.events)
        return False

    def _perform(self, batch: list[Job[Any]], connection: Connection) -> None:
        """Run all jobs. One that refuses has read and not written, so that the others can be committed."""
        self._leases.begin()
        self.unheard.begin()
        for job in batch:
            job.error, job.is_tried = None, False
        for job in batch:
            try:
                job.result = job.work(connection)
            except StoreError as error:
                job.error = error
            job.is_tried = True
