"""All that was said under a history, also what is no longer in it, and the ledger of its names."""

from collections.abc import Collection, Iterable, Sequence
from threading import Lock

from co_tui.append_only import AppendOnly
from co_tui.context.memory.excerpts import Sources
from co_tui.context.memory.ledger import Ledger
from co_tui.events import CompactionComplete, Ref
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.session_state import Entry, SessionState, seq_of


class WholeTranscript:
    """Follows one history; costs what was said since it was last looked at, unless that was taken back."""

    def __init__(self, parsed: ParsedMessages) -> None:
        self._parsed = parsed
        self._heard: Sequence[Entry] = ()
        self._ledger = Ledger()
        self._following = Lock()

    def sources(
        self, state: SessionState, history: AppendOnly[Entry], gone: Collection[Ref], agent: str = ""
    ) -> Sources:
        """What was said under a history, and which of it is not in it, or goes."""
        said = originals(state, history, agent)
        kept = {entry.ref for entry in history if entry.ref not in gone}
        out = frozenset(number for number, entry in enumerate(said) if entry.ref not in kept)
        return Sources(self._followed(said), out)

    def _followed(self, said: Sequence[Entry]) -> Ledger:
        with self._following:
            same = 0
            for known, entry in zip(self._heard, said, strict=False):
                if known.ref != entry.ref:
                    break
                same += 1
            if same < len(self._heard):
                same, self._ledger = 0, Ledger()
            self._heard = said
            for message in self._parsed.read(said[same:]):
                self._ledger.hear(message)
            return self._ledger

    def refs(self, numbers: Iterable[int]) -> tuple[Ref, ...]:
        """Which messages the ledger has under these numbers."""
        with self._following:
            return tuple(sorted({self._heard[number].ref for number in numbers if number < len(self._heard)}))

    def forget(self) -> None:
        """Let go of it all; it is heard again when somebody asks."""
        with self._following:
            self._heard, self._ledger = (), Ledger()


def originals(state: SessionState, history: AppendOnly[Entry], agent: str = "") -> list[Entry]:
    """What was said under a history, in the order of the log: that which stands for others is taken apart."""
    refs = {entry.ref for entry in history}
    if agent:
        return [entry for entry in state.transcript if entry.agent == agent or entry.ref in refs]
    for event in reversed(state.compactions):
        fact = event.fact
        assert isinstance(fact, CompactionComplete)
        if any((seq_of(event), place) in refs for place in range(len(fact.replacement))):
            refs.update(fact.replaced)
    return [entry for entry in state.transcript if entry.ref in refs and not entry.agent]
