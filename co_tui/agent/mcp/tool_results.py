"""Convert the result of an MCP tool to text and images that can be stored, counted and shown."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic_ai.messages import BinaryContent, ToolReturn

from co_tui.agent.redact import HIDDEN
from co_tui.events.images import sendable_type
from co_tui.events.storable import storable, storable_text
from co_tui.inert import one_line

MOST_CHARS: Final = 50_000
"""Of what goes into a request as it is: descriptions, resources, prompts, errors."""
MOST_RESULT_CHARS: Final = 10_000_000
"""Of a tool's result. What is too long for a request is kept whole by the session."""
MOST_IMAGES: Final = 8


def result_content(
    result: Any, secrets: Sequence[str] = (), *, most_chars: int = MOST_CHARS
) -> str | list[str | BinaryContent]:
    """The result, bounded and without secrets: text, then images; other files are only mentioned."""
    images = list(_images(result))[:MOST_IMAGES]
    text = result_text(result, secrets, sent=images, most_chars=most_chars)
    return [*([text] if text else []), *images] if images else text


def result_text(
    result: Any, secrets: Sequence[str] = (), *, sent: Sequence[BinaryContent] = (), most_chars: int = MOST_CHARS
) -> str:
    """The text of a result; mentions files, except the images in `sent`."""
    text = storable_text(_text(result, sent))
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return bounded(text, most_chars)


def _images(result: Any) -> Iterator[BinaryContent]:
    """The images a model can take, with the media type that their bytes show."""
    match result:
        case ToolReturn():
            yield from _images(result.return_value)
        case BinaryContent() if kind := sendable_type(result.data):
            yield BinaryContent(result.data, media_type=kind)
        case list():
            yield from (image for each in result if isinstance(each, BinaryContent) for image in _images(each))


def bounded(text: str, most_chars: int = MOST_CHARS) -> str:
    if len(text) <= most_chars:
        return text
    half = most_chars // 2
    return f"{text[:half]}\n[… {len(text) - most_chars:,} characters left out …]\n{text[-half:]}"


def _text(result: Any, sent: Sequence[BinaryContent]) -> str:
    match result:
        case ToolReturn():
            return _text(result.return_value, sent)
        case str():
            return result
        case BinaryContent():
            if any(result.data == image.data for image in sent):
                return ""
            return f"[{one_line(result.media_type, 60)}, {len(result.data):,} bytes: it cannot be shown here]"
        case list() if any(isinstance(each, str | BinaryContent) for each in result):
            return "\n".join(filter(None, (_text(each, sent) for each in result)))
        case None:
            return ""
        case _:
            return json.dumps(storable(result), ensure_ascii=False, indent=1)
