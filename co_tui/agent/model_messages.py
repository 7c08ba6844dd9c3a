"""The library's messages as JSON and back, whatever is odd about them: one odd value costs that value."""

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
    """The message as its own type adapter writes it, storable whatever a provider or a tool put into it."""
    plain = _with_storable_arguments(message)
    written: list[Any] = ModelMessagesTypeAdapter.dump_python([plain], mode="json", warnings=False, fallback=str)
    stored: dict[str, Any] = storable(written[0])
    return stored


def read_messages(stored: Sequence[Json]) -> list[ModelMessage]:
    """Each stored message; what its type adapter refuses of one is left out of it."""
    try:
        read = ModelMessagesTypeAdapter.validate_python(list(stored))
    except (ValidationError, RecursionError):
        read = [_read(each) for each in stored]
    # Older versions and other programs stored arguments as they came.
    return [_with_storable_arguments(message) for message in read]


def mended(response: ModelResponse) -> ModelResponse:
    """The same response when it can be stored and sent as it is, else one without what is odd about it."""
    plain = _with_storable_arguments(response)
    try:
        ModelMessagesTypeAdapter.dump_json([plain], warnings="error")
    except PydanticSerializationError:
        (plain,) = read_messages([message_json(plain)])
    return plain if isinstance(plain, ModelResponse) else response


def _with_storable_arguments(message: ModelMessage) -> ModelMessage:
    """The same message when the arguments of its calls can be sent as they are, else one with storable ones.

    Providers get the arguments as JSON, and one call that no JSON can hold would keep all later requests from being
    sent.
    """
    if not isinstance(message, ModelResponse):
        return message
    changed = {
        place: replace(part, args=kept)
        for place, part in enumerate(message.parts)
        if isinstance(part, BaseToolCallPart) and (kept := storable_arguments(part.args)) != part.args
    }
    if not changed:
        return message
    return replace(message, parts=[changed.get(place, part) for place, part in enumerate(message.parts)])


def _read(stored: Json) -> ModelMessage:
    left: dict[str, Any] = storable(stored)  # a copy, which may be taken apart
    for _ in range(MOST_ODD_VALUES):
        try:
            return ModelMessagesTypeAdapter.validate_python([left])[0]
        except ValidationError as refused:
            if not _drop(left, refused.errors(include_url=False, include_context=False)[0]["loc"][1:]):
                break
    if stored.get("kind") == "response":
        return ModelResponse(parts=[TextPart(UNREADABLE)])
    return ModelRequest(parts=[UserPromptPart(UNREADABLE)])


def _drop(message: dict[str, Any], place: Sequence[int | str]) -> bool:
    """Take out the value at an error's place, or what holds it when it is not there; False when that is everything."""
    holders: list[tuple[Any, int | str]] = []
    value: Any = message
    missing = False
    for step in place:
        inside = isinstance(value, dict) and step in value
        if inside or (isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)):
            holders.append((value, step))
            value, missing = value[step], False
        else:
            missing = True  # the name of a kind, which is no key; or at the end, a value that is needed and not there
    if not holders or (missing and len(holders) == 1 and isinstance(value, list)):
        return False
    holder, key = holders[-1]
    if holder is message and key in ("kind", "parts"):
        return False
    del holder[key]
    return True
