"""Timeline entries indexed by kind, so that filtering does not scan all of them."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    Event,
    Rewind,
)
from co_tui.events.symbols import EntryKind

TimelineFilter: TypeAlias = EntryKind | str
"""What is shown: one kind of entries, or one of the two below."""
MAIN: Final = "main entries"
"""All but the quiet ones."""
EVERYTHING: Final = "all entries"


class TimelineLog:
    """All entries in order, those shown without a filter, and those of each kind.

    A question about a call leaves as soon as it is answered: the answer is one entry that names the call. So does the
    start of a compaction when it ends.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._all: list[Event] = []
        self._undone: set[int] = set()
        self._rewinds: list[tuple[int, int]] = []
        """The events between which each rewind went back."""
        self._main: list[Event] = []
        self._of_kind: dict[EntryKind, list[Event]] = {kind: [] for kind in EntryKind}
        self._asked: dict[tuple[str, str], Event] = {}
        self._started: dict[str, Event] = {}
        """The compaction under way, by its agent."""
        self._about: dict[int, str] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> bool:
        """Add an event; returns whether an entry was removed: a question it answers, a start of which it is the end."""
        entry = event.fact.entry()
        if entry is None:
            return False
        match event.fact:
            case CompactionUndone(compaction_seq=seq):
                self._undone.add(seq)
            case Rewind(to_seq=start):
                self._rewinds.append((start, event.seq or 0))
        removed = self._answered(event) or self._ended(event)
        self._all.append(event)
        self._of_kind[entry.kind].append(event)
        if not entry.is_quiet:
            self._main.append(event)
        return removed

    def is_undone(self, event: Event) -> bool:
        """Whether a later entry undid this compaction, clearing or rewind, or went back before this compaction."""
        if event.seq in self._undone:
            return True
        rewinds = self._rewinds if isinstance(event.fact, CompactionComplete) else ()
        return any(start < (event.seq or 0) < end and end not in self._undone for start, end in rewinds)

    def _ended(self, event: Event) -> bool:
        match event.fact:
            case CompactionStart(agent=agent):
                self._started[agent] = event
            case CompactionComplete(agent=agent) if started := self._started.pop(agent, None):
                for entries in (self._all, self._of_kind[EntryKind.COMPACTION]):
                    _remove_latest(entries, started)
                return True
        return False

    def _answered(self, event: Event) -> bool:
        match event.fact:
            case ApprovalRequested(agent=agent, call_id=call_id):
                self._asked[agent, call_id] = event
            case ApprovalDecided(agent=agent, call_id=call_id) if asked := self._asked.pop((agent, call_id), None):
                assert isinstance(asked.fact, ApprovalRequested)
                self._about[event.seq or 0] = asked.fact.about()
                for entries in (self._all, self._of_kind[EntryKind.APPROVAL]):
                    _remove_latest(entries, asked)
                return True
        return False

    def about(self, event: Event) -> str:
        """The call that an answer is about, and its dangers on a second line; empty for other entries."""
        return self._about.get(event.seq or 0, "")

    def of(self, shown: TimelineFilter) -> Sequence[Event]:
        if isinstance(shown, EntryKind):
            return self._of_kind[shown]
        return self._all if shown == EVERYTHING else self._main

    def filter_after(self, shown: TimelineFilter) -> TimelineFilter:
        """The next filter with entries of its own: each kind, then all, then the main ones."""
        kinds = [kind for kind in EntryKind if self._of_kind[kind] and self._of_kind[kind] != self._main]
        filters = [MAIN, *kinds, *([EVERYTHING] if len(self._all) > len(self._main) else [])]
        return filters[(filters.index(shown) + 1) % len(filters)] if shown in filters else MAIN


def _remove_latest(entries: list[Event], event: Event) -> None:
    """Remove an event that is probably among the last."""
    for index in range(len(entries) - 1, -1, -1):
        if entries[index] is event:
            del entries[index]
            return
