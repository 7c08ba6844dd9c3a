"""The only consumer of a session's events: keeps the state and passes each event on with it."""

from collections.abc import AsyncIterator, Callable

from co_tui.events import Event
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState


class Bridge:
    """Follows one session at a time."""

    def __init__(self, on_event: Callable[[Event, SessionState], None]) -> None:
        self.state = SessionState()
        self._on_event = on_event
        self._events: AsyncIterator[Event] | None = None

    def begin(self, state: SessionState) -> None:
        """Switch to another session's state; later events of the previous session are ignored."""
        self.state = state
        self._events = None

    async def follow(self, events: AsyncIterator[Event]) -> None:
        """Apply events until the session closes or another is shown. Events `state` already contains are skipped."""
        self._events = events
        async for event in events:
            if self._events is not events:
                return
            if event.seq is None or event.seq > self.state.seq:
                self.state = apply(self.state, event)
                self._on_event(event, self.state)
