"""Token costs of images, documents and recordings, by the rules that providers publish."""

import re
from collections.abc import Callable
from math import ceil
from typing import Final

from pydantic_ai.messages import AudioUrl, BinaryContent, FileUrl, ImageUrl, UploadedFile, VideoUrl

from co_tui.events.images import image_size

UNSEEN_IMAGE_TOKENS: Final = 1_600
"""An image of unknown size."""
NOT_SENT_TOKENS: Final = 20
"""The text sent instead of a file the model does not accept."""
TEXT_ONLY: Final = ("embedded", "gguf")
"""Local models served without vision."""
PAGE_BYTES: Final = 50_000
"""A document page has at most about this size."""
PAGE_TOKENS: Final = 2_250
GOOGLE_PAGE_TOKENS: Final = 258
UNSEEN_PAGES: Final = 5
AUDIO_TOKENS_PER_S: Final = 32
VIDEO_TOKENS_PER_S: Final = 300
UNSEEN_SECONDS: Final = 60
AUDIO_BYTES_PER_S: Final = 16_000
"""At 128 kbit/s."""
VIDEO_BYTES_PER_S: Final = 250_000

_READ_DOCUMENTS: Final = ("anthropic", "google", "bedrock", "openai")
"""Providers that get documents; others get the text instead."""
_PAGE = re.compile(rb"/Type\s*/Page\b")
_TEXT_TYPES = re.compile(r"text/|application/(?:json|xml|yaml|x-yaml|toml|javascript|sql)\b|.*\+(?:json|xml)$")


def file_text(file: BinaryContent) -> str | None:
    """The text of a text file; None for other files."""
    return file.data.decode(errors="replace") if _TEXT_TYPES.match(file.media_type) else None


def file_tokens(file: BinaryContent, provider: str = "") -> int:
    """Tokens of a file that is not text, by the provider's rule; without one, by the most expensive."""
    kind = file.media_type.partition("/")[0]
    match kind:
        case "image":
            if provider in TEXT_ONLY:
                return NOT_SENT_TOKENS
            size = image_size(file.data)
            return image_tokens(*size, provider) if size else UNSEEN_IMAGE_TOKENS
        case "audio":
            return ceil(AUDIO_TOKENS_PER_S * len(file.data) / _audio_bytes_per_s(file.data))
        case "video":
            return ceil(VIDEO_TOKENS_PER_S * len(file.data) / VIDEO_BYTES_PER_S)
        case _:
            is_read = not provider or provider.startswith(_READ_DOCUMENTS)
            return _pages(file.data) * _page_tokens(provider) if is_read else NOT_SENT_TOKENS


def url_tokens(file: FileUrl | UploadedFile, provider: str = "") -> int:
    """Tokens of a file that only the provider will load."""
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
    """Tokens of an image of this size in pixels."""
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


def _pages(data: bytes) -> int:
    """The page count of a PDF if it is listed, otherwise estimated from the size."""
    named = len(_PAGE.findall(data)) if data.startswith(b"%PDF") else 0
    return named or max(1, ceil(len(data) / PAGE_BYTES))


def _page_tokens(provider: str) -> int:
    return GOOGLE_PAGE_TOKENS if provider.startswith("google") else PAGE_TOKENS


def _audio_bytes_per_s(data: bytes) -> int:
    """The rate in a WAV header, otherwise a common one."""
    if data.startswith(b"RIFF") and data[8:16] == b"WAVEfmt ":
        rate = int.from_bytes(data[28:32], "little")
        return rate or AUDIO_BYTES_PER_S
    return AUDIO_BYTES_PER_S
