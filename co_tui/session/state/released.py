"""Save memory: messages that left the history are kept compressed, and decompressed when read."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from co_tui.append_only import AppendOnly
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
    """The same state with everything no longer in the history packed. The history stays the same object."""
    packing = _Packing({entry.ref for entry in state.history})
    return state.but(
        transcript=packing.entries(state.transcript),
        timeline=AppendOnly(map(packing.event, state.timeline)),
        rewrites=tuple(
            each._replace(before=packing.entries(each.before), after=packing.entries(each.after))
            for each in state.rewrites
        ),
        delegations={name: each.but(history=packing.entries(each.history)) for name, each in state.delegations.items()},
    )


class _Packing:
    """Packs each message once, wherever it occurs, except the kept ones."""

    def __init__(self, kept: set[Ref]) -> None:
        self._kept = kept
        self._packed: dict[Ref, PackedMessage] = {}

    def entries(self, entries: Iterable[Entry]) -> AppendOnly[Entry]:
        return AppendOnly(entry._replace(message=self._message(entry.ref, entry.message)) for entry in entries)

    def event(self, event: Event) -> Event:
        """Pack the prompt in the event that starts a turn."""
        fact = event.fact
        if not isinstance(fact, Message):
            return event
        return event.but(fact=fact.but(message=self._message((event.seq or 0, 0), fact.message)))

    def _message(self, ref: Ref, message: Json) -> Json:
        if ref in self._kept:
            return message
        if ref not in self._packed:
            self._packed[ref] = message if isinstance(message, PackedMessage) else PackedMessage(message)
        return self._packed[ref]
