"""The path of every event: into the log, into the state, then to the listeners."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Final, TypeVar

from co_tui.agent.known_keys import KnownKeys
from co_tui.events import Event, Fact, MemoryReleased, MessageNotSaved
from co_tui.session.approvals.marks import Marks
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState
from co_tui.session.without_keys import without_keys
from co_tui.store.port import LogWriting
from co_tui.store.store_errors import StoreError
from co_tui.store.timestamps import now

T = TypeVar("T")
SAVE_AGAIN_S: Final = 2.0
"""How often to retry what could not be saved."""


class Listener(AsyncIterator[Event]):
    """The events of a session from subscribing until it is closed."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Event, SessionState] | None] = asyncio.Queue()

    def put(self, happened: tuple[Event, SessionState] | None) -> None:
        """An event and the state after it; None once the session is closed."""
        self._queue.put_nowait(happened)

    async def __anext__(self) -> Event:
        return (await self._next())[0]

    async def with_states(self) -> AsyncIterator[tuple[Event, SessionState]]:
        """Each event with the session's state after it, which all listeners share."""
        with contextlib.suppress(StopAsyncIteration):
            while True:
                yield await self._next()

    async def _next(self) -> tuple[Event, SessionState]:
        happened = await self._queue.get()
        if happened is None:
            self.put(None)
            raise StopAsyncIteration
        return happened


class Recorder:
    """Logs facts, applies them to the state, and publishes them in log order."""

    def __init__(
        self,
        session_id: str,
        writer: LogWriting,
        state: SessionState,
        *,
        at_once: bool = False,
        marks: Marks | None = None,
        keys: KnownKeys | None = None,
    ) -> None:
        """`at_once`: the writer's results are there when it returns, so that no write can be cancelled halfway.
        `marks` marks what this machine decides. `keys` are taken out of what tools return."""
        self._marks = marks
        self.keys = keys or KnownKeys()
        self.session_id = session_id
        self.state = state
        self.writer = writer
        self._at_once = at_once
        self._listeners: list[Listener] = []
        self._order = asyncio.Lock()
        self._unsaved: tuple[Fact, ...] = ()
        """What could not be logged yet."""
        self._unsaved_end_draft = False
        self._saving_again: asyncio.Task[None] | None = None

    async def record(self, *facts: Fact, ends_draft: bool = False) -> tuple[Event, ...]:
        """Returns once the facts are durable; only then do state and listeners know of them."""
        return await self._in_order(self._write(facts, ends_draft))

    async def record_said(self, *facts: Fact, ends_draft: bool = False) -> None:
        """As `record`, for what already happened: what cannot be logged now is retried until it can be.

        Still raises: nothing may continue without its log.
        """
        await self._in_order(self._write_or_keep(facts, ends_draft))

    async def record_eventually(self, fact: Fact) -> None:
        """As `record_said`, for what cannot be refused: a failure is announced and retried, not raised, and who is
        cancelled meanwhile still records it."""
        with contextlib.suppress(StoreError):
            await run_to_completion(self.record_said(fact))

    @property
    def has_unsaved(self) -> bool:
        """Whether something happened that is not in the log yet."""
        return bool(self._unsaved)

    async def _save_again(self) -> None:
        while self._unsaved:
            await asyncio.sleep(SAVE_AGAIN_S)
            with contextlib.suppress(StoreError):
                await self.record()

    async def _in_order(self, writing: Coroutine[Any, Any, T]) -> T:
        """Write one at a time. What the writer was given will be committed, so a cancelled caller must still apply it
        to the state."""
        try:
            await self._order.acquire()
        except BaseException:
            writing.close()
            raise
        work = self._then_release(writing)
        return await (work if self._at_once else run_to_completion(work))

    async def _then_release(self, writing: Coroutine[Any, Any, T]) -> T:
        try:
            return await writing
        finally:
            self._order.release()

    async def _write_or_keep(self, facts: tuple[Fact, ...], ends_draft: bool) -> None:
        try:
            await self._write(facts, ends_draft)
        except StoreError as error:
            self._unsaved += facts
            self._unsaved_end_draft |= ends_draft
            self.announce(MessageNotSaved(why=str(error)))
            if self._saving_again is None or self._saving_again.done():
                self._saving_again = asyncio.create_task(self._save_again())
            raise

    async def _write(self, facts: tuple[Fact, ...], ends_draft: bool) -> tuple[Event, ...]:
        """Unsaved facts come first, in the same transaction; returns the events of `facts`."""
        if not (pending := tuple(map(self._marked, (*self._unsaved, *facts)))):
            return ()
        ends_draft |= self._unsaved_end_draft
        written = self.writer.append(self.session_id, pending, ends_draft=ends_draft)
        events = written.result() if self._at_once else await asyncio.wrap_future(written)
        self._unsaved, self._unsaved_end_draft = (), False
        self._publish(events)
        return events[len(pending) - len(facts) :]

    def _marked(self, fact: Fact) -> Fact:
        fact = without_keys(fact, self.keys)
        return fact if self._marks is None else self._marks.marked(self.session_id, fact, self.state.cwd)

    def announce(self, fact: Fact) -> None:
        """Publish what is happening now; not part of the log."""
        fact = without_keys(fact, self.keys)
        self._notify(Event(session_id=self.session_id, seq=None, timestamp=now(), fact=fact))

    def release_memory(self) -> None:
        """Release what is no longer in the history; listeners get the state that holds it packed."""
        event = Event(session_id=self.session_id, seq=None, timestamp=now(), fact=MemoryReleased())
        self._publish((event,))

    def listen(self, listener: Listener | None = None) -> Listener:
        listener = listener or Listener()
        self._listeners.append(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """Publish to it no longer."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def close(self) -> None:
        if self._saving_again is not None:
            self._saving_again.cancel()
        for listener in self._listeners:
            listener.put(None)
        self._listeners.clear()

    def _publish(self, events: tuple[Event, ...]) -> None:
        for event in events:
            self.state = apply(self.state, event)
            self._notify(event)

    def _notify(self, event: Event) -> None:
        for listener in self._listeners:
            listener.put((event, self.state))
