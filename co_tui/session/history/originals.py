"""The original messages behind a history: replacements are resolved to what they replaced."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from co_tui.append_only import AppendOnly
from co_tui.events import CompactionComplete, Ref
from co_tui.session.state.carried_on import skill_parts
from co_tui.session.state.released import is_packed
from co_tui.session.state.session_state import Entry, Rewritten, SessionState, merged_in_order, seq_of


def originals(state: SessionState, history: AppendOnly[Entry], agent: str = "") -> list[Entry]:
    """The original messages behind a history, in log order. Costs a pass over the whole transcript."""
    refs = {entry.ref for entry in history}
    if agent:
        return [entry for entry in state.transcript if entry.agent == agent or entry.ref in refs]
    for event in reversed(state.compactions):
        fact = event.fact
        assert isinstance(fact, CompactionComplete)
        if any((seq_of(event), place) in refs for place in range(len(fact.replacement))):
            refs.update(fact.replaced)
    return [entry for entry in state.transcript if entry.ref in refs and not entry.agent]


def original_history(state: SessionState) -> AppendOnly[Entry] | None:
    """The history without any summary, each replaced by the messages it stands for; None if it has none."""
    made = {
        (seq_of(event), place)
        for event in state.compactions
        if isinstance(event.fact, CompactionComplete)
        for place in range(len(event.fact.replacement))
    }
    if not any(entry.ref in made for entry in state.history):
        return None
    found = originals(state, state.history)
    known = {entry.ref for entry in found}
    others = [entry for entry in state.history if entry.ref not in made and entry.ref not in known]
    return AppendOnly(merged_in_order(found, others))


class Originals:
    """Follows the history of a session; costs only what was added, unless the history was cleared, rewound or undone.

    Messages only join while the history grows and compactions replace parts of it by something.
    """

    def __init__(self) -> None:
        self.entries: AppendOnly[Entry] = AppendOnly()
        """A new lineage whenever they did not only grow."""
        self.skill_loads: AppendOnly[Entry] = AppendOnly()
        """Those that load skills, or answer that."""
        self._transcript: AppendOnly[Entry] = AppendOnly()
        self._rewrites: tuple[int, ...] = ()
        """Their seqs."""

    def follow(self, state: SessionState, history: AppendOnly[Entry], agent: str = "") -> None:
        """Learn what was added to a session's history; `agent` as for `originals`."""
        if not agent and self._only_grew(state):
            self._add([entry for entry in state.transcript[len(self._transcript) :] if not entry.agent])
            new = state.rewrites[len(self._rewrites) :]
            is_whole = self._holds(history) and all(self._holds(rewrite.before) for rewrite in new)
        else:
            is_whole = False
        if not is_whole:
            self._start_again(originals(state, history, agent))
        self._transcript = AppendOnly() if agent else state.transcript
        self._rewrites = () if agent else tuple(rewrite.seq for rewrite in state.rewrites)

    def numbers(self, refs: Iterable[Ref]) -> set[int]:
        """Where these messages are among the originals; replacements are not."""
        return {number for ref in refs if (number := self._number(ref)) is not None}

    def release(self, state: SessionState) -> None:
        """Hold messages as the state does, which packs those that left the history."""
        for entries in (self.entries, self.skill_loads):
            entries.swap(lambda entry: state.entry(entry.ref) or entry, is_packed)

    def _start_again(self, found: Sequence[Entry]) -> None:
        same = len(self.entries)
        if [entry.ref for entry in found[:same]] != [entry.ref for entry in self.entries]:
            same, self.entries, self.skill_loads = 0, AppendOnly(), AppendOnly()
        self._add(found[same:])

    def _add(self, new: Sequence[Entry]) -> None:
        self.entries = self.entries.extend(new)
        self.skill_loads = self.skill_loads.extend([entry for entry in new if skill_parts(entry.message)])

    def _only_grew(self, state: SessionState) -> bool:
        known, now = self._rewrites, state.rewrites
        if state.transcript.lineage is not self._transcript.lineage or len(state.transcript) < len(self._transcript):
            return False
        if len(now) < len(known) or (known and now[len(known) - 1].seq != known[-1]):
            return False
        return all(map(_replaces_by_something, now[len(known) :]))

    def _holds(self, history: Sequence[Entry]) -> bool:
        """Whether all messages of the history are known: a pin may bring back one that was cleared."""
        return all(not entry.turn or self._number(entry.ref) is not None for entry in history)

    def _number(self, ref: Ref) -> int | None:
        number = bisect_left(self.entries, ref, key=lambda entry: entry.ref)
        return number if number < len(self.entries) and self.entries[number].ref == ref else None


def _replaces_by_something(rewrite: Rewritten) -> bool:
    return isinstance(rewrite.event.fact, CompactionComplete) and bool(rewrite.event.fact.replacement)
