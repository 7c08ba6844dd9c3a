"""All original messages behind a history, including those no longer in it: their names, and the steps in them."""

from collections.abc import Collection, Iterable, Sequence
from threading import Lock

from co_tui.append_only import AppendOnly
from co_tui.context.journal.sources import Sources
from co_tui.context.journal.work_record import WorkRecord
from co_tui.context.memory.ledger import Ledger
from co_tui.events import CompactionComplete, Ref
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.session_state import Entry, SessionState, seq_of


class WholeTranscript:
    """Follows one history; each call costs only the messages added since the last, unless some were undone."""

    def __init__(self, parsed: ParsedMessages) -> None:
        self._parsed = parsed
        self._known: Sequence[Entry] = ()
        self._ledger, self._work = Ledger(), WorkRecord()
        self._following = Lock()

    def sources(
        self, state: SessionState, history: AppendOnly[Entry], gone: Collection[Ref], agent: str = ""
    ) -> Sources:
        """The original messages, and which of them are not in the history or are in `gone`."""
        said = originals(state, history, agent)
        kept = {entry.ref for entry in history if entry.ref not in gone}
        out = frozenset(number for number, entry in enumerate(said) if entry.ref not in kept)
        ledger, work = self._follow(said)
        return Sources(ledger, work, out, lambda numbers: self._parsed.read([said[number] for number in numbers]))

    def _follow(self, said: Sequence[Entry]) -> tuple[Ledger, WorkRecord]:
        with self._following:
            same = 0
            for known, entry in zip(self._known, said, strict=False):
                if known.ref != entry.ref:
                    break
                same += 1
            if same < len(self._known):
                same, self._ledger, self._work = 0, Ledger(), WorkRecord()
            self._known = said
            for message in self._parsed.read(said[same:]):
                self._ledger.add(message)
                self._work.add(message)
            return self._ledger, self._work

    def refs(self, numbers: Iterable[int]) -> tuple[Ref, ...]:
        """The messages with these numbers in the ledger."""
        with self._following:
            return tuple(sorted({self._known[number].ref for number in numbers if number < len(self._known)}))

    def forget(self) -> None:
        """Release everything; the next call reads it again."""
        with self._following:
            self._known, self._ledger, self._work = (), Ledger(), WorkRecord()


def originals(state: SessionState, history: AppendOnly[Entry], agent: str = "") -> list[Entry]:
    """The original messages behind a history, in log order: replacements are resolved to what they replaced."""
    refs = {entry.ref for entry in history}
    if agent:
        return [entry for entry in state.transcript if entry.agent == agent or entry.ref in refs]
    for event in reversed(state.compactions):
        fact = event.fact
        assert isinstance(fact, CompactionComplete)
        if any((seq_of(event), place) in refs for place in range(len(fact.replacement))):
            refs.update(fact.replaced)
    return [entry for entry in state.transcript if entry.ref in refs and not entry.agent]
