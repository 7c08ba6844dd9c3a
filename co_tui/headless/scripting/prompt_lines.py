"""Prompts as JSON lines on standard input, one conversation: `--input-format stream-json`."""

import asyncio
import base64
import binascii
import json
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Protocol

from co_tui.events import Json
from co_tui.events.images import image_type
from co_tui.headless.output import say
from co_tui.inert import one_line
from co_tui.session.file_references import MOST_FILES, ONLY_FILES, NamedFile

MOST_LINE_BYTES: Final = 64_000_000
CONTROL: Final = frozenset(("control_request", "control_response", "control_cancel_request", "keep_alive"))
FORM: Final = '{"type": "user", "message": {"role": "user", "content": "…"}}'


class GivenPrompt(NamedTuple):
    """A prompt and what is attached to it."""

    text: str
    files: Sequence[NamedFile] = ()


class BadLine(ValueError):
    """Why a line is not a prompt, as a sentence."""


class UnknownLine(BadLine):
    """A message of a type that is not known: it is named, and the run continues."""


class ControlLines(Protocol):
    """Gets the lines that are not prompts, as they come."""

    def take(self, message: Json) -> None: ...

    def end(self) -> None:
        """No more lines will come."""
        ...


class PromptLines(AsyncIterator[GivenPrompt]):
    """The prompts of a stream, each as soon as its line is there. Raises `BadLine`.

    Other messages go to `control` at once, also while a prompt is answered.
    The stream is read in a daemon thread: a writer that is silent does not delay the end of the process.
    """

    def __init__(self, stream: BinaryIO, control: ControlLines) -> None:
        self._stream = stream
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._prompts: asyncio.Queue[GivenPrompt | BadLine | None] = asyncio.Queue()
        self._is_stopped = False
        threading.Thread(target=self._read, name="reading prompts", daemon=True).start()

    def stop(self) -> None:
        """End here, whatever was read already."""
        self._is_stopped = True
        self._prompts.put_nowait(None)

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            number = 0
            while line := self._stream.readline(MOST_LINE_BYTES + 1):
                number += 1
                if line.strip():
                    self._loop.call_soon_threadsafe(self._take, _numbered(line, number))
            self._loop.call_soon_threadsafe(self._end)

    def _take(self, read: GivenPrompt | Json | BadLine) -> None:
        if isinstance(read, UnknownLine):
            say(f"{read} Ignored.")
        elif isinstance(read, GivenPrompt | BadLine):
            self._prompts.put_nowait(read)
        else:
            self._control.take(read)

    def _end(self) -> None:
        self._control.end()
        self._prompts.put_nowait(None)

    async def __anext__(self) -> GivenPrompt:
        prompt = await self._prompts.get()
        if prompt is None or self._is_stopped:
            raise StopAsyncIteration
        if isinstance(prompt, BadLine):
            raise prompt
        return prompt


def _numbered(line: bytes, number: int) -> GivenPrompt | Json | BadLine:
    try:
        return read_line(line)
    except BadLine as bad:
        return type(bad)(f"Line {number} of standard input: {bad}")


def read_line(line: bytes) -> GivenPrompt | Json:
    """The prompt in a line, or another message of a script. Raises `BadLine`."""
    if len(line) > MOST_LINE_BYTES:
        raise BadLine(f"it is over {MOST_LINE_BYTES:,} bytes.")
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLine(f"it is not JSON. Write {FORM}.") from None
    kind = given.get("type") if isinstance(given, dict) else None
    if isinstance(kind, str) and kind in CONTROL:
        return dict(given)
    if isinstance(kind, str) and kind != "user":
        raise UnknownLine(f"messages of type {one_line(repr(kind), 40)} are not known.")
    message = given.get("message") if kind == "user" else None
    if not isinstance(message, dict) or message.get("role", "user") != "user":
        raise BadLine(f"it is not a prompt. Write {FORM}.")
    return _prompt(message.get("content"))


def _prompt(content: object) -> GivenPrompt:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list) or not all(isinstance(each, dict) for each in blocks):
        raise BadLine(f"its content is neither text nor a list of blocks. Write {FORM}.")
    files = tuple(_images(blocks))
    text = "\n\n".join(_text(each) for each in blocks if each.get("type") != "image").strip()
    if not text and not files:
        raise BadLine("its prompt is empty.")
    if len(files) > MOST_FILES:
        raise BadLine(f"a prompt takes {MOST_FILES} images at most.")
    return GivenPrompt(text or ONLY_FILES, files)


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
