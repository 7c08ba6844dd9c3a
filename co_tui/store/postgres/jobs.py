"""A change that waits for the writer's thread: how the server makes it, and what is done while the server is away."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from co_tui.events import Event
from co_tui.store.postgres.log import Connection

T = TypeVar("T")


class Job(Generic[T]):
    """Its future is resolved once the change is durable."""

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
        return tried if isinstance(tried, tuple) else ()

    def finish(self) -> None:
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self.result)
