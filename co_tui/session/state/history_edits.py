"""The facts for undoing, pinning and editing what the model sees, from a state. Pure."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from co_tui.events import Clear, CompactionComplete, CompactionUndone, Event, Json, Pin, Ref, Rewind
from co_tui.events.facts.context import BY_IMPORT
from co_tui.events.stored_messages import EXCERPTS, JOURNAL, SUMMARY, pieces
from co_tui.session.state.released import opened
from co_tui.session.state.session_state import Entry, Rewritten, SessionState, merged_in_order, seq_of


class NothingToUndo(Exception):
    """Why the history cannot be changed like this, as a sentence."""


def undoable(state: SessionState, seq: int | None = None) -> Rewritten:
    """The latest rewrite, which must be the one at `seq` if given. Raises `NothingToUndo`."""
    if seq is not None and not 0 < seq <= state.seq:
        raise NothingToUndo(no_event(state, seq))
    if not state.rewrites:
        was_undone = any(isinstance(event.fact, CompactionUndone) for event in state.timeline)
        why = "all changes are undone already" if was_undone else "the context was not compacted, cleared or rewound"
        raise NothingToUndo(f"Nothing to undo: {why}.")
    last = state.rewrites[-1]
    if is_by_import(last):
        raise NothingToUndo("Nothing to undo: the session was read again from its file.")
    if seq is not None and seq != last.seq:
        known = any(each.seq == seq for each in state.rewrites)
        why = "undo the later change first" if known else "it is already undone, or changed nothing"
        raise NothingToUndo(f"Cannot undo that: {why}.")
    return last


def no_event(state: SessionState, seq: int) -> str:
    """Says that there is no event with that number."""
    return f"No event {seq}. This session has {state.seq}."


def is_by_import(rewrite: Rewritten) -> bool:
    """Whether an import has what it took back again; undoing it would have all of it twice."""
    return isinstance(rewrite.event.fact, Rewind) and rewrite.event.fact.by == BY_IMPORT


def said(state: SessionState) -> list[Entry]:
    """All that was said; what an import read again counts as it was read last."""
    return [entry for entry in state.transcript if not is_replaced(state, entry.seq)]


def is_replaced(state: SessionState, seq: int) -> bool:
    """Whether an import has read again what happened there."""
    imports = (each for each in state.rewrites if is_by_import(each))
    return any(isinstance(back := each.event.fact, Rewind) and back.to_seq < seq < each.seq for each in imports)


class Lived(NamedTuple):
    """What the conversation lived through: the parts of the log that led to its present, the newest first."""

    spans: tuple[tuple[float, float], ...]
    """The first and the last seq of each."""
    undone: frozenset[int]
    """The changes of the history that were undone."""

    def includes(self, seq: int) -> bool:
        return any(first <= seq <= last for first, last in self.spans)


def lived_through(jumps: Sequence[Event]) -> Lived:
    """Follows rewinds and undone changes, in log order.

    A rewind returns to a moment: what had been rewound or undone by then counts as it did then, whatever came later.
    """
    spans: list[tuple[float, float]] = []
    undone: set[int] = set()
    now = math.inf
    for event in reversed(jumps):
        seq, fact = seq_of(event), event.fact
        if seq > now:
            continue
        if isinstance(fact, CompactionUndone):
            undone.add(fact.compaction_seq)
        elif isinstance(fact, Rewind) and seq not in undone:
            spans.append((seq, now))
            now = fact.to_seq
    return Lived((*spans, (0, now)), frozenset(undone))


def is_rewound(state: SessionState, seq: int) -> bool:
    """Whether the conversation was rewound to before `seq`: the model no longer knows what happened there."""
    return not lived_through(state.jumps).includes(seq)


def undone(state: SessionState, rewrite: Rewritten) -> CompactionUndone:
    history = tuple(entry.ref for entry in state.without(rewrite))
    return CompactionUndone(compaction_seq=rewrite.seq, history=history, what=rewrite_name(rewrite.event))


def fork_title(title: str) -> str:
    """A title that distinguishes a fork from its source, and from a fork of a fork."""
    found = re.fullmatch(r"(.*?) \(fork(?: (\d{1,4}))?\)", title)
    return f"{found[1]} (fork {int(found[2] or 1) + 1})" if found else f"{title} (fork)".strip()


def rewrite_name(event: Event) -> str:
    """The name of a rewrite."""
    if isinstance(event.fact, CompactionComplete) and event.fact.edited and event.fact.summarised_by == "you":
        return "edit of the summary"
    return {Clear.TYPE: "clearing", Rewind.TYPE: "rewind"}.get(event.type, "compaction")


def standing_compactions(state: SessionState) -> list[Event]:
    """The compactions that the history builds on, oldest first, without those that were undone or rewound.

    Clearing does not undo them: the cleared history was built on them.
    """
    refs = {entry.ref for entry in state.history}
    for rewrite in state.rewrites:
        if isinstance(rewrite.event.fact, Clear):
            refs.update(entry.ref for entry in rewrite.before)
    found: list[Event] = []
    for event in reversed(state.compactions):
        fact = event.fact
        assert isinstance(fact, CompactionComplete)
        if any((event.seq or 0, index) in refs for index in range(len(fact.replacement))):
            refs.update(fact.replaced)
            found.append(event)
    return found[::-1]


def cleared(state: SessionState) -> Clear:
    """An empty history, except for system messages, which are never removed (I2)."""
    system = [entry for entry in state.history if has_system(entry.message)]
    whole = [entry.ref for entry in system if all(map(_is_system, entry.message["parts"]))]
    carried = [system_only(entry.message) for entry in system if entry.ref not in whole]
    return Clear(
        history=tuple(whole),
        messages_removed=len(state.history) - len(whole),
        carried=tuple(carried),
        carried_at=len(whole),
    )


def has_system(message: Json) -> bool:
    """Whether it holds a system message."""
    return any(map(_is_system, message.get("parts") or ()))


def system_only(message: Json) -> Json:
    """The message with only its system parts."""
    return {**message, "parts": [part for part in message["parts"] if _is_system(part)]}


def _is_system(part: Json) -> bool:
    return part.get("part_kind") == "system-prompt"


def beginning_of(state: SessionState, turn: int) -> Entry:
    """The prompt of a turn. Raises `NothingToUndo` if there is no such turn."""
    found = next((entry for entry in said(state) if entry.turn == turn), None)
    if found is None or turn < 1:
        raise NothingToUndo(f"No turn {turn}. This session has {state.turn}.")
    return found


def pinned(state: SessionState, refs: Sequence[Ref], on: bool) -> Pin:
    """Pin or unpin messages; a pinned one that left the history is brought back with its pair."""
    known = [ref for ref in refs if state.entry(ref) is not None]
    present = {entry.ref for entry in state.history}
    back = [ref for ref in known if ref not in present] if on else []
    return Pin(messages=tuple(known), pinned=on, history=_with_back(state, back) if back else ())


def edited(state: SessionState, seq: int, text: str) -> CompactionComplete:
    """Replace a summary in the history by the user's text. Raises `NothingToUndo`."""
    standing = [entry for entry in state.history if entry.seq == seq]
    event = next((each for each in state.compactions if each.seq == seq), None)
    if not text.strip() or not standing or event is None or not isinstance(event.fact, CompactionComplete):
        raise NothingToUndo("That summary is no longer in context, or the new one is empty.")
    before = event.fact.summary
    return CompactionComplete(
        success=True,
        trigger="manual",
        pre_messages=len(state.history),
        post_messages=len(state.history),
        replaced=tuple(entry.ref for entry in standing),
        replacement=tuple(_with_summary(opened(entry.message), before, text.strip()) for entry in standing),
        summary=text.strip(),
        summarised_by="you",
        model=state.model,
        edited=True,
    )


def _with_summary(message: Json, before: str, after: str) -> Json:
    """The replacement message with another summary."""
    metadata = message.get("metadata") or {}
    if SUMMARY not in metadata:
        return message
    parts = [
        {**part, "content": part["content"].replace(before, after, 1)} if isinstance(part.get("content"), str) else part
        for part in message.get("parts", ())
    ]
    # Lines of the edited text are no longer original.
    kept = {key: value for key, value in metadata.items() if key not in (EXCERPTS, JOURNAL)}
    return {**message, "parts": parts, "metadata": {**kept, SUMMARY: after}}


def _with_back(state: SessionState, back: Sequence[Ref]) -> tuple[Ref, ...]:
    """The history with messages brought back, each with its pair, in log order."""
    wanted: set[Ref] = set()
    for rewrite in state.rewrites:
        before = [entry.ref for entry in rewrite.before]
        messages = [entry.message for entry in rewrite.before]
        for ref in back:
            if ref in before:
                wanted.update(before[index] for index in pair_around(messages, before.index(ref)))
    wanted.update(back)
    present = {entry.ref for entry in state.history}
    added = [entry for ref in wanted - present if (entry := state.entry(ref)) is not None]
    return tuple(entry.ref for entry in merged_in_order(state.history, added))


def pair_around(messages: Sequence[Json], index: int) -> range:
    """The indexes of a call and its results."""
    start, stop = index, index + 1
    while start > 0 and _answers(messages[start]):
        start -= 1
    while stop < len(messages) and _answers(messages[stop]):
        stop += 1
    return range(start, stop)


def is_final_reply(message: Json) -> bool:
    """Whether it is a reply with text and without tool calls."""
    roles = [role for role, text, _ in pieces(message) if text.strip() or role == "tool_call"]
    return message.get("kind") == "response" and "tool_call" not in roles and "assistant" in roles


def _answers(message: Json) -> bool:
    return any(role == "tool_result" for role, _, _ in pieces(message))
