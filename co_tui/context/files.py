"""What images, documents and recordings cost, by the rules of thumb that providers publish."""

import re
import struct
from collections.abc import Callable
from math import ceil
from typing import Final

from pydantic_ai.messages import AudioUrl, BinaryContent, FileUrl, ImageUrl, UploadedFile, VideoUrl

UNSEEN_IMAGE_TOKENS: Final = 1_600
"""An image whose size nobody tells."""
PAGE_BYTES: Final = 50_000
"""A page of a document takes at most about this much room."""
PAGE_TOKENS: Final = 2_250
GOOGLE_PAGE_TOKENS: Final = 258
UNSEEN_PAGES: Final = 5
AUDIO_TOKENS_PER_S: Final = 32
VIDEO_TOKENS_PER_S: Final = 300
UNSEEN_SECONDS: Final = 60
AUDIO_BYTES_PER_S: Final = 16_000
"""At 128 kbit/s."""
VIDEO_BYTES_PER_S: Final = 250_000

_PAGE = re.compile(rb"/Type\s*/Page\b")
_TEXT_TYPES = re.compile(r"text/|application/(?:json|xml|yaml|x-yaml|toml|javascript|sql)\b|.*\+(?:json|xml)$")
_FRAME_MARKERS: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def file_text(file: BinaryContent) -> str | None:
    """The text of a file that is text; None for all others."""
    return file.data.decode(errors="replace") if _TEXT_TYPES.match(file.media_type) else None


def file_tokens(file: BinaryContent, provider: str = "") -> int:
    """Tokens of a file that is not text, at the provider's rule; without one, at the most expensive."""
    kind = file.media_type.partition("/")[0]
    match kind:
        case "image":
            size = image_size(file.data)
            return image_tokens(*size, provider) if size else UNSEEN_IMAGE_TOKENS
        case "audio":
            return ceil(AUDIO_TOKENS_PER_S * len(file.data) / _audio_bytes_per_s(file.data))
        case "video":
            return ceil(VIDEO_TOKENS_PER_S * len(file.data) / VIDEO_BYTES_PER_S)
        case _:
            return _pages(file.data) * _page_tokens(provider)


def url_tokens(file: FileUrl | UploadedFile, provider: str = "") -> int:
    """Tokens of a file that only its provider will see."""
    match file:
        case ImageUrl():
            return UNSEEN_IMAGE_TOKENS
        case AudioUrl():
            return AUDIO_TOKENS_PER_S * UNSEEN_SECONDS
        case VideoUrl():
            return VIDEO_TOKENS_PER_S * UNSEEN_SECONDS
        case _:
            return _page_tokens(provider) * UNSEEN_PAGES


def image_tokens(width: int, height: int, provider: str = "") -> int:
    """Tokens of an image of so many pixels."""
    rule = next((rule for name, rule in _IMAGE_RULES.items() if provider.startswith(name)), None)
    rules = [rule] if rule else _IMAGE_RULES.values()
    return max(rule(max(1, width), max(1, height)) for rule in rules)


def _anthropic_image(width: int, height: int) -> int:
    return min(1_600, ceil(width * height / 750))


def _openai_image(width: int, height: int) -> int:
    """Scaled into a square of 2,048, then to a shorter side of 768, then cut into tiles of 512."""
    scale = min(1.0, 2_048 / max(width, height))
    scale *= min(1.0, 768 / (scale * min(width, height)))
    return 85 + 170 * ceil(scale * width / 512) * ceil(scale * height / 512)


def _google_image(width: int, height: int) -> int:
    return 258 * ceil(width / 768) * ceil(height / 768)


_IMAGE_RULES: Final[dict[str, Callable[[int, int], int]]] = {
    "anthropic": _anthropic_image,
    "openai": _openai_image,
    "google": _google_image,
}


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from the header of a PNG, JPEG, GIF or WebP; None when it cannot be told."""
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
    """From the frame's header; the segments before it are stepped over."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = struct.unpack_from(">BH", data, place + 1)
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", data, place + 5)
            return width, height
        place += 2 + length
    return None


def _pages(data: bytes) -> int:
    """The pages a PDF names, when it names them; else by its size."""
    named = len(_PAGE.findall(data)) if data.startswith(b"%PDF") else 0
    return named or max(1, ceil(len(data) / PAGE_BYTES))


def _page_tokens(provider: str) -> int:
    return GOOGLE_PAGE_TOKENS if provider.startswith("google") else PAGE_TOKENS


def _audio_bytes_per_s(data: bytes) -> int:
    """As a WAV header tells it; else as usual."""
    if data.startswith(b"RIFF") and data[8:16] == b"WAVEfmt ":
        told = int.from_bytes(data[28:32], "little")
        return told or AUDIO_BYTES_PER_S
    return AUDIO_BYTES_PER_S
