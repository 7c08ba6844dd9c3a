"""All original messages behind a history, including those no longer in it; their names and steps."""

from collections.abc import Collection, Iterable, Sequence
from threading import Lock

from co_tui.append_only import AppendOnly
from co_tui.context.journal.sources import Sources
from co_tui.context.journal.work_record import WorkRecord
from co_tui.context.memory.ledger import Ledger
from co_tui.events import Ref
from co_tui.session.history.originals import Originals
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.session_state import Entry, SessionState


class WholeTranscript:
    """Follows one history; each call costs only the messages added since the last, unless some were undone."""

    def __init__(self, parsed: ParsedMessages) -> None:
        self._parsed = parsed
        self._originals = Originals()
        self._known: AppendOnly[Entry] = AppendOnly()
        """Those that are read."""
        self._ledger, self._work = Ledger(), WorkRecord()
        self._following = Lock()

    def sources(
        self, state: SessionState, history: AppendOnly[Entry], gone: Collection[Ref], agent: str = ""
    ) -> Sources:
        """The original messages, and which of them are not in the history or are in `gone`."""
        with self._following:
            self._originals.follow(state, history, agent)
            said = self._originals.entries
            kept = self._originals.numbers(entry.ref for entry in history if entry.ref not in gone)
            self._read(said)
            gone_numbers = frozenset(range(len(said))) - kept
            return Sources(
                self._ledger,
                self._work,
                gone_numbers,
                lambda numbers: self._parsed.read([said[number] for number in numbers]),
                state.files,
            )

    def skill_loads(self, state: SessionState, history: AppendOnly[Entry]) -> Sequence[Entry]:
        """The original messages that load skills."""
        with self._following:
            self._originals.follow(state, history)
            return self._originals.skill_loads

    def _read(self, said: AppendOnly[Entry]) -> None:
        if said.lineage is not self._known.lineage:
            self._ledger, self._work, self._known = Ledger(), WorkRecord(), AppendOnly()
        new = said[len(self._known) :]
        for entry, message in zip(new, self._parsed.read(new), strict=True):
            self._ledger.add(message)
            self._work.add(message, entry.outcomes)
        self._known = said

    def refs(self, numbers: Iterable[int]) -> tuple[Ref, ...]:
        """The messages with these numbers in the ledger."""
        with self._following:
            return tuple(sorted({self._known[number].ref for number in numbers if number < len(self._known)}))

    def release(self, state: SessionState, history: AppendOnly[Entry]) -> None:
        """Hold messages as the state does, and no lists of names for those that are not in the history; where each name
        was used, and the steps, stay known."""
        with self._following:
            self._originals.release(state)
            kept = self._originals.numbers(entry.ref for entry in history)
            self._ledger.release(kept)

    def forget(self) -> None:
        """Release everything; the next call reads it again."""
        with self._following:
            self._originals, self._known = Originals(), AppendOnly()
            self._ledger, self._work = Ledger(), WorkRecord()
