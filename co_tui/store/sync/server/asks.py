"""Questions to the server, which the sync's thread answers with its connection."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from co_tui.store.store_errors import StoreError

if TYPE_CHECKING:
    from co_tui.store.sync.server.server import Connection

T = TypeVar("T")


class Asks:
    """Those that wait, the oldest first. Any thread adds to them."""

    def __init__(self) -> None:
        self._waiting: deque[_Ask[Any]] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, work: "Callable[[Connection], T]") -> Future[T]:
        ask = _Ask(work)
        self._waiting.append(ask)
        return ask.done

    def answer(self, connection: "Connection", location: str) -> None:
        """Answer all. Raises psycopg's errors: the connection may be lost."""
        for ask in self._taken():
            ask.answer(connection, location)

    def refuse(self, reason: str) -> None:
        for ask in self._taken():
            ask.fail(reason)

    def _taken(self) -> Iterator["_Ask[Any]"]:
        with suppress(IndexError):  # the last one may be taken by two threads at the end
            while True:
                yield self._waiting.popleft()


class _Ask(Generic[T]):
    """A question to the server, answered in the sync's thread."""

    def __init__(self, work: "Callable[[Connection], T]") -> None:
        self.work = work
        self.done: Future[T] = Future()

    def answer(self, connection: "Connection", location: str) -> None:
        import psycopg

        from co_tui.store.sync.server.server_failures import explained

        if not self.done.set_running_or_notify_cancel():
            return
        try:
            result = self.work(connection)
        except StoreError as error:
            self.done.set_exception(error)
        except psycopg.Error as error:
            self.done.set_exception(explained(error, location))
            raise
        except Exception as error:  # as from rows that are damaged
            self.done.set_exception(StoreError(str(error)))
        else:
            self.done.set_result(result)

    def fail(self, reason: str) -> None:
        if self.done.set_running_or_notify_cancel():
            self.done.set_exception(StoreError(reason))
