"""Images and PDFs inside the contents of other programs: those with their bytes as files, others by their address."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic_ai.messages import BinaryContent

from co_tui.events.images import sendable_type

MOST_PDF_BYTES: Final = 20_000_000
PDF: Final = "application/pdf"
_DATA_URL: Final = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_WEB: Final = ("http://", "https://")
_ALPHABET: Final = str.maketrans("-_", "+/")


def file_of(block: Any) -> BinaryContent | None:
    """The image or PDF that a block holds; None for all else, and for one that is damaged or too large."""
    encoded = next(filter(None, map(_encoded, _candidates(block))), "") if isinstance(block, dict) else ""
    return file_from(_decoded(encoded)) if encoded else None


def file_from(data: Any) -> BinaryContent | None:
    """Of a known kind, whatever it was said to be."""
    if not isinstance(data, bytes):
        return None
    is_pdf = data.startswith(b"%PDF-") and len(data) <= MOST_PDF_BYTES
    kind = PDF if is_pdf else sendable_type(data)
    return BinaryContent(data, media_type=kind) if kind else None


def address_of(block: Any) -> str:
    """The web address of an image; empty for all else."""
    candidates = (
        (candidate for candidate in _candidates(block) if isinstance(candidate, str)) if isinstance(block, dict) else ()
    )
    return next((candidate for candidate in candidates if candidate.lower().startswith(_WEB)), "")


def _candidates(block: dict[str, Any]) -> Iterator[Any]:
    """Where programs put an image into a block, as an address or with its bytes."""
    source = block.get("source")  # Claude Code
    for holder in (source, block.get("inlineData"), block.get("inline_data"), block.get("image_url")):  # Gemini, OpenAI
        if isinstance(holder, dict):
            yield from (holder.get("data"), holder.get("url"))
    yield block.get("image_url")  # Codex
    file = block.get("file")  # OpenAI's chat
    yield file.get("file_data") if isinstance(file, dict) else block.get("file_data")
    kind = f"{block.get('type')} {block.get('mimeType')} {block.get('mime')}"
    if "image" in kind or PDF in kind:  # pi, opencode
        yield from (block.get("data"), block.get("url"))
    if block.get("type") == "image_generation_call":
        yield block.get("result")


def _encoded(candidate: Any) -> str:
    """What is encoded there; empty for an address."""
    if not isinstance(candidate, str) or len(candidate) > MOST_PDF_BYTES * 4 // 3 + 300:
        return ""
    head = _DATA_URL.match(candidate)
    return candidate[head.end() :] if head else "" if ":" in candidate[:20] else candidate


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded.translate(_ALPHABET))
    except (binascii.Error, ValueError):
        return b""


def files_in(blocks: Iterable[Any]) -> tuple[BinaryContent, ...]:
    return tuple(file for block in blocks if (file := file_of(block)) is not None)
