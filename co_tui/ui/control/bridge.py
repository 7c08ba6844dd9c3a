"""The one consumer of a session's events: keeps the state, and hands each event on with it."""

from collections.abc import AsyncIterator, Callable

from co_tui.events import Event
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState


class Bridge:
    """Follows one session at a time."""

    def __init__(self, heard: Callable[[Event, SessionState], None]) -> None:
        self.state = SessionState()
        self._heard = heard
        self._events: AsyncIterator[Event] | None = None

    def begin(self, state: SessionState) -> None:
        """Show another session, as far as it is known. What the one before still says is not heard."""
        self.state = state
        self._events = None

    async def follow(self, events: AsyncIterator[Event]) -> None:
        """Until the session closes, or another one is shown. What `state` already holds is not applied twice."""
        self._events = events
        async for event in events:
            if self._events is not events:
                return
            if event.seq is None or event.seq > self.state.seq:
                self.state = apply(self.state, event)
                self._heard(event, self.state)
