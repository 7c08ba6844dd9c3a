"""Images inside stored messages, as they were logged: encoded, with their kind."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from co_tui.events.facts.base import Json
from co_tui.events.messages import attached_name
from co_tui.inert import one_line

MEDIA_TYPE_CHARS = 40


class StoredImage(NamedTuple):
    """An image of a message."""

    media_type: str
    """Inert, in a line: it may come from anywhere."""
    encoded: str
    """In base64, of either alphabet."""


def image_of(item: Any) -> StoredImage | None:
    """The image that an item of a part's content is; None for all else."""
    if not isinstance(item, Mapping) or item.get("kind") != "binary":
        return None
    media_type, data = item.get("media_type"), item.get("data")
    if not isinstance(media_type, str) or not isinstance(data, str) or not media_type.startswith("image/"):
        return None
    return StoredImage(one_line(media_type, MEDIA_TYPE_CHARS), data)


def images_in(part: Json) -> tuple[StoredImage, ...]:
    """The images of a prompt or of a tool's result, without those that were attached by their names."""
    content = part.get("content")
    items = content if isinstance(content, list) else [content]
    found = (image_of(item) for before, item in pairwise([None, *items]) if not attached_name(before))
    return tuple(image for image in found if image is not None)


def attached_image(message: Json, file: Json) -> StoredImage | None:
    """The image that stands right behind the words that tell of an attached file; None for a text."""
    for part in message.get("parts") or ():
        content = part.get("content") if isinstance(part, Mapping) else None
        for item, behind in pairwise(content if isinstance(content, list) else ()):
            if item is file:
                return image_of(behind)
    return None
