"""An event: a fact with its place in a session's log, and its JSON form.

The reader is tolerant: keys it does not know are kept and written back, missing keys take their defaults,
and an event it cannot make sense of becomes `Unknown` instead of an error.
"""

import json
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Final, NamedTuple, cast, get_args, get_origin

from co_tui.events.facts import (
    NOTHING,
    Change,
    CompactionStart,
    Fact,
    Happening,
    Json,
    Life,
    Message,
    Ref,
    Rewrite,
    Transient,
    Truncation,
    Unknown,
    UsageInfo,
)
from co_tui.record import Record

KNOWN: Final[dict[str, type[Any]]] = {
    kind.TYPE: kind
    for group in (Life, Rewrite, Change, Happening, Transient, Message, UsageInfo, Truncation, CompactionStart)
    for kind in (get_args(group) or (group,))
}

UPGRADES: Final[dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]]] = {}
"""(type, version) → what turns that version's payload into the next one's."""


class Event(Record):
    """One record of a session's log; `seq` is None for what is announced but not logged."""

    session_id: str
    seq: int | None
    timestamp: str
    fact: Fact
    extra: Json = NOTHING
    """Payload keys of a newer version, kept so that nothing is lost when the event is written again."""

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
    """The event as the one JSON object that is logged and printed."""
    return {
        "session_id": event.session_id,
        "seq": event.seq,
        "type": event.type,
        "timestamp": event.timestamp,
        "version": event.version,
        "payload": payload_of(event),
    }


def to_json(event: Event) -> str:
    return dump(encode(event))


def dump(value: object) -> str:
    """JSON on one line, in the characters that were written; lone surrogates are escaped, not lost."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def decode(record: Json) -> Event:
    """Read an event of any version. Raises ValueError only when it is no event at all."""
    try:
        session_id, kind, timestamp = str(record["session_id"]), str(record["type"]), str(record["timestamp"])
        payload = record["payload"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an event: {error}") from None
    if not isinstance(payload, Mapping):
        raise ValueError("not an event: its payload is no object")
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


def _fact(kind: str, version: int, payload: Json) -> tuple[Fact, Json]:
    unknown = Unknown(type=kind, version=version, payload=payload)
    known = KNOWN.get(kind)
    if known is None or version > known.VERSION:
        return unknown, {}
    upgraded = dict(payload)
    for step in range(version, known.VERSION):
        upgraded = UPGRADES[kind, step](upgraded)
    shape = _shape(known)
    values: dict[str, Any] = {}
    for key, name, accepts in shape.fields:
        if key not in upgraded:
            if name in shape.required:
                return unknown, {}
            continue
        value = accepts(upgraded.pop(key))
        if value is _REFUSED:
            return unknown, {}
        values[name] = value
    return cast(Fact, known(**values)), upgraded


_REFUSED: Final = object()


class _Shape(NamedTuple):
    """How a fact's fields meet its JSON keys."""

    fields: tuple[tuple[str, str, Callable[[Any], Any]], ...]
    """(JSON key, field name, what turns a JSON value into the field's, or `_REFUSED`)"""
    required: frozenset[str]


_SHAPES: Final[dict[type[Any], _Shape]] = {}


def _shape(kind: type[Any]) -> _Shape:
    shape = _SHAPES.get(kind)
    if shape is None:
        shape = _SHAPES[kind] = _measured(kind)
    return shape


def _measured(kind: type[Record]) -> _Shape:
    return _Shape(
        tuple((name.removesuffix("_"), name, _reader(hint)) for name, hint in kind.FIELDS.items()), kind.REQUIRED
    )


def _refs(value: Any) -> Any:
    try:
        return tuple((int(seq), int(index)) for seq, index in value)
    except (TypeError, ValueError):
        return _REFUSED


def _reader(hint: Any) -> Callable[[Any], Any]:
    """Accepts what the annotation allows; tuples arrive as JSON arrays, floats may arrive as integers."""
    origin = get_origin(hint)
    if hint == tuple[Ref, ...]:
        return _refs
    if origin is tuple:
        return lambda value: tuple(value) if isinstance(value, list | tuple) else _REFUSED
    if origin is Mapping:
        return lambda value: value if isinstance(value, Mapping) else _REFUSED
    allowed = tuple(get_args(hint)) if origin is UnionType else (hint,)
    classes = tuple(item for item in allowed if isinstance(item, type))
    if not classes:  # Literal: kept as written, so that a newer word survives
        return lambda value: value if isinstance(value, str) else _REFUSED
    if float in classes:
        classes = (*classes, int)
    if bool not in classes and (int in classes or float in classes):
        return lambda value: value if isinstance(value, classes) and not isinstance(value, bool) else _REFUSED
    return lambda value: value if isinstance(value, classes) else _REFUSED
