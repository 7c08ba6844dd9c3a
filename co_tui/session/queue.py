"""The work queue of a session: one item at a time, in order."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from co_tui.session.run_to_completion import is_being_cancelled

Work = Callable[[], Awaitable[Any]]


class WaitingPrompt(NamedTuple):
    """A prompt that was not sent yet."""

    number: int
    text: str
    held: bool
    """Waits until it is released."""
    steers: bool = False
    """Meant for the running turn; becomes the next prompt if that ends first."""


class WorkCancelled(Exception):
    """Work was cancelled, and nobody asked for that."""

    def __init__(self) -> None:
        super().__init__("The work was cancelled from inside.")


class Steering(NamedTuple):
    """A prompt for the running work."""

    number: int
    text: str
    content: Any


@dataclass(slots=True, eq=False)
class _Item:
    work: Work
    number: int
    prompt: str = ""
    """Empty for other work, such as a compaction."""
    held: bool = False
    steering: Any = None
    """What to add to the running work, if that takes it before it ends."""
    done: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def answer(self, result: Any) -> None:
        if not self.done.done():
            self.done.set_result(result)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class WorkQueue:
    """Runs work in the order it was added; held prompts wait until they are released."""

    def __init__(
        self, name: str, changed: Callable[[], None], idle: Callable[[], Awaitable[None]], unsent: Any
    ) -> None:
        """`changed` is called when the waiting prompts change, `idle` when the queue is empty; `unsent` is the result
        of a prompt that was never sent."""
        self._name = name
        self._changed = changed
        self._idle = idle
        self._unsent = unsent
        self._items: list[_Item] = []
        self._numbers = count(1)
        self._worker: asyncio.Task[None] | None = None
        self._joined: list[_Item] = []
        """Items that joined the running work, and end with it."""
        self.working = False
        """Whether an item is being worked on."""
        self._pauses = 0
        """How many callers pause the queue."""

    @property
    def busy(self) -> bool:
        return self._worker is not None

    @property
    def prompts(self) -> tuple[WaitingPrompt, ...]:
        """The waiting prompts, in order."""
        return tuple(
            WaitingPrompt(item.number, item.prompt, item.held, item.steering is not None and not item.held)
            for item in self._waiting
        )

    @property
    def _waiting(self) -> list[_Item]:
        """The prompts, without the one that the worker starts next."""
        return [item for item in self._items if item.prompt and item is not self._next]

    @property
    def _next(self) -> _Item | None:
        """The item that the worker starts next."""
        return None if self._worker is None or self.working else self._first

    @property
    def _first(self) -> _Item | None:
        return next((item for item in self._items if not item.held), None)

    @property
    def has_next(self) -> bool:
        return not self.working and self._first is not None

    async def do(self, work: Work, prompt: str = "", steering: Any = None) -> Any:
        """Add work and wait for its result. Cancelling the caller does not cancel the work.

        With `steering`, the running work may take that instead; else this runs next.
        """
        item = _Item(work, next(self._numbers), prompt, steering=steering)
        before = [each for each in self._items if each.steering is not None] if steering is not None else self._items
        self._items.insert(len(before), item)
        if prompt and self.busy:
            self._changed()
        self._start()
        return await asyncio.shield(item.done)

    def next_steering(self) -> Steering | None:
        """What the running work may take next; it waits here, and can be held or withdrawn, until that is taken."""
        found = next((item for item in self._items if item.steering is not None and not item.held), None)
        return None if found is None else Steering(found.number, found.prompt, found.steering)

    def take_steering(self, number: int) -> bool:
        """Take it into the running work, with which it ends; False if it was held or withdrawn before."""
        item = self._item(number)
        if item is None or item.held:
            return False
        self._items.remove(item)
        self._joined.append(item)
        self._changed()
        return True

    def hold(self) -> int:
        """Hold the waiting prompts; returns how many."""
        waiting = [item for item in self._items if item.prompt and not item.held]
        for item in waiting:
            item.held = True
        if waiting:
            self._changed()
        return len(waiting)

    def release(self) -> None:
        """Send the held prompts, in order."""
        for item in self._items:
            item.held = False
        self._changed()
        self._start()

    def withdraw(self, number: int) -> str | None:
        """Remove a waiting prompt and return it; None if it is being answered already."""
        item = self._item(number)
        if item is None:
            return None
        self._items.remove(item)
        item.answer(self._unsent)
        self._changed()
        return item.prompt

    def move(self, number: int, step: int) -> None:
        """Swap a waiting prompt with the one before or after it."""
        item, waiting = self._item(number), self._waiting
        if item not in waiting or not 0 <= (target := waiting.index(item) + step) < len(waiting):
            return
        here, there = self._items.index(item), self._items.index(waiting[target])
        self._items[here], self._items[there] = self._items[there], self._items[here]
        self._changed()

    def clear(self, error: Exception) -> list[str]:
        """Drop all waiting items: other work than prompts fails with the error. Returns the prompts."""
        items, self._items = self._items, []
        for item in items:
            if item.prompt:
                item.answer(self._unsent)
            else:
                item.fail(error)
        if items:
            self._changed()
        return [item.prompt for item in items if item.prompt]

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Start nothing in the meantime; what is added runs afterwards."""
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            self._start()

    async def wait(self) -> None:
        """Wait until the worker has nothing left to do."""
        if self._worker is not None:
            await asyncio.wait([self._worker])

    def _settle(self) -> None:
        """The running work ended: steering that came too late becomes an ordinary prompt."""
        self._joined.clear()
        late = [item for item in self._items if item.steering is not None]
        for item in late:
            item.steering = None
        if late:
            self._changed()

    def _item(self, number: int) -> _Item | None:
        return next((item for item in self._items if item.number == number), None)

    def _start(self) -> None:
        if self._worker is None and not self._pauses and self.has_next:
            self._worker = asyncio.create_task(self._work(), name=self._name)

    async def _work(self) -> None:
        try:
            while not self._pauses and (item := self._first) is not None:
                self._items.remove(item)
                self.working = True
                if item.prompt:
                    self._changed()
                try:
                    result = await item.work()
                    for each in (item, *self._joined):
                        each.answer(result)
                except BaseException as error:
                    failure = error if isinstance(error, Exception) else WorkCancelled()
                    for each in (item, *self._joined):
                        each.fail(failure)
                    if is_being_cancelled() or not isinstance(error, Exception | asyncio.CancelledError):
                        self.clear(failure)
                        raise
                self._settle()
                self.working = False
        finally:
            self._worker, self.working = None, False
            await self._idle()
