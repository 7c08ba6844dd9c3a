"""The entries of a timeline by what they are about, so that showing one sort costs no look at the others."""

from collections.abc import Iterable, Sequence

from co_tui.events import Event
from co_tui.events.symbols import EntryKind

EVERYTHING = None
"""No kind in particular."""


class TimelineLog:
    """All entries in order, and those of each kind."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._all: list[Event] = []
        self._of_kind: dict[EntryKind, list[Event]] = {kind: [] for kind in EntryKind}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> EntryKind | None:
        """The kind of the entry it became; None for what is no entry."""
        entry = event.fact.entry()
        if entry is None:
            return None
        self._all.append(event)
        self._of_kind[entry.kind].append(event)
        return entry.kind

    def of(self, kind: EntryKind | None) -> Sequence[Event]:
        return self._all if kind is EVERYTHING else self._of_kind[kind]

    def hidden_by(self, kind: EntryKind | None) -> int:
        """How many entries a filter leaves out."""
        return len(self._all) - len(self.of(kind))

    def kind_after(self, kind: EntryKind | None) -> EntryKind | None:
        """The next filter that shows anything and hides anything; after the last of them, everything."""
        useful = [each for each in EntryKind if 0 < len(self._of_kind[each]) < len(self._all)]
        later = useful if kind is EVERYTHING else useful[useful.index(kind) + 1 :] if kind in useful else []
        return later[0] if later else EVERYTHING
