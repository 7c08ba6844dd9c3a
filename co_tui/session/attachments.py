"""Files attached to a prompt: read, limited in size and placed after the user's text."""

import re
from collections.abc import Sequence
from typing import Final

from pydantic_ai.messages import BinaryContent, TextContent, UserContent

from co_tui.context.measure.count import estimate_text
from co_tui.events.images import MOST_IMAGE_BYTES, image_type
from co_tui.events.storable import storable_text
from co_tui.events.stored_messages import ATTACHED
from co_tui.inert import one_line
from co_tui.session.file_references import NAME_CHARS, SNIFFED_BYTES, NamedFile

MOST_TEXT_CHARS: Final = 100_000
"""For one file."""
WINDOW_SHARE: Final = 0.5
"""Share of the model's window for all files of a prompt; the rest is for the conversation."""
MOST_BYTES_A_CHAR: Final = 4


class AttachmentRefused(Exception):
    """Why a file cannot be attached, as a sentence; the prompt was not sent."""


def with_files(
    prompt: str, files: Sequence[NamedFile], *, window_tokens: int, takes_images: bool
) -> str | list[UserContent]:
    """The prompt, followed by a marked part for each file. Raises `AttachmentRefused`."""
    if not files:
        return prompt
    room = window_tokens * WINDOW_SHARE
    content: list[UserContent] = [prompt]
    for number, file in enumerate(files):
        try:
            beginning = _read(file, SNIFFED_BYTES)
            if media_type := image_type(beginning):
                content += _image(file, media_type, takes_images)
                continue
            text, note = _text(file, room / (len(files) - number))
        except OSError as error:
            raise AttachmentRefused(f"Cannot read {_shown(file)}: {error.strerror or error}.") from error
        room -= estimate_text(text)
        content.append(_marked(file, f"## Attached {file.kind}: {_shown(file)}{note}\n{fenced(text)}"))
    return content


def has_images(files: Sequence[NamedFile]) -> bool:
    try:
        return any(image_type(_read(file, SNIFFED_BYTES)) for file in files)
    except OSError:
        return False  # reading it again reports the error


def _image(file: NamedFile, media_type: str, takes_images: bool) -> list[UserContent]:
    if not takes_images:
        raise AttachmentRefused(
            f"{_shown(file)} is an image, and this model takes none. Choose another with /model or --model."
        )
    data = _read(file, MOST_IMAGE_BYTES + 1)
    if len(data) > MOST_IMAGE_BYTES:
        raise AttachmentRefused(f"{_shown(file)} is over {MOST_IMAGE_BYTES // 1_000_000} MB. Make it smaller.")
    heading = f"## Attached image: {_shown(file)}\n({media_type}, {len(data):,} bytes)"
    return [_marked(file, heading), BinaryContent(data, media_type=media_type)]


def _text(file: NamedFile, room_tokens: float) -> tuple[str, str]:
    """As much text as fits, and a note if that is not all."""
    size = file.path.stat().st_size if file.data is None else len(file.data)
    data = _read(file, MOST_TEXT_CHARS * MOST_BYTES_A_CHAR)
    if b"\0" in data[:SNIFFED_BYTES]:
        raise AttachmentRefused(f"{one_line(file.path.name, NAME_CHARS)} is no longer a text file.")
    text = storable_text(data.decode(errors="replace"))
    kept = text[:MOST_TEXT_CHARS]
    if (tokens := estimate_text(kept)) > room_tokens:
        kept = kept[: int(len(kept) * max(0.0, room_tokens) / tokens)]
    if len(kept) == len(text) and len(data) >= size:
        return text, ""
    return kept, f"\n(only its first {len(kept):,} characters; the {file.kind} has {size:,} bytes)"


def _read(file: NamedFile, most: int) -> bytes:
    if file.data is not None:
        return file.data[:most]
    with file.path.open("rb") as opened:
        return opened.read(most)


def _marked(file: NamedFile, text: str) -> TextContent:
    return TextContent(f"\n\n{text}", metadata={ATTACHED: storable_text(file.name)})


def fenced(text: str) -> str:
    """The text in a fence longer than any fence inside it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip(chr(10))}\n{fence}"


def _shown(file: NamedFile) -> str:
    return one_line(file.name, NAME_CHARS)
