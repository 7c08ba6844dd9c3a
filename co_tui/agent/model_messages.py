"""Convert the library's messages to JSON and back; a malformed value only costs that value."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai.messages import (
    BaseToolCallPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_core import PydanticSerializationError

from co_tui.events import Json
from co_tui.events.storable import storable, storable_arguments

UNREADABLE: Final = "[This message cannot be read.]"
MOST_ODD_VALUES: Final = 200


def message_json(message: ModelMessage) -> dict[str, Any]:
    """The message as JSON that can be stored, whatever a provider or tool put into it."""
    plain = _with_storable_arguments(message)
    written: list[Any] = ModelMessagesTypeAdapter.dump_python([plain], mode="json", warnings=False, fallback=str)
    stored: dict[str, Any] = storable(written[0])
    return stored


def read_messages(stored: Sequence[Json]) -> list[ModelMessage]:
    """Read stored messages; parts that do not validate are dropped."""
    try:
        read = ModelMessagesTypeAdapter.validate_python(list(stored))
    except (ValidationError, RecursionError):
        read = [_read(each) for each in stored]
    # Older versions and other programs stored arguments unchecked.
    return [_with_storable_arguments(message) for message in read]


def repaired(response: ModelResponse) -> ModelResponse:
    """The response, without values that cannot be stored or sent."""
    plain = _with_storable_arguments(response)
    try:
        ModelMessagesTypeAdapter.dump_json([plain], warnings="error")
    except PydanticSerializationError:
        (plain,) = read_messages([message_json(plain)])
    return plain if isinstance(plain, ModelResponse) else response


def _with_storable_arguments(message: ModelMessage) -> ModelMessage:
    """The message with tool arguments that can be sent as JSON; unchanged when they already can.

    One call that JSON cannot hold would make every later request fail.
    """
    if not isinstance(message, ModelResponse):
        return message
    changed = {
        index: replace(part, args=kept)
        for index, part in enumerate(message.parts)
        if isinstance(part, BaseToolCallPart) and (kept := storable_arguments(part.args)) != part.args
    }
    if not changed:
        return message
    return replace(message, parts=[changed.get(index, part) for index, part in enumerate(message.parts)])


def _read(stored: Json) -> ModelMessage:
    left: dict[str, Any] = storable(stored)  # a copy, which is modified below
    for _ in range(MOST_ODD_VALUES):
        try:
            return ModelMessagesTypeAdapter.validate_python([left])[0]
        except ValidationError as refused:
            if not _drop(left, refused.errors(include_url=False, include_context=False)[0]["loc"][1:]):
                break
    if stored.get("kind") == "response":
        return ModelResponse(parts=[TextPart(UNREADABLE)])
    return ModelRequest(parts=[UserPromptPart(UNREADABLE)])


def _drop(message: dict[str, Any], location: Sequence[int | str]) -> bool:
    """Delete the value at an error's location, or its container if missing; False when nothing would be left."""
    holders: list[tuple[Any, int | str]] = []
    value: Any = message
    missing = False
    for step in location:
        inside = isinstance(value, dict) and step in value
        if inside or (isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)):
            holders.append((value, step))
            value, missing = value[step], False
        else:
            missing = True  # a type name, which is no key; or, as the last step, a required value that is missing
    if not holders or (missing and len(holders) == 1 and isinstance(value, list)):
        return False
    holder, key = holders[-1]
    if holder is message and key in ("kind", "parts"):
        return False
    del holder[key]
    return True
