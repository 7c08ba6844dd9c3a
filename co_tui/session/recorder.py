"""The path of every event: into the log, into the state, then to who is listening."""

import asyncio
from collections.abc import AsyncIterator

from co_tui.events import Event, Fact, MemoryReleased
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState
from co_tui.store.port import Writing
from co_tui.store.timestamps import now


class Listener(AsyncIterator[Event]):
    """The events of a session from the moment of subscribing until it is closed."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()

    def put(self, event: Event | None) -> None:
        self._queue.put_nowait(event)

    async def __anext__(self) -> Event:
        event = await self._queue.get()
        if event is None:
            self.put(None)
            raise StopAsyncIteration
        return event


class Recorder:
    """Logs facts, keeps the state they add up to, and publishes them in the order of the log."""

    def __init__(self, session_id: str, writer: Writing, state: SessionState) -> None:
        self.session_id = session_id
        self.state = state
        self.writer = writer
        self._listeners: list[Listener] = []
        self._order = asyncio.Lock()

    async def record(self, *facts: Fact, ends_draft: bool = False) -> tuple[Event, ...]:
        """Returns once the facts are durable; only then do state and listeners know of them."""
        async with self._order:
            logged = asyncio.wrap_future(self.writer.append(self.session_id, facts, ends_draft=ends_draft))
            # What was handed to the writer will be committed: a cancelled caller may not lose step with the log.
            try:
                events = await asyncio.shield(logged)
            except asyncio.CancelledError:
                self._publish(await logged)
                raise
            self._publish(events)
            return events

    def announce(self, fact: Fact) -> None:
        """Tell listeners what is happening now; not part of the log."""
        self._tell(Event(session_id=self.session_id, seq=None, timestamp=now(), fact=fact))

    def release_memory(self) -> None:
        """Let go of what is no longer in the history, here and wherever the events are followed."""
        event = Event(session_id=self.session_id, seq=None, timestamp=now(), fact=MemoryReleased())
        self._publish((event,))

    def listen(self, listener: Listener | None = None) -> Listener:
        listener = listener or Listener()
        self._listeners.append(listener)
        return listener

    def close(self) -> None:
        for listener in self._listeners:
            listener.put(None)
        self._listeners.clear()

    def _publish(self, events: tuple[Event, ...]) -> None:
        for event in events:
            self.state = apply(self.state, event)
            self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener.put(event)
