"""What leaves this machine: every text that is stored, without the secrets that are known here."""

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

from co_tui.events import Event, Fact
from co_tui.events.event import build, payload_of

AnyFact = TypeVar("AnyFact", bound=Fact)
_DATA, _KIND, _BINARY = "data", "kind", "binary"
"""How a message holds a file that is no text."""


class Hiding(NamedTuple):
    """How secrets are hidden. The store itself knows none."""

    text: Callable[[str], str]
    """A text without secrets."""
    data: Callable[[bytes], bytes]
    """A file's content without secrets."""


def as_it_is(value: Any) -> Any:
    return value


NO_SECRETS: Final = Hiding(as_it_is, as_it_is)


class Redaction:
    """Hides secrets in all that is written. The session that wrote it goes on with the original until it is closed."""

    def __init__(self, hiding: Hiding = NO_SECRETS) -> None:
        self.text, self._data = hiding

    def facts(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        return tuple(map(self.fact, facts))

    def fact(self, fact: AnyFact) -> AnyFact:
        return cast(AnyFact, self.event(Event(session_id="", seq=None, timestamp="", fact=fact)).fact)

    def event(self, event: Event) -> Event:
        """The same event if it has no secret."""
        payload = payload_of(event)
        hidden = self._value(payload)
        if hidden == payload:
            return event
        return build(event.session_id, event.seq, event.type, event.timestamp, event.version, hidden)

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case Mapping():
                hidden = {self.text(key): self._value(each) for key, each in value.items()}
                if value.get(_KIND) == _BINARY and isinstance(value.get(_DATA), str):
                    hidden[_DATA] = self._file(value[_DATA])
                return hidden
            case list():
                return [self._value(each) for each in value]
            case tuple():
                return tuple(self._value(each) for each in value)
            case _:
                return value

    def _file(self, data: str) -> str:
        try:
            content = base64.b64decode(data.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            return self.text(data)
        hidden = self._data(content)
        if hidden == content:
            return data
        encode = base64.urlsafe_b64encode if {"-", "_"} & set(data) else base64.b64encode
        return encode(hidden).decode()


def with_originals(events: Iterable[Event], facts: Sequence[Fact]) -> tuple[Event, ...]:
    """Events as the session that wrote them knows them."""
    return tuple(event.but(fact=fact) for event, fact in zip(events, facts, strict=True))
