"""All that was said under a history, also what is no longer in it, and the ledger of its names."""

from collections.abc import Collection, Sequence

from pydantic_ai.messages import ModelMessage

from co_tui.append_only import AppendOnly
from co_tui.context.ledger import Ledger
from co_tui.context.offline_summary import Sources
from co_tui.events import CompactionComplete, Ref
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.session_state import Entry, SessionState, seq_of


class SaidBefore:
    """Follows one history; costs what was said since it was last looked at, unless that was taken back."""

    def __init__(self, parsed: ParsedMessages) -> None:
        self._parsed = parsed
        self._entries: list[Entry] = []
        self._ledger = Ledger()

    def sources(self, entries: Sequence[Entry], kept: Collection[Ref]) -> Sources:
        """The originals under a history, and which of them are not among what is kept."""
        same = 0
        for known, entry in zip(self._entries, entries, strict=False):
            if known.ref != entry.ref:
                break
            same += 1
        if same < len(self._entries):
            same, self._ledger = 0, Ledger()
        self._entries = list(entries)
        for message in self._parsed.read(entries[same:]):
            self._ledger.hear(message)
        gone = frozenset(number for number, entry in enumerate(entries) if entry.ref not in kept)
        return Sources(self._ledger, self._message, gone)

    def _message(self, number: int) -> ModelMessage:
        (message,) = self._parsed.read([self._entries[number]])
        return message


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
