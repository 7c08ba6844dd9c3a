"""Events as rows of a log, and which facts may be logged."""

from collections.abc import Sequence
from typing import NamedTuple

from co_tui.events import Event, Fact, Message, is_durable
from co_tui.events.event import payload_of
from co_tui.events.facts.base import Logged
from co_tui.events.storable import dump
from co_tui.store.search.searchable_text import SearchableText, searchable
from co_tui.store.store_errors import SessionNotFound, StoreError


class EventRow(NamedTuple):
    """An event as it is stored, with the texts it is found by."""

    session_id: str
    seq: int
    type: str
    timestamp: str
    version: int
    payload: str
    texts: tuple[SearchableText, ...]

    @classmethod
    def of(cls, event: Event) -> "EventRow":
        texts = tuple(searchable(event.fact)) if isinstance(event.fact, Message) else ()
        payload = dump(payload_of(event))
        return cls(event.session_id, event.seq or 0, event.type, event.timestamp, event.version, payload, texts)

    @property
    def chars(self) -> int:
        """What writing it is measured by."""
        return len(self.payload) + sum(len(each.text) for each in self.texts)


def check_durable(facts: Sequence[Fact]) -> None:
    for fact in facts:
        if not is_durable(fact):
            raise ValueError(f"{fact.TYPE} is announced, never logged")


def check_first_event(session_id: str, facts: Sequence[Fact]) -> None:
    first = facts[0] if facts else None
    if isinstance(first, Logged) and first.NEEDS_SESSION:
        raise SessionNotFound(f"Session {session_id} no longer exists.")


def check_follows(session_id: str, after_seq: int, last_seq: int | None) -> None:
    """Whether the rest of a log, after one seq, continues a session that is there up to another; None for none."""
    if last_seq is None:
        raise SessionNotFound(f"No session {session_id} to continue. Import its whole log.")
    if last_seq != after_seq:
        raise StoreError(
            f"Session {session_id} cannot be continued with event {after_seq + 1}: its last one here is {last_seq}."
        )
