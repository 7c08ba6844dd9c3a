"""The history as pydantic-ai messages, each parsed from the log once."""

from collections.abc import Iterable, Iterator, Sequence

from pydantic_ai.messages import ModelMessage

from co_tui.agent.model_messages import message_json, read_messages
from co_tui.append_only import AppendOnly
from co_tui.events import Ref
from co_tui.session.state.released import opened
from co_tui.session.state.session_state import Entry

__all__ = ["ParsedMessages", "message_json"]


class ParsedMessages:
    """Caches the parsed form of every message in the history."""

    def __init__(self) -> None:
        self._parsed: dict[Ref, ModelMessage] = {}
        self._places: dict[int, tuple[object, Ref, int]] = {}
        self._lineage: object = None
        self._latest: AppendOnly[ModelMessage] = AppendOnly()

    def messages(self, history: AppendOnly[Entry]) -> Sequence[ModelMessage]:
        """What would be sent now, before any stage; for a history that only grew, only new messages are parsed."""
        known = len(self._latest)
        if history.lineage is not self._lineage or len(history) < known:
            known, self._latest, self._lineage = 0, AppendOnly(), history.lineage
        if len(history) > known:
            self._latest = self._latest.extend(self._parse(history[known:]))
        return self._latest

    def _parse(self, entries: Sequence[Entry]) -> list[ModelMessage]:
        missing = [entry for entry in entries if entry.ref not in self._parsed]
        parsed = read_messages([opened(entry.message) for entry in missing])
        for entry, message in zip(missing, parsed, strict=True):
            self.remember(entry.ref, message)
        return [self._parsed[entry.ref] for entry in entries]

    def read(self, entries: Sequence[Entry]) -> Iterator[ModelMessage]:
        """Messages of the log, including those no longer in the history, which are not cached."""
        for entry in entries:
            known = self._parsed.get(entry.ref)
            yield known if known is not None else read_messages([opened(entry.message)])[0]

    def remember(self, ref: Ref, message: ModelMessage) -> None:
        """Cache a message that is parsed already."""
        self._parsed[ref] = message
        for index, part in enumerate(message.parts):
            self._places[id(part)] = (part, ref, index)

    def copied(self) -> "ParsedMessages":
        """A copy with its own cache of the same message objects."""
        other = ParsedMessages()
        other._parsed, other._places = dict(self._parsed), dict(self._places)
        return other

    def release(self, live_entries: Iterable[Entry]) -> None:
        """Drop all messages but these."""
        live = {entry.ref for entry in live_entries}
        self._parsed = {ref: message for ref, message in self._parsed.items() if ref in live}
        self._places = {key: place for key, place in self._places.items() if place[1] in live}
        self._latest, self._lineage = AppendOnly(), None

    def location_of(self, part: object) -> tuple[int, int, int] | None:
        """Where a part is in the log: seq, message, part. None if it is not in the log."""
        found = self._places.get(id(part))
        return (*found[1], found[2]) if found is not None and found[0] is part else None
