"""An event: a fact with its position in a session's log, and its JSON form.

The reader is tolerant: unknown keys and invalid values are kept and written back, missing keys and invalid values
take their defaults, and an event it cannot read becomes `Unknown` instead of an error.
"""

import json
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Final, NamedTuple, cast, get_args, get_origin

from co_tui.events.facts import BY_TYPE, Fact, Unknown
from co_tui.events.facts.base import NOTHING, Json, Ref
from co_tui.events.storable import dump, storable
from co_tui.record import Record


class Event(Record):
    """One record of a session's log; `seq` is None for announced events, which are not logged."""

    session_id: str
    seq: int | None
    timestamp: str
    fact: Fact
    extra: Json = NOTHING
    """Unknown payload keys, kept so that nothing is lost when the event is written again."""

    @property
    def type(self) -> str:
        return self.fact.type if isinstance(self.fact, Unknown) else self.fact.TYPE

    @property
    def version(self) -> int:
        return self.fact.version if isinstance(self.fact, Unknown) else self.fact.VERSION


def payload_of(event: Event) -> dict[str, Any]:
    """The event's payload as JSON-ready data."""
    fact = event.fact
    if isinstance(fact, Unknown):
        return dict(fact.payload)
    payload = {key: getattr(fact, name) for key, name, _ in _shape(type(fact)).fields}
    payload.update(event.extra)
    return payload


def encode(event: Event) -> dict[str, Any]:
    """The event as one JSON object, as logged and printed."""
    return {
        "session_id": event.session_id,
        "seq": event.seq,
        "type": event.type,
        "timestamp": event.timestamp,
        "version": event.version,
        "payload": payload_of(event),
    }


def event_json(event: Event) -> str:
    return dump(encode(event))


def decode(record: Json) -> Event:
    """Read an event of any version. Raises ValueError only if the record is not an event at all."""
    try:
        session_id, kind, timestamp = str(record["session_id"]), str(record["type"]), str(record["timestamp"])
        payload = record["payload"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an event: {error}") from None
    if not isinstance(payload, Mapping):
        raise ValueError("not an event: its payload is not an object")
    version = record.get("version", 1)
    return build(session_id, record.get("seq"), kind, timestamp, version, payload)


def from_json(line: str) -> Event:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("not an event: not a JSON object")
    return decode(record)


def build(session_id: str, seq: int | None, kind: str, timestamp: str, version: int, payload: Json) -> Event:
    """An event from its stored columns."""
    fact, extra = _fact(kind, version, payload)
    return Event(session_id=session_id, seq=seq, timestamp=timestamp, fact=fact, extra=extra)


def stored(session_id: str, seq: int | None, kind: str, timestamp: str, version: int, payload: str) -> Event:
    """An event from its database row. Never fails: one damaged record must not make the session unreadable."""
    try:
        read = json.loads(payload)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        fact = Unknown(type=kind, version=version, payload={"unreadable": payload})
        return Event(session_id=session_id, seq=seq, timestamp=timestamp, fact=fact)
    if "\\ud" in payload:  # only lone surrogates are written escaped
        read = storable(read)
    return build(session_id, seq, kind, timestamp, version, read)


def _fact(kind: str, version: int, payload: Json) -> tuple[Fact, Json]:
    unknown = Unknown(type=kind, version=version, payload=payload)
    known = BY_TYPE.get(kind)
    if known is None or version > known.VERSION:
        return unknown, {}
    upgraded = dict(payload)
    try:
        for step in range(version, known.VERSION):
            upgraded = known.UPGRADES[step](upgraded)
    except (LookupError, TypeError, ValueError):
        return unknown, {}
    shape = _shape(known)
    values: dict[str, Any] = {}
    for key, name, accepts in shape.fields:
        value = accepts(upgraded[key]) if key in upgraded else _REFUSED
        if value is not _REFUSED:
            del upgraded[key]
            values[name] = value
        elif name in shape.required or (key in upgraded and name in shape.vital):
            return unknown, {}
    return cast(Fact, known(**values)), upgraded


_REFUSED: Final = object()
_MOST: Final = 10**15
"""Larger integers are invalid: nothing we count gets there, and SQLite stores only 64 bits."""


class _Shape(NamedTuple):
    """How a fact's fields map to its JSON keys."""

    fields: tuple[tuple[str, str, Callable[[Any], Any]], ...]
    """(JSON key, field name, reader that returns the field value or `_REFUSED`)"""
    required: frozenset[str]
    vital: frozenset[str]
    """Lists of messages: an event without them would mean something else."""


_SHAPES: Final[dict[type[Any], _Shape]] = {}


def _shape(kind: type[Any]) -> _Shape:
    shape = _SHAPES.get(kind)
    if shape is None:
        shape = _SHAPES[kind] = _shape_of(kind)
    return shape


def _shape_of(kind: type[Record]) -> _Shape:
    return _Shape(
        tuple((name.removesuffix("_"), name, _reader(hint)) for name, hint in kind.FIELDS.items()),
        kind.REQUIRED,
        frozenset(name for name, hint in kind.FIELDS.items() if get_origin(hint) is tuple),
    )


def _refs(value: Any) -> Any:
    try:
        return tuple((int(seq), int(index)) for seq, index in value)
    except (TypeError, ValueError, OverflowError):
        return _REFUSED


def _objects(value: Any) -> Any:
    good = isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)
    return tuple(value) if good else _REFUSED


def _texts(value: Any) -> Any:
    good = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return tuple(value) if good else _REFUSED


def _number(value: Any, kinds: tuple[type, ...]) -> Any:
    """A finite number that can be stored, truncated to an integer where the field takes no float."""
    if value is None and type(None) in kinds:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_MOST <= value <= _MOST:
        return _REFUSED
    return value if float in kinds else int(value)


def _reader(hint: Any) -> Callable[[Any], Any]:
    """The reader for an annotation; tuples arrive as JSON arrays, floats may arrive as integers."""
    origin = get_origin(hint)
    if hint == tuple[Ref, ...]:
        return _refs
    if hint == tuple[str, ...]:
        return _texts
    if origin is tuple:
        return _objects
    if origin is Mapping:
        return lambda value: value if isinstance(value, Mapping) else _REFUSED
    allowed = tuple(get_args(hint)) if origin is UnionType else (hint,)
    classes = tuple(item for item in allowed if isinstance(item, type))
    if not classes:  # Literal: kept as written, so that values of newer versions survive
        return lambda value: value if isinstance(value, str) else _REFUSED
    if bool not in classes and (int in classes or float in classes):
        return lambda value: _number(value, classes)
    return lambda value: value if isinstance(value, classes) else _REFUSED
