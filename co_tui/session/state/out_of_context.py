"""Which messages of a session the model no longer sees, and why. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from co_tui.events import Clear, CompactionComplete, Event, Json, Ref, Truncation
from co_tui.events.stored_messages import QUOTES, REPLACES, prompt_of, quoted_in
from co_tui.session.state.derive import apply
from co_tui.session.state.history_edits import is_by_import, lived_through, standing_compactions
from co_tui.session.state.removals import DOES_NOT_FIT, OutOfContext, Removal, RemovedGroup
from co_tui.session.state.session_state import Entry, Rewritten, SessionState, replacement_entries, seq_of


def removal_reason(event: Event) -> str:
    """How a rewrite of the history removed messages from it."""
    if isinstance(event.fact, CompactionComplete):
        return "summarised" if event.fact.summary else "left out"
    return "cleared" if isinstance(event.fact, Clear) else "rewound"


def out_of_context(state: SessionState) -> OutOfContext:
    """The messages of the main agent that are not sent. Costs a pass over the whole transcript."""
    trace = _Trace(state)
    said = (entry for entry in state.transcript if not entry.agent)
    removals = {entry.seq: found for entry in said if (found := trace.removal(entry)) is not None}
    last = next((each for each in state.rewrites[-1:] if not is_by_import(each)), None)
    back = {entry.seq for entry in state.without(last)} if removals and last else set()
    kinds = {found.seq: found for found in removals.values()}
    counts = Counter(found.seq for found in removals.values())
    undoable = Counter(removals[seq].seq for seq in back & removals.keys())
    groups = (RemovedGroup(found, counts[seq], undoable[seq]) for seq, found in kinds.items())
    figures = tuple(_with_event_figures(group, state) for group in groups)
    return OutOfContext(removals, figures, _undone(state), _compactions_in_force(state), _quoted(state, removals))


def removed_by(fact: CompactionComplete, state: SessionState) -> RemovedGroup:
    """The messages of the conversation that would be out of context because of this compaction."""
    seq = state.seq + 1
    out = out_of_context(apply(state, Event(session_id="", seq=seq, timestamp="", fact=fact)))
    return next((group for group in out.groups if group.removal.seq == seq), RemovedGroup(Removal("", seq), 0, 0))


def _quoted(state: SessionState, removals: Mapping[int, Removal]) -> frozenset[int]:
    quotes = {quote for entry in state.history for quote in quoted_in(entry.message, QUOTES)} if removals else set()
    removed = (entry for entry in state.transcript if entry.seq in removals) if quotes else ()
    return frozenset(entry.seq for entry in removed if " ".join((prompt_of(entry.message) or "").split()) in quotes)


def _with_event_figures(group: RemovedGroup, state: SessionState) -> RemovedGroup:
    """Count what a clearing or a rewind removed, as the timeline does: what was summarised before was gone already."""
    removal = group.removal
    if removal.reason == DOES_NOT_FIT:
        return group._replace(undoable=0)
    rewrite = next((each for each in state.rewrites if each.seq == removal.seq), None)
    if rewrite is None or isinstance(rewrite.event.fact, CompactionComplete):
        return group
    present = {entry.ref for entry in state.history}
    left = sum(ref not in present for ref in rewrite.removed)
    is_last = rewrite is state.rewrites[-1]
    return RemovedGroup(removal, left, left if is_last else min(group.undoable, left))


def _undone(state: SessionState) -> frozenset[int]:
    """The compactions that were undone, or that a rewind went back before."""
    lived = lived_through(state.jumps)
    found = {seq for seq in map(seq_of, state.compactions) if seq in lived.undone or not lived.includes(seq)}
    return frozenset(found.difference(map(seq_of, standing_compactions(state)) if found else ()))


class _Trace:
    """Follows messages through rewrites of the history, and through rewrites of what replaced them."""

    def __init__(self, state: SessionState) -> None:
        self._present = {entry.ref for entry in state.history}
        self._left_out = state.held_out.left_out
        self._truncation = Removal(DOES_NOT_FIT, _last_truncation(state)) if self._left_out else None
        self._removed_by: dict[Ref, Rewritten] = {}
        self._copies: dict[int, list[Entry]] = {}
        for rewrite in state.rewrites:
            self._removed_by.update(dict.fromkeys(rewrite.removed, rewrite))
            self._copies[rewrite.seq] = [made for made in replacement_entries(rewrite.event) if _may_be_copy(made)]
        self._causes: dict[int, Removal] = {}
        for rewrite in reversed(state.rewrites):  # what replaced a replacement comes later
            self._causes[rewrite.seq] = self._cause(rewrite)

    def removal(self, entry: Entry) -> Removal | None:
        """Why a message is not sent; None if it is."""
        if entry.ref in self._left_out:
            return self._truncation
        if entry.ref in self._present:
            return None
        rewrite = self._removed_by.get(entry.ref)
        if rewrite is None:
            return Removal("", 0)
        copy = next((made for made in self._copies[rewrite.seq] if _is_copy(made.message, entry.message)), None)
        return self.removal(copy) if copy is not None else self._causes[rewrite.seq]

    def _cause(self, rewrite: Rewritten) -> Removal:
        own = Removal(removal_reason(rewrite.event), rewrite.seq)
        made = [entry.ref for entry in replacement_entries(rewrite.event)]
        later = self._removed_by.get(made[0]) if made and self._present.isdisjoint(made) else None
        if later is None or later.seq <= rewrite.seq:
            return own
        cause, fact = self._causes[later.seq], later.event.fact
        is_edited = isinstance(fact, CompactionComplete) and fact.is_rewritten_by_user
        return own if is_edited and cause.seq == later.seq else cause


def _last_truncation(state: SessionState) -> int:
    events = (event for event in reversed(state.timeline) if isinstance(event.fact, Truncation))
    return next((seq_of(event) for event in events if isinstance(event.fact, Truncation) and not event.fact.agent), 0)


def _compactions_in_force(state: SessionState) -> int:
    """The compactions whose replacement is sent, directly or as part of a later summary; an edit is none of its own."""
    refs = {entry.ref for entry in state.history} if state.compactions else set()
    found = 0
    for event in reversed(state.compactions):
        fact = event.fact
        assert isinstance(fact, CompactionComplete)
        if any((seq_of(event), index) in refs for index in range(len(fact.replacement))):
            refs.update(fact.replaced)
            found += not fact.is_rewritten_by_user
    return found


def _may_be_copy(made: Entry) -> bool:
    """Whether a replacement repeats a message, shortened or with a summary added, instead of describing it."""
    return REPLACES not in (made.message.get("metadata") or {})


def _is_copy(made: Json, message: Json) -> bool:
    if any(made.get(key) != message.get(key) for key in ("kind", "timestamp")):
        return False
    said = list(map(_content, message.get("parts") or ()))
    return any(_content(part) in said for part in made.get("parts") or () if part.get("part_kind") != "system-prompt")


def _content(part: Json) -> tuple[Any, ...]:
    return part.get("part_kind"), part.get("content"), part.get("tool_call_id")
