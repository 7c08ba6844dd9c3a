"""Save memory: messages that left the history are kept compressed, and decompressed when read."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from co_tui.events import Event, Json, Message, Ref
from co_tui.session.state.session_state import Entry, SessionState


class PackedMessage(Mapping[str, Any]):
    """A compressed message; each access decompresses it."""

    __slots__ = ("_packed",)

    def __init__(self, message: Json) -> None:
        import zlib  # deferred: needed only when memory is short

        self._packed = zlib.compress(json.dumps(message).encode(), level=6)

    def opened(self) -> dict[str, Any]:
        import zlib

        message: dict[str, Any] = json.loads(zlib.decompress(self._packed))
        return message

    def __getitem__(self, key: str) -> Any:
        return self.opened()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.opened())

    def __len__(self) -> int:
        return len(self.opened())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self.opened() == dict(other)


def opened(message: Json) -> Json:
    """The message as plain data, packed or not."""
    return message.opened() if isinstance(message, PackedMessage) else message


def released(state: SessionState) -> SessionState:
    """The same state with everything no longer in the history packed. All sequences keep their lineage."""
    packing = _Packing({entry.ref for entry in state.history})
    rewritten = (history for rewrite in state.rewrites for history in (rewrite.before, rewrite.after))
    for entries in (state.transcript, *rewritten, *(each.history for each in state.delegations.values())):
        entries.swap(packing.entry)
    state.timeline.swap(packing.event)
    return state


class _Packing:
    """Packs each message once, wherever it occurs, except the kept ones."""

    def __init__(self, kept: set[Ref]) -> None:
        self._kept = kept
        self._packed: dict[Ref, PackedMessage] = {}
        self._entries: dict[int, tuple[Entry, Entry]] = {}
        """By identity: each entry, which is kept alive so that its id stays its own, and the packed one."""

    def entry(self, entry: Entry) -> Entry:
        """The packed entry: one object for all sequences that share the given one."""
        if entry.ref in self._kept or isinstance(entry.message, PackedMessage):
            return entry
        if id(entry) not in self._entries:
            packed = entry._replace(message=self._message(entry.ref, entry.message))
            self._entries[id(entry)] = (entry, packed)
        return self._entries[id(entry)][1]

    def event(self, event: Event) -> Event:
        """Pack the prompt in the event that starts a turn."""
        fact, ref = event.fact, (event.seq or 0, 0)
        if not isinstance(fact, Message) or ref in self._kept or isinstance(fact.message, PackedMessage):
            return event
        return event.but(fact=fact.but(message=self._message(ref, fact.message)))

    def _message(self, ref: Ref, message: Json) -> PackedMessage:
        if ref not in self._packed:
            self._packed[ref] = PackedMessage(message)
        return self._packed[ref]
