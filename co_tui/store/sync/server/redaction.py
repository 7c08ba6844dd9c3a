"""What leaves this machine: every text that is stored, without the secrets that are known here."""

import base64
import binascii
import json
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import psycopg

from co_tui.events import Event
from co_tui.events.event import build, payload_of
from co_tui.events.storable import dump

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
        self.text, self.data = hiding

    def event(self, event: Event) -> Event:
        """The same event if it has no secret."""
        payload = payload_of(event)
        hidden = self._value(payload)
        if hidden == payload:
            return event
        return build(event.session_id, event.seq, event.type, event.timestamp, event.version, hidden)

    def json_text(self, body: str) -> str:
        """JSON of any shape, or any other text."""
        try:
            read = json.loads(body)
            hidden = self._value(read)
        except (ValueError, RecursionError):
            return self.text(body)
        return body if hidden == read else dump(hidden)

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
        hidden = self.data(content)
        if hidden == content:
            return data
        encode = base64.urlsafe_b64encode if {"-", "_"} & set(data) else base64.b64encode
        return encode(hidden).decode()


class LazyRedaction:
    """Made when something is first written: finding the secrets may ask a keyring, which is slow."""

    def __init__(self, hiding: Callable[[], Hiding]) -> None:
        self._hiding = hiding
        self._lock = threading.Lock()

    @cached_property
    def _made(self) -> Redaction:
        return Redaction(self._hiding())

    def get(self) -> Redaction:
        with self._lock:
            return self._made

    def apply_to(self, connection: psycopg.Connection[Any]) -> None:
        """From now on `redaction_of` knows it."""
        _OF_CONNECTIONS[connection] = self


_OF_CONNECTIONS: Final[WeakKeyDictionary[psycopg.Connection[Any], LazyRedaction]] = WeakKeyDictionary()


def redaction_of(connection: psycopg.Connection[Any]) -> Redaction:
    """Hides the secrets in what a connection of the store writes. All text that is stored has to pass through it."""
    return _OF_CONNECTIONS[connection].get()
