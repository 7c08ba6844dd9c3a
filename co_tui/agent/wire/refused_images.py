"""Replace tool images that a provider refuses by a note, so that no tool result can end a conversation."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.exceptions import ModelAPIError, ModelAuthenticationError, ModelRateLimitError
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, ToolReturnPart

_ABOUT_IMAGES: Final = re.compile(r"image|vision|multi-?modal|mmproj|content must be a string", re.IGNORECASE)
"""Wording of errors about images."""


class RefusedImages:
    """The refused tool images of one model. Refused attachments of the user are reported to the user instead."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def removed_from(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages without images refused before."""
        if not self._known:
            return list(messages)
        return [_without(message, lambda image: image.identifier in self._known) for message in messages]

    def after(self, error: Exception, messages: Sequence[ModelMessage]) -> list[ModelMessage] | None:
        """The messages to send instead; None when the error is not about a tool image."""
        if not isinstance(error, ModelAPIError) or isinstance(error, ModelAuthenticationError | ModelRateLimitError):
            return None
        images = {image.identifier for message in messages for image in _result_images(message)}
        if not images or not _ABOUT_IMAGES.search(str(error).replace(error.model_name, "")):
            return None
        self._known |= images
        return self.removed_from(messages)


def _result_images(message: ModelMessage) -> Iterator[BinaryContent]:
    for part in message.parts if isinstance(message, ModelRequest) else ():
        if isinstance(part, ToolReturnPart):
            yield from (each for each in part.files if isinstance(each, BinaryContent) and each.is_image)


def _without(message: ModelMessage, is_refused: Callable[[BinaryContent], bool]) -> ModelMessage:
    refused = [image for image in _result_images(message) if is_refused(image)]
    if not refused or not isinstance(message, ModelRequest):
        return message
    parts: list[Any] = list(message.parts)
    for index, part in enumerate(parts):
        if isinstance(part, ToolReturnPart) and part.files:
            content: Any = [not_sent(item) if item in refused else item for item in part.content_items()]
            parts[index] = replace(part, content=content)
    return replace(message, parts=parts)


def not_sent(image: BinaryContent) -> str:
    """The note that replaces an image or a document."""
    kind = "an image" if image.is_image else "a document"
    return f"[{kind} ({image.media_type}, {len(image.data):,} bytes), not sent: this model does not take it]"
