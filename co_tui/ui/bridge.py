"""The one consumer of a session's events: keeps the state, and hands each event on with it."""

from collections.abc import AsyncIterator, Callable

from co_tui.events import Event
from co_tui.session.state import SessionState, apply


class Bridge:
    """Follows one session at a time."""

    def __init__(self, heard: Callable[[Event, SessionState], None]) -> None:
        self.state = SessionState()
        self._heard = heard

    async def follow(self, events: AsyncIterator[Event]) -> None:
        """Until the session closes. Events that `state` already holds are not applied twice."""
        async for event in events:
            if event.seq is None or event.seq > self.state.seq:
                self.state = apply(self.state, event)
                self._heard(event, self.state)
