"""Images inside stored messages."""

import base64
import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from co_tui.events.storable import Json
from co_tui.events.stored_messages import MEDIA_TYPE_CHARS, attached_name, file_label, media_type_of, text_of
from co_tui.inert import one_line

MOST_IMAGE_BYTES: Final = 5_000_000
"""The most that providers accept."""
_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_FRAME_MARKERS: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})

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


def image_type(beginning: bytes) -> str:
    """The media type of an image that models accept, by its first bytes; empty for anything else."""
    if beginning[:4] == b"RIFF" and beginning[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS if beginning.startswith(start)), "")


def sendable_type(data: bytes) -> str:
    """The media type of an image that can be sent as it is: known type, readable size, not too large; else empty."""
    size = image_size(data) if len(data) <= MOST_IMAGE_BYTES else None
    return image_type(data) if size and all(size) else ""


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from the header of a PNG, JPEG, GIF or WebP; None if unreadable."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack_from(">II", data, 16)
            return width, height
        if data.startswith((b"GIF87a", b"GIF89a")):
            width, height = struct.unpack_from("<HH", data, 6)
            return width, height
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp_size(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg_size(data)
    except struct.error:  # cut short
        return None
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            wide, high = data[24:27], data[27:30]
            return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """From the frame header, skipping the segments before it."""
    offset = 2
    while offset + 9 <= len(data) and data[offset] == 0xFF:
        marker, length = struct.unpack_from(">BH", data, offset + 1)
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", data, offset + 5)
            return width, height
        offset += 2 + length
    return None
