"""Timeline entries indexed by kind, so that filtering does not scan all of them."""

from collections.abc import Iterable, Sequence

from co_tui.events import CompactionUndone, Event
from co_tui.events.symbols import EntryKind

EVERYTHING = None
"""No filter."""


class TimelineLog:
    """All entries in order, and those of each kind."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._all: list[Event] = []
        self._undone: set[int] = set()
        self._of_kind: dict[EntryKind, list[Event]] = {kind: [] for kind in EntryKind}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> EntryKind | None:
        """Add an event and return its kind; None if it is not shown on the timeline."""
        entry = event.fact.entry()
        if entry is None:
            return None
        if isinstance(event.fact, CompactionUndone):
            self._undone.add(event.fact.compaction_seq)
        self._all.append(event)
        self._of_kind[entry.kind].append(event)
        return entry.kind

    def is_undone(self, event: Event) -> bool:
        """Whether a later entry undid this compaction, clearing or rewind."""
        return event.seq in self._undone

    def of(self, kind: EntryKind | None) -> Sequence[Event]:
        return self._all if kind is EVERYTHING else self._of_kind[kind]

    def hidden_by(self, kind: EntryKind | None) -> int:
        """Number of entries that a filter hides."""
        return len(self._all) - len(self.of(kind))

    def kind_after(self, kind: EntryKind | None) -> EntryKind | None:
        """The next filter that shows some entries and hides some; after the last one, no filter."""
        useful = [each for each in EntryKind if 0 < len(self._of_kind[each]) < len(self._all)]
        later = useful if kind is EVERYTHING else useful[useful.index(kind) + 1 :] if kind in useful else []
        return later[0] if later else EVERYTHING
