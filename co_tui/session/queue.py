"""What waits for its turn in a session: one thing is done after the other, in order."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

Work = Callable[[], Awaitable[Any]]


class WaitingPrompt(NamedTuple):
    """A prompt that has not been said yet."""

    number: int
    text: str
    held: bool
    """Not said until somebody says so."""
    steers: bool = False
    """Meant for the turn that runs; the next prompt when that ends before."""


@dataclass(slots=True, eq=False)
class _Item:
    work: Work
    number: int
    prompt: str = ""
    """Empty for what is no prompt, a compaction for instance."""
    held: bool = False
    steering: Any = None
    """What to add to the work that is being done, if that takes it before it ends."""
    done: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def answer(self, result: Any) -> None:
        if not self.done.done():
            self.done.set_result(result)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class WorkQueue:
    """Does what was asked for in the order of asking; prompts that are held wait until they are released."""

    def __init__(self, name: str, changed: Callable[[], None], idle: Callable[[], Awaitable[None]]) -> None:
        """`changed` hears when another list of prompts waits; `idle` is done when nothing is left to do."""
        self._name = name
        self._changed = changed
        self._idle = idle
        self._items: list[_Item] = []
        self._numbers = count(1)
        self._worker: asyncio.Task[None] | None = None
        self._joined: list[_Item] = []
        """What became part of the work that is being done, and ends with it."""
        self.working = False
        """Whether something was taken from what waits and is not done yet."""
        self._stills = 0
        """How many want that nothing begins."""

    @property
    def busy(self) -> bool:
        return self._worker is not None

    @property
    def prompts(self) -> tuple[WaitingPrompt, ...]:
        return tuple(
            WaitingPrompt(item.number, item.prompt, item.held, item.steering is not None and not item.held)
            for item in self._waiting
        )

    @property
    def _waiting(self) -> list[_Item]:
        """The prompts, without the one that the worker is about to take up."""
        return [item for item in self._items if item.prompt and item is not self._next]

    @property
    def _next(self) -> _Item | None:
        """What the worker is about to take up."""
        return None if self._worker is None or self.working else self._first

    @property
    def _first(self) -> _Item | None:
        return next((item for item in self._items if not item.held), None)

    @property
    def is_about_to_begin(self) -> bool:
        return not self.working and self._first is not None

    async def do(self, work: Work, prompt: str = "", steering: Any = None) -> Any:
        """Wait for the turn of this work, and for its end. Whoever waits may go away; the work goes on.

        With `steering`, the work that is being done may take that instead; else this comes next.
        """
        item = _Item(work, next(self._numbers), prompt, steering=steering)
        before = [each for each in self._items if each.steering is not None] if steering is not None else self._items
        self._items.insert(len(before), item)
        if prompt and self.busy:
            self._changed()
        self._start()
        return await asyncio.shield(item.done)

    def take_steering(self) -> list[Any]:
        """What was meant for the work that is being done; whoever waits for it, waits for the end of that."""
        taken = [item for item in self._items if item.steering is not None and not item.held]
        if taken:
            self._items = [item for item in self._items if item not in taken]
            self._joined += taken
            self._changed()
        return [item.steering for item in taken]

    def hold(self) -> int:
        """Keep the prompts that wait from being said; returns how many."""
        waiting = [item for item in self._items if item.prompt and not item.held]
        for item in waiting:
            item.held = True
        if waiting:
            self._changed()
        return len(waiting)

    def release(self) -> None:
        """Say what is held, in order."""
        for item in self._items:
            item.held = False
        self._changed()
        self._start()

    def withdraw(self, number: int, answer: Any) -> str | None:
        """Take a prompt out; whoever waits for it gets `answer`. None when it has been taken up already."""
        item = self._item(number)
        if item is None:
            return None
        self._items.remove(item)
        item.answer(answer)
        self._changed()
        return item.prompt

    def move(self, number: int, step: int) -> None:
        """Let a prompt change places with the one before or after it."""
        item, waiting = self._item(number), self._waiting
        if item not in waiting or not 0 <= (place := waiting.index(item) + step) < len(waiting):
            return
        here, there = self._items.index(item), self._items.index(waiting[place])
        self._items[here], self._items[there] = self._items[there], self._items[here]
        self._changed()

    def give_up(self, answer: Any, error: Exception) -> list[str]:
        """Nothing of what waits will be done: prompts get `answer`, all else the error. Returns the prompts."""
        items, self._items = self._items, []
        for item in items:
            if item.prompt:
                item.answer(answer)
            else:
                item.fail(error)
        if items:
            self._changed()
        return [item.prompt for item in items if item.prompt]

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nothing begins meanwhile; what is asked for is done afterwards."""
        self._stills += 1
        try:
            yield
        finally:
            self._stills -= 1
            self._start()

    async def wait(self) -> None:
        """Until what is being done is done."""
        if self._worker is not None:
            await asyncio.wait([self._worker])

    def _settle(self) -> None:
        """What was being done is over: what was meant for it and came too late is a prompt like any other."""
        self._joined.clear()
        late = [item for item in self._items if item.steering is not None]
        for item in late:
            item.steering = None
        if late:
            self._changed()

    def _item(self, number: int) -> _Item | None:
        return next((item for item in self._items if item.number == number), None)

    def _start(self) -> None:
        if self._worker is None and not self._stills and self.is_about_to_begin:
            self._worker = asyncio.create_task(self._work(), name=self._name)

    async def _work(self) -> None:
        try:
            while not self._stills and (item := self._first) is not None:
                self._items.remove(item)
                self.working = True
                if item.prompt:
                    self._changed()
                try:
                    result = await item.work()
                    for each in (item, *self._joined):
                        each.answer(result)
                except Exception as error:
                    for each in (item, *self._joined):
                        each.fail(error)
                self._settle()
                self.working = False
        finally:
            self._worker, self.working = None, False
            await self._idle()
