"""Images inside stored messages, as they were logged: encoded, with their kind."""

import base64
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from co_tui.events.facts.base import Json
from co_tui.events.file_labels import MEDIA_TYPE_CHARS, file_label
from co_tui.events.stored_messages import attached_name, media_type_of, text_of
from co_tui.inert import one_line

_STANDARD_ALPHABET = str.maketrans("-_", "+/")


class StoredImage(NamedTuple):
    """An image of a message."""

    media_type: str
    """Inert, in a line: it may come from anywhere."""
    encoded: str
    """In base64, of either alphabet."""

    def data(self, most_bytes: int) -> bytes:
        """What is encoded; nothing when that is no base64, or more than so much."""
        if len(self.encoded) * 3 // 4 > most_bytes:
            return b""
        try:
            return base64.b64decode(self.encoded.translate(_STANDARD_ALPHABET), validate=True)
        except ValueError:
            return b""


def image_of(item: Any) -> StoredImage | None:
    """The image that an item of a part's content is; None for all else."""
    media_type = media_type_of(item)
    return (
        StoredImage(one_line(media_type, MEDIA_TYPE_CHARS), item["data"]) if media_type.startswith("image/") else None
    )


def images_in(part: Json) -> tuple[StoredImage, ...]:
    """The images of a prompt, of a tool's result or of a reply, without those that were attached by their names."""
    content = part.get("content")
    items = content if isinstance(content, list) else [content]
    found = (image_of(item) for before, item in pairwise([None, *items]) if not attached_name(before))
    return tuple(image for image in found if image is not None)


def text_beside_images(part: Json) -> str:
    """The readable text of a content without its images."""
    content = part.get("content")
    items = content if isinstance(content, list) else [content]
    return text_of([item for item in items if image_of(item) is None])


def images_label(images: Sequence[StoredImage]) -> str:
    """What is said where they cannot be drawn; empty for none."""
    return file_label([image.media_type for image in images]) if images else ""


def attached_image(message: Json, file: Json) -> StoredImage | None:
    """The image that stands right behind the words that tell of an attached file; None for a text."""
    for part in message.get("parts") or ():
        content = part.get("content") if isinstance(part, Mapping) else None
        for item, behind in pairwise(content if isinstance(content, list) else ()):
            if item is file:
                return image_of(behind)
    return None
