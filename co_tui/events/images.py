"""Images inside stored messages."""

import base64
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from co_tui.events.facts.base import Json
from co_tui.events.stored_messages import MEDIA_TYPE_CHARS, attached_name, file_label, media_type_of, text_of
from co_tui.inert import one_line

_STANDARD_ALPHABET = str.maketrans("-_", "+/")


class StoredImage(NamedTuple):
    """An image of a message."""

    media_type: str
    """Sanitised to one inert line, since it is untrusted."""
    encoded: str
    """Base64, standard or URL-safe."""

    def data(self, most_bytes: int) -> bytes:
        """The decoded bytes; empty if they are not base64 or exceed `most_bytes`."""
        if len(self.encoded) * 3 // 4 > most_bytes:
            return b""
        try:
            return base64.b64decode(self.encoded.translate(_STANDARD_ALPHABET), validate=True)
        except ValueError:
            return b""


def image_of(item: Any) -> StoredImage | None:
    """A content item as an image; None if it is not one."""
    media_type = media_type_of(item)
    return (
        StoredImage(one_line(media_type, MEDIA_TYPE_CHARS), item["data"]) if media_type.startswith("image/") else None
    )


def images_in(part: Json) -> tuple[StoredImage, ...]:
    """The images of a prompt, tool result or reply, except those attached by file name."""
    content = part.get("content")
    items = content if isinstance(content, list) else [content]
    found = (image_of(item) for before, item in pairwise([None, *items]) if not attached_name(before))
    return tuple(image for image in found if image is not None)


def text_without_images(part: Json) -> str:
    """The readable text of a content without its images."""
    content = part.get("content")
    items = content if isinstance(content, list) else [content]
    return text_of([item for item in items if image_of(item) is None])


def images_label(images: Sequence[StoredImage]) -> str:
    """The label shown where images cannot be drawn; empty without images."""
    return file_label([image.media_type for image in images]) if images else ""


def attached_image(message: Json, file: Json) -> StoredImage | None:
    """The image that follows the text naming an attached file; None for a text file."""
    for part in message.get("parts") or ():
        content = part.get("content") if isinstance(part, Mapping) else None
        for item, following in pairwise(content if isinstance(content, list) else ()):
            if item is file:
                return image_of(following)
    return None
