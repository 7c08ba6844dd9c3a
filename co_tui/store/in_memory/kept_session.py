"""A session as it is kept in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from co_tui.events import Event, Message
from co_tui.store.search.searchable_text import SearchableText, searchable
from co_tui.store.session_counts import SessionCounters
from co_tui.store.stored_values import SessionRow
from co_tui.store.timestamps import now


@dataclass(slots=True)
class KeptSession:
    """All of one session. The event of seq n stands at place n - 1."""

    id: str
    created: str = field(default_factory=now)
    came_in: str = ""
    """When it came from elsewhere; empty when it began here."""
    counters: SessionCounters = field(default_factory=SessionCounters)
    events: list[Event] = field(default_factory=list)
    partial_reply: list[str] = field(default_factory=list)

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.counters.count(event)

    @property
    def row(self) -> SessionRow:
        told = {name: getattr(self.counters, name) for name in SessionRow._fields if hasattr(self.counters, name)}
        return SessionRow(id=self.id, created=self.created, **told)

    def texts(self) -> Iterator[tuple[Event, SearchableText]]:
        """What a search looks at."""
        for event in list(self.events):
            if isinstance(event.fact, Message):
                for part in searchable(event.fact):
                    yield event, part
