"""What a session is, as the sum of its events. Pure: the same events always give the same state."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, assert_never

from co_tui.append_only import AppendOnly
from co_tui.events import (
    ArtifactStored,
    Clear,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    CompactionWait,
    Event,
    HookRun,
    Json,
    MemoryWritten,
    Message,
    ModelChange,
    Pin,
    PolicyChange,
    PromptReturned,
    QueueChanged,
    Ref,
    Rewind,
    SessionEnd,
    SessionError,
    SessionFork,
    SessionInterrupted,
    SessionRename,
    SessionResume,
    SessionStart,
    StreamDelta,
    StreamReset,
    ToolActivity,
    Truncation,
    Unknown,
    UsageInfo,
)
from co_tui.events.facts import Place
from co_tui.events.messages import prompt_of, title_of
from co_tui.record import Record

PACE_TURNS = 6
"""How many turns back the pace is measured."""


class Entry(NamedTuple):
    """One message with its identity in the log."""

    ref: Ref
    turn: int
    message: Json
    timestamp: str
    interrupted: bool = False

    @property
    def seq(self) -> int:
        return self.ref[0]


class Sample(NamedTuple):
    """How much the context held at the end of a turn."""

    turn: int
    tokens: int
    messages: int


class Rewritten(NamedTuple):
    """A rewrite of the history that can be taken back."""

    event: Event
    before: AppendOnly[Entry]
    after: AppendOnly[Entry]

    @property
    def seq(self) -> int:
        return _seq(self.event)


class SessionState(Record):
    """Everything derived from a log: what the model would see, what was said, and what happened."""

    session_id: str = ""
    seq: int = 0
    title: str = ""
    model: str = ""
    policy: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""
    turn: int = 0
    history: AppendOnly[Entry] = AppendOnly()
    """The messages the session would send now."""
    transcript: AppendOnly[Entry] = AppendOnly()
    """Everything ever said; never shrinks."""
    timeline: AppendOnly[Event] = AppendOnly()
    """Turns and lifecycle events, in order."""
    compactions: AppendOnly[Event] = AppendOnly()
    """The successful ones: their replacements can stand in the history again after a rewind."""
    rewrites: tuple[Rewritten, ...] = ()
    """Compactions, clearings and rewinds that were not taken back, oldest first."""
    pins: frozenset[Ref] = frozenset()
    """Messages that every stage keeps."""
    compacting: Event | None = None
    """The start of a compaction that is under way."""
    usage: UsageInfo | None = None
    learnt: Mapping[str, Json] = MappingProxyType({})
    """What the reports of each model taught about its tokens."""
    readings: tuple[Sample, ...] = ()
    """The last turns since the history was rewritten or the model changed, for telling the pace."""
    cost: float = 0.0
    """Of the turns; summaries are apart."""
    summary_cost: float = 0.0
    started: bool = False
    ended: bool = False

    @property
    def tokens_per_turn(self) -> float:
        """How fast the context has been filling; 0 while that is not known, or when it shrank."""
        return self._pace(lambda sample: sample.tokens)

    @property
    def messages_per_turn(self) -> float:
        return self._pace(lambda sample: sample.messages)

    def _pace(self, held: Callable[[Sample], int]) -> float:
        if len(self.readings) < 2:
            return 0.0
        first, last = self.readings[0], self.readings[-1]
        return max(0.0, (held(last) - held(first)) / max(1, last.turn - first.turn))

    @property
    def turns_in_context(self) -> int:
        return len({entry.turn for entry in self.history if entry.turn})

    @property
    def total_cost(self) -> float | None:
        """Of turns and summaries, in US dollars; None when nobody published a price for any of it."""
        return self.cost + self.summary_cost or None

    def without(self, rewrite: Rewritten) -> list[Entry]:
        """The history as if that rewrite had not been: what stood before it, and all that came since."""
        known = {entry.ref for entry in (*rewrite.before, *rewrite.after)}
        since = [entry for entry in self.history if entry.ref not in known]
        brought_back = [entry for entry in since if entry.seq < rewrite.seq]
        said = [entry for entry in since if entry.seq > rewrite.seq]
        return [*woven(rewrite.before, brought_back), *said]

    def entry(self, ref: Ref) -> Entry | None:
        """The message of that identity, whether or not the history still holds it."""
        place = bisect_left(self.transcript, ref, key=lambda entry: entry.ref)
        if place < len(self.transcript) and self.transcript[place].ref == ref:
            return self.transcript[place]
        place = bisect_left(self.compactions, ref[0], key=_seq)
        if place < len(self.compactions) and _seq(self.compactions[place]) == ref[0]:
            entries = replacement_entries(self.compactions[place])
            return entries[ref[1]] if ref[1] < len(entries) else None
        return None


def apply(state: SessionState, event: Event) -> SessionState:
    """The state after `event`. Announcements that are not logged leave it as it was."""
    fact = event.fact
    match fact:
        case StreamDelta() | StreamReset() | ToolActivity() | QueueChanged() | PromptReturned() | CompactionWait():
            return state
        case SessionStart() | SessionResume() | SessionFork():
            # What was under way when the process before this one ended did not happen.
            state = _placed(state, fact).but(started=True, ended=False, compacting=None)
            return _happened(state.but(session_id=event.session_id), event)
        case SessionRename():
            return _happened(state.but(title=fact.title), event)
        case SessionEnd():
            return _happened(state.but(ended=True), event)
        case Message():
            return _said(state, event, fact)
        case UsageInfo():
            return _measured(state, event, fact)
        case CompactionComplete():
            return _happened(_compacted(state, event, fact), event)
        case Clear() | Rewind():
            return _happened(_rewritten(state, event, _resolved(state, fact.history)), event)
        case CompactionUndone():
            left = tuple(each for each in state.rewrites if each.seq != fact.compaction_seq)
            undone = state.but(history=_resolved(state, fact.history), rewrites=left, readings=())
            return _happened(undone, event)
        case Pin():
            return _happened(_pinned(state, fact), event)
        case ModelChange():
            return _happened(state.but(model=fact.to, readings=()), event)
        case PolicyChange():
            return _happened(state.but(policy=fact.to), event)
        case CompactionStart():
            return _happened(state.but(compacting=event), event)
        case Truncation():
            return _happened(state, event)
        case ArtifactStored() | MemoryWritten() | HookRun() | SessionError() | SessionInterrupted():
            return _happened(state, event)
        case Unknown():
            # Something a newer version did: its place in the log counts, its meaning is not ours to guess.
            return state.but(seq=_seq(event))
        case _:
            assert_never(fact)


def woven(entries: Iterable[Entry], added: Iterable[Entry]) -> list[Entry]:
    """The entries with others put among them in the order of the log; what stands for others keeps its place."""
    waiting = sorted(added, key=lambda entry: entry.ref)
    result: list[Entry] = []
    for entry in entries:
        while waiting and entry.turn and waiting[0].ref < entry.ref:
            result.append(waiting.pop(0))
        result.append(entry)
    return [*result, *waiting]


def replacement_entries(event: Event) -> tuple[Entry, ...]:
    """The messages a compaction put in place of those it replaced."""
    fact = event.fact
    if not isinstance(fact, CompactionComplete):
        return ()
    return tuple(
        Entry(ref=(_seq(event), index), turn=0, message=message, timestamp=event.timestamp)
        for index, message in enumerate(fact.replacement)
    )


def _seq(event: Event) -> int:
    return event.seq or 0


def _happened(state: SessionState, event: Event) -> SessionState:
    return state.but(seq=_seq(event), timeline=state.timeline.append(event))


def _placed(state: SessionState, place: Place) -> SessionState:
    return state.but(
        model=place.model or state.model,
        policy=place.policy or state.policy,
        cwd=place.cwd or state.cwd,
        repository=place.repository or state.repository,
        branch=place.branch or state.branch,
    )


def _said(state: SessionState, event: Event, fact: Message) -> SessionState:
    entry = Entry((_seq(event), 0), fact.turn, fact.message, event.timestamp, fact.interrupted)
    title = state.title
    if not title and (prompt := prompt_of(fact.message)) is not None:
        title = title_of(prompt)
    opens_turn = fact.turn > state.turn
    return state.but(
        seq=_seq(event),
        title=title,
        turn=max(state.turn, fact.turn),
        history=state.history.append(entry),
        transcript=state.transcript.append(entry),
        timeline=state.timeline.append(event) if opens_turn else state.timeline,
    )


def _measured(state: SessionState, event: Event, fact: UsageInfo) -> SessionState:
    readings = state.readings
    if readings and readings[-1].turn == state.turn:
        readings = readings[:-1]
    readings = (*readings, Sample(state.turn, fact.current_tokens, fact.messages_count))[-PACE_TURNS:]
    cost = state.cost + (fact.cost or 0.0)
    if fact.learnt:
        state = state.but(learnt={**state.learnt, fact.model: fact.learnt})
    return state.but(seq=_seq(event), usage=fact, readings=readings, cost=cost)


def _compacted(state: SessionState, event: Event, fact: CompactionComplete) -> SessionState:
    state = state.but(summary_cost=state.summary_cost + (fact.cost or 0.0), compacting=None)
    if not fact.success or not fact.replaced:
        return state  # a provider's own compaction replaces nothing of ours
    replaced = set(fact.replaced)
    history: list[Entry] = []
    placed = False
    for entry in state.history:
        if entry.ref not in replaced:
            history.append(entry)
        elif not placed:
            history.extend(replacement_entries(event))
            placed = True
    if not placed:
        return state
    state = _rewritten(state, event, AppendOnly(history))
    return state.but(compactions=state.compactions.append(event))


def _rewritten(state: SessionState, event: Event, history: AppendOnly[Entry]) -> SessionState:
    kept = Rewritten(event, before=state.history, after=history)
    return state.but(history=history, rewrites=(*state.rewrites, kept), readings=())


def _pinned(state: SessionState, fact: Pin) -> SessionState:
    pins = state.pins | set(fact.messages) if fact.pinned else state.pins - set(fact.messages)
    return state.but(pins=pins, history=_resolved(state, fact.history) if fact.history else state.history)


def _resolved(state: SessionState, refs: Iterable[Ref]) -> AppendOnly[Entry]:
    found = (state.entry(ref) for ref in refs)
    return AppendOnly(entry for entry in found if entry is not None)
