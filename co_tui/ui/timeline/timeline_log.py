"""Timeline entries indexed by kind, so that filtering does not scan all of them."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    Event,
    FilesChanged,
    Message,
    ModeChange,
    Rewind,
    SessionError,
    SessionInterrupted,
)
from co_tui.events.symbols import EntryKind
from co_tui.session.state.history_edits import lived_through
from co_tui.session.state.released import is_event_packed
from co_tui.session.state.session_state import Entry, seq_of
from co_tui.settings.rules import ASK

TimelineFilter: TypeAlias = EntryKind | str
"""What is shown: one kind of entries, or one of the two below."""
MAIN: Final = "main entries"
"""What matters: all but routine."""
EVERYTHING: Final = "all entries"


class Rearranged(NamedTuple):
    """Which lists an event changed otherwise than by one more entry at the end."""

    main: bool = False
    others: bool = False


class TimelineLog:
    """All entries in order, those shown without a filter, and those of each kind.

    A question about a call leaves as soon as it is answered: the answer is one entry that names the call. So does the
    start of a compaction when it ends. Among the main entries a failed turn is one with its retries, and a mode is one
    once a turn used it.
    """

    def __init__(self, events: Iterable[Event] = (), messages: Sequence[Entry] = ()) -> None:
        """`messages` are all that were logged: of these, `events` has only the first of each turn."""
        self._all: list[Event] = []
        self._undone: set[int] = set()
        """What was ever undone, also if a rewind then returned to before that."""
        self._jumps: list[Event] = []
        """Rewinds, and what was undone."""
        self._lived = lived_through(())
        self._main: list[Event] = []
        self._of_kind: dict[EntryKind, list[Event]] = {kind: [] for kind in EntryKind}
        self._asked: dict[tuple[str, str], Event] = {}
        self._started: dict[str, Event] = {}
        """The compaction under way, by its agent."""
        self._stopped: set[str] = set()
        """The turns that were stopped."""
        self._about: dict[int, str] = {}
        self._retries = 0
        """Of the failure that is the last main entry."""
        self._mode_used = ASK
        self._mode: Event | None = None
        """The latest change of the mode that no turn has used yet."""
        for event in events:
            if isinstance(event.fact, ModeChange):
                self._use_mode_of(messages, seq_of(event))
            self.add(event)
        self._use_mode_of(messages)

    def _use_mode_of(self, messages: Sequence[Entry], before: float = math.inf) -> None:
        """Use the latest mode if a message was logged after its change, and before an event."""
        if self._mode is not None and messages:
            index = bisect_right(messages, seq_of(self._mode), key=lambda entry: entry.seq)
            if index < len(messages) and messages[index].seq < before:
                self.use_mode()

    def add(self, event: Event) -> Rearranged:
        entry = event.fact.entry()
        if entry is None:
            return Rearranged()
        used = False
        match event.fact:
            case CompactionUndone() | Rewind() as jump:
                self._jumps.append(event)
                self._lived = lived_through(self._jumps)
                self._undone.update([jump.compaction_seq] if isinstance(jump, CompactionUndone) else ())
            case FilesChanged():
                used = self.use_mode()
            case SessionInterrupted(where=turn) if turn:
                self._stopped.add(turn)
        removed = self._answered(event) or self._ended(event)
        self._all.append(event)
        self._of_kind[entry.kind].append(event)
        return Rearranged(main=(not entry.is_quiet and self._add_main(event)) or used, others=removed)

    def _add_main(self, event: Event) -> bool:
        """Add a main entry; whether that did more than to append it."""
        match event.fact:
            case ModeChange(to=mode):
                self._mode = event if mode else None  # the mode of another user says nothing here
                return False
            case Message():
                used = self.use_mode()
                self._main.append(event)
                return used
            case SessionError() if self._main and _is_same_failure(self._main[-1].fact, event.fact):
                self._retries += 1
                self._about[event.seq or 0] = f"\nafter {self._retries} {'retry' if self._retries == 1 else 'retries'}"
                self._main[-1] = event
                return True
        self._retries = 0
        self._main.append(event)
        return False

    def use_mode(self) -> bool:
        """A turn begins or continues: show the change to its mode, if that is new; returns whether it is."""
        changed, self._mode = self._mode, None
        if changed is None or not isinstance(changed.fact, ModeChange) or changed.fact.to == self._mode_used:
            return False
        self._mode_used = changed.fact.to
        self._main.insert(bisect_right(self._main, seq_of(changed), key=seq_of), changed)
        return True

    def release(self, timeline: Sequence[Event]) -> None:
        """Hold events as the state's timeline does, which packs their messages; costs what was added since."""
        packed: dict[int, Event] = {}
        for event in reversed(self._all):
            if is_event_packed(event):
                break
            held = timeline[min(bisect_left(timeline, seq_of(event), key=seq_of), len(timeline) - 1)]
            if held is not event and held.seq == event.seq:
                packed[seq_of(held)] = held
        for entries in (self._all, self._main, *self._of_kind.values()) if packed else ():
            for index in range(bisect_left(entries, min(packed), key=seq_of), len(entries)):
                entries[index] = packed.get(seq_of(entries[index]), entries[index])

    @property
    def routine(self) -> int:
        """How many entries are not among the main ones."""
        return len(self._all) - len(self._main)

    def is_undone(self, event: Event) -> bool:
        """Whether a later entry undid this compaction, clearing or rewind, or went back before this compaction."""
        seq = seq_of(event)
        if self._lived.includes(seq):
            return seq in self._lived.undone
        return isinstance(event.fact, CompactionComplete) or seq in self._undone

    def is_stopped(self, event: Event) -> bool:
        """Whether it waited for a retry in a turn that was stopped: there is none to come."""
        fact = event.fact
        return isinstance(fact, SessionError) and bool(fact.retry_in_s) and fact.where in self._stopped

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
        """The call that an answer is about, and its dangers on a second line; of a failure, how often
        it was tried again; empty for other entries."""
        return self._about.get(event.seq or 0, "")

    def of(self, shown: TimelineFilter) -> Sequence[Event]:
        if isinstance(shown, EntryKind):
            return self._of_kind[shown]
        return self._all if shown == EVERYTHING else self._main

    def filter_after(self, shown: TimelineFilter) -> TimelineFilter:
        """The next filter with entries of its own: all, then each kind, then the main ones."""
        kinds = [kind for kind in EntryKind if self._of_kind[kind] and self._of_kind[kind] != self._main]
        filters = [MAIN, *([EVERYTHING] if self.routine else []), *kinds]
        return filters[(filters.index(shown) + 1) % len(filters)] if shown in filters else MAIN


def _is_same_failure(before: object, error: SessionError) -> bool:
    """Whether both are failures of one turn, or of one delegation in it."""
    return (
        isinstance(before, SessionError)
        and not (before.is_warning or error.is_warning)
        and (before.agent, before.where) == (error.agent, error.where)
        and bool(error.where)
    )


def _remove_latest(entries: list[Event], event: Event) -> None:
    """Remove an event that is probably among the last."""
    for index in range(len(entries) - 1, -1, -1):
        if entries[index] is event:
            del entries[index]
            return
