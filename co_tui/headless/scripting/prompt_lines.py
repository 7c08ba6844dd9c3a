"""Prompts as JSON lines on standard input, one conversation: `--input-format stream-json`."""

import asyncio
import base64
import binascii
import json
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from co_tui.events.images import image_type
from co_tui.session.file_references import MOST_FILES, NamedFile

MOST_LINE_BYTES: Final = 64_000_000
FORM: Final = '{"type": "user", "message": {"role": "user", "content": "…"}}'


class GivenPrompt(NamedTuple):
    """A prompt and what is attached to it."""

    text: str
    files: Sequence[NamedFile] = ()


class BadLine(ValueError):
    """Why a line is not a prompt, as a sentence."""


class PromptLines(AsyncIterator[GivenPrompt]):
    """The prompts of a stream, each as soon as its line is there. Raises `BadLine`.

    The stream is read in a daemon thread: a writer that is silent does not delay the end of the process.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._number = 0
        self._is_stopped = False
        threading.Thread(target=self._read, name="reading prompts", daemon=True).start()

    def stop(self) -> None:
        """End here, whatever was read already."""
        self._is_stopped = True
        self._lines.put_nowait(b"")

    def _read(self) -> None:
        line = b"-"
        while line:
            line = self._stream.readline(MOST_LINE_BYTES + 1)
            try:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            except RuntimeError:  # the loop is closed
                return

    async def __anext__(self) -> GivenPrompt:
        while (line := await self._lines.get()) and not self._is_stopped:
            self._number += 1
            if line.strip():
                try:
                    return read_prompt(line)
                except BadLine as bad:
                    raise BadLine(f"Line {self._number} of standard input: {bad}") from None
        raise StopAsyncIteration


def read_prompt(line: bytes) -> GivenPrompt:
    """The prompt in a line. Raises `BadLine`."""
    if len(line) > MOST_LINE_BYTES:
        raise BadLine(f"it is over {MOST_LINE_BYTES:,} bytes.")
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLine(f"it is not JSON. Write {FORM}.") from None
    message = given.get("message") if isinstance(given, dict) and given.get("type") == "user" else None
    if not isinstance(message, dict) or message.get("role", "user") != "user":
        raise BadLine(f"it is not a prompt. Write {FORM}.")
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list) or not all(isinstance(each, dict) for each in blocks):
        raise BadLine(f"its content is neither text nor a list of blocks. Write {FORM}.")
    files = tuple(_images(blocks))
    text = "\n\n".join(_text(each) for each in blocks if each.get("type") != "image").strip()
    text = text or " ".join(f"[image {number}]" for number, _ in enumerate(files, 1))  # as the app marks a pasted one
    if not text:
        raise BadLine("its prompt is empty.")
    if len(files) > MOST_FILES:
        raise BadLine(f"a prompt takes {MOST_FILES} images at most.")
    return GivenPrompt(text, files)


def _text(block: dict[str, Any]) -> str:
    text = block.get("text")
    if block.get("type") != "text" or not isinstance(text, str):
        raise BadLine("a prompt takes blocks of type text and image.")
    return text


def _images(blocks: Sequence[dict[str, Any]]) -> Iterator[NamedFile]:
    for number, block in enumerate((each for each in blocks if each.get("type") == "image"), 1):
        source = block.get("source")
        data = source.get("data") if isinstance(source, dict) and source.get("type") == "base64" else None
        try:
            image = base64.b64decode(data or "", validate=True)
        except (binascii.Error, ValueError, TypeError):
            image = b""
        if not image_type(image):
            raise BadLine("an image takes a source of type base64, and its data is that of an image.")
        yield NamedFile(Path(f"image-{number}"), f"image-{number}", data=image)
