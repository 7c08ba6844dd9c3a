"""The state of a session, derived from its events. Pure: the same events always give the same state."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from co_tui.append_only import AppendOnly
from co_tui.events import (
    ApprovalRequested,
    BoardShown,
    Clear,
    CompactionComplete,
    CompactionUndone,
    Event,
    Json,
    Message,
    PlanChanged,
    Recollection,
    Ref,
    RequestBilled,
    Rewind,
    SessionError,
    Surroundings,
    UsageInfo,
)
from co_tui.events.facts.base import MARK
from co_tui.events.recorded import ChangedFile, LoggedOutcome
from co_tui.events.stored_messages import REPLACES, as_sent, command_in, note_source, pieces
from co_tui.record import Record
from co_tui.session.state.pace import Pace
from co_tui.settings.permission_rules import Rule
from co_tui.settings.rules import ASK, CONVERSATION

MAX_COUNTED_CHARS: Final = 100_000
PLAN_TURNS: Final = 3
"""A plan that was not changed for this many turns is no longer in use."""


class Entry(NamedTuple):
    """One message with its identity in the log."""

    ref: Ref
    turn: int
    message: Json
    timestamp: str
    interrupted: bool = False
    agent: str = ""
    """Empty for the main agent; else the delegation it belongs to."""
    outcomes: tuple[LoggedOutcome, ...] = ()
    """Of the calls that it answers, or of the user's own command that it is."""

    @property
    def seq(self) -> int:
        return self.ref[0]


class Rewritten(NamedTuple):
    """A rewrite of the history that can be undone."""

    event: Event
    before: AppendOnly[Entry]
    after: AppendOnly[Entry]
    removed_chars: int = 0
    """The length of what it removed from the history."""
    removed: tuple[Ref, ...] = ()

    @property
    def seq(self) -> int:
        return seq_of(self.event)


class HeldOut(NamedTuple):
    """What requests are sent without since the last rewrite."""

    left_out: frozenset[Ref] = frozenset()
    clipped_chars: int = 0
    clipped_upto: Ref | None = None


NOTHING_HELD_OUT: Final = HeldOut()


class Spent(NamedTuple):
    """What the requests of a delegation used and cost."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    @property
    def usage(self) -> dict[str, int]:
        return {"requests": self.requests, "input_tokens": self.input_tokens, "output_tokens": self.output_tokens}

    def plus(self, bill: RequestBilled) -> "Spent":
        cost = self.cost if bill.cost is None else (self.cost or 0.0) + bill.cost
        tokens = (self.input_tokens + bill.input_tokens, self.output_tokens + bill.output_tokens)
        return Spent(self.requests + 1, *tokens, cost)


class Delegation(Record):
    """A task delegated to another agent, with its own history."""

    name: str = ""
    """The agent that was asked."""
    task: str = ""
    call_id: str = ""
    context: str = CONVERSATION
    """Whether it sees the top-level conversation."""
    results: bool = False
    """Whether its tool results come with its report."""
    status: Literal["running", "done", "failed", "interrupted", "stopped"] = "running"
    history: AppendOnly[Entry] = AppendOnly()
    recollection: Recollection | None = None
    is_rewritten: bool = False
    held_out: HeldOut = NOTHING_HELD_OUT
    usage: UsageInfo | None = None
    outcome: str = ""
    error: str = ""
    spent: Spent = Spent()


class SessionState(Record):
    """Everything derived from a log: what the model sees, all messages, and what happened."""

    session_id: str = ""
    seq: int = 0
    title: str = ""
    model: str = ""
    policy: str = ""
    cwd: str = ""
    repository: str = ""
    repository_id: str = ""
    """The same on every machine."""
    branch: str = ""
    turn: int = 0
    history: AppendOnly[Entry] = AppendOnly()
    """The messages that would be sent now."""
    transcript: AppendOnly[Entry] = AppendOnly()
    """All messages ever logged, in delegations too; never shrinks."""
    timeline: AppendOnly[Event] = AppendOnly()
    """Turns and lifecycle events, in order."""
    outcomes: tuple[LoggedOutcome, ...] = ()
    """Of calls whose results are not logged yet."""
    files: Mapping[str, ChangedFile] = MappingProxyType({})
    """The files that the session changed as far as it is recorded, the one changed last at the end; without those that
    only programs write, such as caches. A rewind of the conversation alone leaves them as they are."""
    compactions: AppendOnly[Event] = AppendOnly()
    """The successful ones: a rewind may bring their replacements back into the history."""
    restores: AppendOnly[Event] = AppendOnly()
    """Restores of files alone, without the conversation."""
    rewrites: tuple[Rewritten, ...] = ()
    """Compactions, clearings and rewinds that were not undone, oldest first."""
    jumps: AppendOnly[Event] = AppendOnly()
    """Rewinds, and what was undone: the conversation's way through the log, see `lived_through`."""
    recollection: Recollection | None = None
    """Lines brought back, and the message they go with."""
    is_rewritten: bool = False
    """Whether a compaction rewrote the history and no search for lines to recollect followed yet."""
    held_out: HeldOut = NOTHING_HELD_OUT
    """What did not fit into a request and is left out of the next ones, too."""
    pins: frozenset[Ref] = frozenset()
    """Messages that every stage keeps."""
    pending: tuple[ApprovalRequested, ...] = ()
    """Calls that wait for approval, in the order of asking."""
    allowed: tuple[Rule, ...] = ()
    """The rules that answers allowed beyond a single call, in the folder that it works in."""
    allowed_elsewhere: Mapping[str, tuple[Rule, ...]] = MappingProxyType({})
    """Those allowed in other folders that it worked in, by folder: they hold there only."""
    mode: str = ASK
    """Which calls run without asking."""
    folders: tuple[str, ...] = ()
    """Added to the one it works in."""
    board: BoardShown | None = None
    """The context board the session started with."""
    began_in: Surroundings | None = None
    """Date, platform and so on in the system prompt."""
    surroundings: Surroundings | None = None
    """The latest that the model knows."""
    speaker: str = ""
    """The agent of a file that the conversation was handed to; empty for the main agent."""
    awaits_model: bool = False
    """Whether the speaker changed, and neither its model nor why it cannot be used is logged since."""
    main_model: str = ""
    """The main agent's model while another agent answers with its own, or a slash command uses its own; empty
    otherwise."""
    plan: tuple[Json, ...] = ()
    """The steps of the plan, each with its `text` and its `state`."""
    delegations: Mapping[str, Delegation] = MappingProxyType({})
    """All delegations, by the name under which their events are logged."""
    compacting: Event | None = None
    """The start of the running compaction."""
    usage: UsageInfo | None = None
    usage_holds: bool = False
    """Whether the next request is unchanged since the usage was measured."""
    learnt: Mapping[str, Json] = MappingProxyType({})
    """What was learned about each model's tokens."""
    pace: Pace = Pace()
    """How fast the context fills."""
    cost: float = 0.0
    """Of turns and delegations."""
    assumed_cost: float = 0.0
    """Of all requests whose server publishes no price, at the prices of the models' makers."""
    summary_cost: float = 0.0
    """Of summaries, titles and board updates."""
    billed: RequestBilled | None = None
    """The last request of the main agent."""
    cached_tokens: int = 0
    """Prompt tokens read from providers' caches."""
    cache_saved: float = 0.0
    """What the caches saved, in US dollars, where prices are known."""
    started: bool = False
    ended: bool = False

    @property
    def not_sent(self) -> int:
        """How many messages of the history the next request goes without, by the last measurement."""
        known = self.usage.messages_count if self.usage is not None and self.usage_holds else len(self.history)
        return max(0, len(self.history) - known)

    @property
    def plan_in_use(self) -> tuple[Json, ...]:
        """The plan, until it was not changed for three turns; empty from then on."""
        turns = 0
        for event in reversed(self.timeline) if self.plan else ():
            if isinstance(event.fact, PlanChanged | Rewind | CompactionUndone):  # these bring an earlier one back
                break
            turns += isinstance(event.fact, Message)  # the timeline has those that open a turn
            if turns == PLAN_TURNS:
                return ()
        return self.plan

    def turns_in_context(self, most: int) -> int:
        """How many turns the history covers; stops counting above `most`."""
        turns: set[int] = set()
        for entry in reversed(self.history):
            if entry.turn:
                turns.add(entry.turn)
            if len(turns) > most:
                break
        return len(turns)

    @property
    def removed_chars(self) -> int:
        """The length of the largest removal that was not undone."""
        return max((each.removed_chars for each in self.rewrites), default=0)

    @property
    def total_cost(self) -> float | None:
        """Of turns and summaries, in US dollars; None if no price is known."""
        return self.cost + self.summary_cost or None

    def without(self, rewrite: Rewritten) -> list[Entry]:
        """The history without that rewrite: what was there before it, and everything since."""
        known = {entry.ref for entry in (*rewrite.before, *rewrite.after)}
        since = [entry for entry in self.history if entry.ref not in known]
        brought_back = [entry for entry in since if entry.seq < rewrite.seq]
        said = [entry for entry in since if entry.seq > rewrite.seq]
        return [*merged_in_order(rewrite.before, brought_back), *said]

    def entry(self, ref: Ref) -> Entry | None:
        """The message with that identity, even if it left the history."""
        place = bisect_left(self.transcript, ref, key=lambda entry: entry.ref)
        if place < len(self.transcript) and self.transcript[place].ref == ref:
            return self.transcript[place]
        place = bisect_left(self.timeline, ref[0], key=seq_of)
        if place < len(self.timeline) and seq_of(self.timeline[place]) == ref[0]:
            entries = replacement_entries(self.timeline[place])
            return entries[ref[1]] if ref[1] < len(entries) else None
        return None


def characters_in(entries: Iterable[Entry]) -> int:
    """The length of the messages' texts; stops counting at `MAX_COUNTED_CHARS`."""
    total = 0
    for entry in entries:
        total += sum(len(text) for _, text, _ in pieces(as_sent(entry.message)))
        if total >= MAX_COUNTED_CHARS:
            return MAX_COUNTED_CHARS
    return total


def merged_in_order(entries: Iterable[Entry], added: Iterable[Entry]) -> list[Entry]:
    """The entries with others inserted in log order; replacements keep their position."""
    waiting = sorted(added, key=lambda entry: entry.ref)
    result: list[Entry] = []
    for entry in entries:
        while waiting and entry.turn and waiting[0].ref < entry.ref:
            result.append(waiting.pop(0))
        result.append(entry)
    return [*result, *waiting]


def replacement_entries(event: Event) -> tuple[Entry, ...]:
    """The messages that a compaction or a clearing created."""
    match event.fact:
        case CompactionComplete(replacement=made) | Clear(carried=made):
            pass
        case _:
            return ()
    return tuple(
        Entry(ref=(seq_of(event), index), turn=0, message=message, timestamp=event.timestamp)
        for index, message in enumerate(made)
    )


def surroundings_of(stored: Json) -> Surroundings:
    """What a session began in, as it was stored."""
    return Surroundings(**{name: str(stored.get(name, "")) for name in Surroundings.FIELDS if name != MARK})


def seq_of(event: Event) -> int:
    return event.seq or 0


def is_finished(state: SessionState) -> bool:
    """Whether the latest turn ended with a complete reply; also true for an empty session."""
    latest = next(_said(state), None)
    return latest is None or _ends_a_turn(latest)


_STOPPED_ITSELF: Final = frozenset({"steps", "repeated_call"})
"""Failures after which the same request would fail again: a turn that works too long, or in circles."""


def is_unanswered(state: SessionState) -> bool:
    """Whether the latest request got no reply, so that sending it again continues the turn."""
    latest = next(_said(state), None)
    if latest is None or latest.message.get("kind") != "request" or not state.history or state.pending:
        return False
    if (failure := _failure_since(state, latest.seq)) is not None:
        return failure.kind not in _STOPPED_ITSELF
    return any(role == "user" for role, _, _ in pieces(latest.message))


def _failure_since(state: SessionState, seq: int) -> SessionError | None:
    """The failure that ended the turn after an event."""
    for event in reversed(state.timeline):
        if seq_of(event) <= seq:
            break
        fact = event.fact
        if isinstance(fact, SessionError) and not fact.agent and fact.retry_in_s is None:
            return fact
    return None


def _said(state: SessionState) -> Iterator[Entry]:
    """Messages of the user and the main agent, newest first: those in the history, then the whole transcript."""
    for entry in chain(reversed(state.history), reversed(state.transcript)):
        metadata = entry.message.get("metadata")
        stands_for_others = isinstance(metadata, Mapping) and REPLACES in metadata
        if not (entry.agent or stands_for_others or command_in(entry.message) or note_source(entry.message)):
            yield entry


def _ends_a_turn(entry: Entry) -> bool:
    message = entry.message
    is_whole = not entry.interrupted and message.get("finish_reason") != "length"
    return message.get("kind") == "response" and is_whole and all(role != "tool_call" for role, _, _ in pieces(message))
