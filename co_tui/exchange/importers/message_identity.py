"""What makes an imported message the same one when its file is read again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.events import Json
from co_tui.events.storable import dump
from co_tui.events.stored_messages import FOREIGN_ID

_NO_ID: Final = "#"
"""First character of the fingerprint that is used for a message without an id."""
_TIME: Final = "timestamp"
"""Not part of the content: where a program writes none, it is that of the file."""
_GROWING: Final = ("text", "thinking")
"""Kinds of parts that programs write piece by piece."""
_CALL: Final = "tool-call"


class Identity(NamedTuple):
    """Of one message. Usage is not part of it: programs report it later than the reply."""

    id: str
    """Empty for a message that was not imported, or by a version that kept no ids."""
    content: str


def with_foreign_id(message: ModelMessage, foreign_id: str) -> ModelMessage:
    """The message with the program's id for it, else with a fingerprint of how it begins."""
    metadata = {**(message.metadata or {}), FOREIGN_ID: foreign_id or f"{_NO_ID}{_beginning(message)}"}
    return replace(message, metadata=metadata)


def _beginning(message: ModelMessage) -> str:
    part = next(iter(message.parts), None)
    content = getattr(part, "content", None) or getattr(part, "args", None)
    texts = [each for each in content if isinstance(each, str)] if isinstance(content, list) else [str(content)]
    return fingerprint([getattr(part, "part_kind", ""), *texts])


def identity(message: Json) -> Identity:
    return Identity(_id_of(message), fingerprint(_parts(message)))


def is_begun_in(message: Json, later: Json) -> bool:
    """Whether the later one is the same message with more in it: it was still being written."""
    ids = {_id_of(message), _id_of(later)}
    if len(ids) > 1 and not all(id.startswith(_NO_ID) for id in ids):
        return False
    old, new = _parts(message), _parts(later)
    if not old or len(old) > len(new) or old[:-1] != new[: len(old) - 1]:
        return False
    return _is_beginning(old[-1], new[len(old) - 1])


def fingerprint(value: Any) -> str:
    return hashlib.sha256(dump(value).encode(errors="replace")).hexdigest()[:16]


def _id_of(message: Json) -> str:
    metadata = message.get("metadata")
    known_as = metadata.get(FOREIGN_ID) if isinstance(metadata, Mapping) else None
    return known_as if isinstance(known_as, str) else ""


def _parts(message: Json) -> Sequence[Any]:
    parts = message.get("parts")
    return [_timeless(part) for part in parts] if isinstance(parts, list | tuple) else []


def _timeless(part: Any) -> Any:
    return {key: value for key, value in part.items() if key != _TIME} if isinstance(part, Mapping) else part


def _is_beginning(part: Any, later: Any) -> bool:
    if part == later:
        return True
    if all(isinstance(each, Mapping) and each.get("part_kind") == _CALL for each in (part, later)):
        rest = [{key: value for key, value in each.items() if key != "args"} for each in (part, later)]
        return rest[0] == rest[1] and not part.get("args")  # its arguments come last
    is_text = all(isinstance(each, Mapping) and each.get("part_kind") in _GROWING for each in (part, later))
    if not is_text or part["part_kind"] != later["part_kind"]:
        return False
    return str(later.get("content")).startswith(str(part.get("content")))
