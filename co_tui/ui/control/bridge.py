"""The only consumer of a session's events: keeps the state after the latest and passes each event on with it."""

from collections.abc import AsyncIterator, Callable

from co_tui.events import Event
from co_tui.session.state.session_state import SessionState


class Bridge:
    """Follows one session at a time."""

    def __init__(self, on_event: Callable[[Event, SessionState], None]) -> None:
        self.state = SessionState()
        self._on_event = on_event
        self._events: AsyncIterator[tuple[Event, SessionState]] | None = None

    def begin(self, state: SessionState) -> None:
        """Switch to another session's state; later events of the previous session are ignored."""
        self.state = state
        self._events = None

    async def follow(self, events: AsyncIterator[tuple[Event, SessionState]]) -> None:
        """Follow events, each with the state after it, until the session closes or another is shown. Events that
        `state` already contains are skipped."""
        self._events = events
        async for event, state in events:
            if self._events is not events:
                return
            if event.seq is None or event.seq > self.state.seq:
                if state.seq >= self.state.seq:  # what was announced while the session opened came before `state`
                    self.state = state
                self._on_event(event, self.state)
