"""A prompt as an editor sends it: text, images, files and parts of files."""

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from co_tui.inert import one_line
from co_tui.session.attachments import AttachmentRefused
from co_tui.session.file_references import MOST_FILES, ONLY_FILES, NamedFile, name_of

Block: TypeAlias = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)
NAME_CHARS: Final = 200


class Prompt(NamedTuple):
    text: str
    files: tuple[NamedFile, ...] = ()


def read_prompt(blocks: Sequence[Block], folder: Path) -> Prompt:
    """The words of a prompt, and what is attached. Raises `AttachmentRefused`."""
    words: list[str] = []
    files: list[NamedFile] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                words.append(text)
            case ImageContentBlock(data=data, uri=uri):
                files.append(_given(uri or f"image-{len(files) + 1}", _decoded(data), folder))
            case AudioContentBlock():
                raise AttachmentRefused("Audio cannot be attached. Send text, images or files.")
            case ResourceContentBlock(uri=uri, name=name):
                link = _linked(uri, folder)
                words.append(link.name if link else name)
                files += [link] if link else []
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                files.append(_given(uri, text.encode(errors="replace"), folder))
            case EmbeddedResourceContentBlock(resource=resource):
                files.append(_given(resource.uri, _decoded(resource.blob), folder))
    if len(files) > MOST_FILES:
        raise AttachmentRefused(f"A prompt takes {MOST_FILES} files at most; this one has {len(files)}.")
    text = "".join(words).strip()
    return Prompt(text or (ONLY_FILES if files else ""), tuple(files))


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise AttachmentRefused("An attached file is not valid Base64.") from None


def _given(uri: str, data: bytes, folder: Path) -> NamedFile:
    """What the editor sent along, under the name it gave it."""
    path = _path(uri)
    name = name_of(path, folder) if path is not None else one_line(uri, NAME_CHARS)
    return NamedFile(path or Path(name), name, data=data)


def _linked(uri: str, folder: Path) -> NamedFile | None:
    """The file of a link; None for a link to anything else, which is only named. Raises `AttachmentRefused`."""
    if (path := _path(uri)) is None:
        return None
    try:
        if path.is_dir():
            return None
        is_file = path.is_file()
    except OSError:  # no file can have such a name, or its folder may not be read
        is_file = False
    if not is_file:
        raise AttachmentRefused(f"No file {one_line(str(path), NAME_CHARS)} to attach.")
    return NamedFile(path, name_of(path, folder))


def _path(uri: str) -> Path | None:
    """The file that an address names; None for another address. Raises `AttachmentRefused`."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise AttachmentRefused(f"{one_line(uri, NAME_CHARS)} is not an address.") from None
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None
