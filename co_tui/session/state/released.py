"""Save memory: messages that left the history are kept compressed, and decompressed when read."""

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from co_tui.events import Clear, CompactionComplete, Event, Fact, Json, Message
from co_tui.session.state.session_state import Entry, SessionState, seq_of

BLOCK_MESSAGES: Final = 128
"""Messages that are compressed together, which takes half the room of each alone."""
BLOCK_CHARS: Final = 250_000
"""Of a block: more would take long to read again. A message that is longer, such as one with an image, is one alone."""
_BZ2: Final = b"BZh"
"""How its output begins."""


class _Block:
    """Messages that are compressed together once all are added."""

    __slots__ = ("_lines", "_packed")

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._packed = b""

    def has_room_for(self, line: str) -> bool:
        return len(self._lines) < BLOCK_MESSAGES and sum(map(len, self._lines)) + len(line) <= BLOCK_CHARS

    def add(self, line: str) -> "PackedMessage":
        self._lines.append(line)
        return PackedMessage(self, len(self._lines) - 1)

    def close(self) -> None:
        self._packed, self._lines = _compressed("\n".join(self._lines).encode()), []

    def lines(self) -> list[str]:
        return self._lines or _decompressed(self._packed)  # in this order: another thread may read while it is closed


@lru_cache(maxsize=1)
def _decompressed(packed: bytes) -> list[str]:
    """Cached: messages are read in order."""
    if packed.startswith(_BZ2):
        import bz2

        return bz2.decompress(packed).decode().split("\n")
    return zlib.decompress(packed).decode().split("\n")


def _compressed(text: bytes) -> bytes:
    """By bz2, which takes half the room of lzma in the same time; quickly where images would make that slow, or without
    it."""
    if len(text) <= BLOCK_CHARS:
        with suppress(ImportError):  # Python may be built without it
            import bz2  # deferred: needed only once messages left the history

            return bz2.compress(text)
    return zlib.compress(text, 1)


class PackedMessage(Mapping[str, Any]):
    """A compressed message; each access decompresses it."""

    __slots__ = ("_block", "_line")

    def __init__(self, block: _Block, line: int) -> None:
        self._block, self._line = block, line

    def opened(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._block.lines()[self._line])
        return message

    def __getitem__(self, key: str) -> Any:
        return self.opened()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.opened())

    def __len__(self) -> int:
        return len(self.opened())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self.opened() == dict(other)


class _PackedCompaction(CompactionComplete):
    """A compaction whose summary is compressed."""

    @property  # type: ignore[misc]
    def summary(self) -> str:
        text: str = self.__dict__["packed_summary"]["text"]
        return text

    def __eq__(self, other: object) -> bool:
        is_same = isinstance(other, CompactionComplete)
        return is_same and all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)


def opened(message: Json) -> Json:
    """The message as plain data, packed or not."""
    return message.opened() if isinstance(message, PackedMessage) else message


def released(state: SessionState) -> SessionState:
    """The same state with everything no longer in the history packed. All sequences keep their lineage.

    Costs what left since the last time: each sequence is followed back to what is packed already.
    """
    packing = _Packing(state)
    for entries in (state.transcript, *(each.history for each in state.delegations.values())):
        entries.swap(packing.entry, is_packed)
    rewrites = list(state.rewrites)
    for index in range(len(rewrites) - 1, -1, -1):
        rewrite = rewrites[index]
        is_new = rewrite.before.swap(packing.entry) | rewrite.after.swap(packing.entry)
        rewrites[index] = rewrite._replace(event=packing.event(rewrite.event))
        if not is_new and rewrites[index].event is rewrite.event:
            break  # a message is in all rewrites from its first to its last
    for events in (state.timeline, state.compactions):
        events.swap(packing.event, is_event_packed)
    packing.close()
    return state.but(rewrites=tuple(rewrites))


def is_packed(entry: Entry) -> bool:
    """Whether its message is compressed."""
    return isinstance(entry.message, PackedMessage)


def is_event_packed(event: Event) -> bool:
    """Whether its messages are compressed."""
    return any(isinstance(message, PackedMessage) for message in _messages_in(event))


def _messages_in(event: Event) -> tuple[Json, ...]:
    match event.fact:
        case Message(message=message):
            return (message,)
        case CompactionComplete(replacement=made) | Clear(carried=made):
            return made
    return ()


class _Packing:
    """Packs each message once, wherever it occurs, except those in the history."""

    def __init__(self, state: SessionState) -> None:
        self._kept = {entry.ref for entry in state.history}
        self._block = _Block()
        # By identity: what is packed, which is kept alive so that its id stays its own, and the same packed. A
        # delegation may have another form of a message under the same ref.
        self._messages: dict[int, tuple[Json, PackedMessage]] = {}
        self._entries: dict[int, tuple[Entry, Entry]] = {}
        self._events: dict[int, tuple[Event, Event]] = {}

    def entry(self, entry: Entry) -> Entry:
        """The packed entry: one object for all sequences that share the given one."""
        if entry.ref in self._kept or is_packed(entry):
            return entry
        if id(entry) not in self._entries:
            self._entries[id(entry)] = entry, entry._replace(message=self._message(entry.message))
        return self._entries[id(entry)][1]

    def event(self, event: Event) -> Event:
        """Pack the prompt in the event that starts a turn, and what a compaction or a clearing created."""
        messages = _messages_in(event)
        refs = ((seq_of(event), index) for index in range(len(messages)))
        if not messages or is_event_packed(event) or not self._kept.isdisjoint(refs):
            return event
        if id(event) not in self._events:
            self._events[id(event)] = event, event.but(fact=self._fact(event, tuple(map(self._message, messages))))
        return self._events[id(event)][1]

    def _fact(self, event: Event, packed: tuple[PackedMessage, ...]) -> Fact:
        match event.fact:
            case Message() as fact:
                return fact.but(message=packed[0])
            case CompactionComplete() as fact:
                return self._compaction(fact.but(replacement=packed))
            case Clear() as fact:
                return fact.but(carried=packed)
        return event.fact

    def _compaction(self, fact: CompactionComplete) -> CompactionComplete:
        if not fact.summary:
            return fact
        packed = object.__new__(_PackedCompaction)
        others = {name: value for name, value in vars(fact).items() if name != "summary"}
        packed.__dict__.update(others, packed_summary=self._message({"text": fact.summary}))
        return packed

    def close(self) -> None:
        """Compress what is left."""
        self._block.close()

    def _message(self, message: Json) -> PackedMessage:
        if isinstance(message, PackedMessage):
            return message
        if id(message) not in self._messages:
            self._messages[id(message)] = message, self._added(message)
        return self._messages[id(message)][1]

    def _added(self, message: Json) -> PackedMessage:
        line = json.dumps(message)
        if not self._block.has_room_for(line):
            self._block.close()
            self._block = _Block()
        return self._block.add(line)
