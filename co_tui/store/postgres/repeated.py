"""Appends that were saved although their caller heard that they failed."""

from collections.abc import Sequence

from co_tui.events import Event, Fact


class SavedUnheard:
    """By session, what a caller may ask for again; it is then answered with the events that are there."""

    def __init__(self) -> None:
        self._events: dict[str, tuple[Event, ...]] = {}
        self._left: dict[str, tuple[Event, ...]] = {}
        """The same while a transaction is tried."""

    def add(self, session_id: str, events: tuple[Event, ...]) -> None:
        self._events[session_id] = self._events.get(session_id, ()) + events

    def begin(self) -> None:
        """Before each try of a transaction."""
        self._left = dict(self._events)

    def commit(self) -> None:
        self._events = self._left

    def beginning_of(self, session_id: str, facts: Sequence[Fact]) -> tuple[Event, ...]:
        """The saved events that the facts begin with. Other facts mean that the caller goes on without them."""
        saved = self._left.pop(session_id, ())
        count = min(len(saved), len(facts))
        if [event.fact for event in saved[:count]] != list(facts[:count]):
            return ()
        if left := saved[count:]:
            self._left[session_id] = left
        return saved[:count]
