"""Files of other programs as JSON values: bounded, made storable, and read as far as they can be."""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from co_tui.events.storable import storable
from co_tui.exchange.importers.imported import ImportRefused

MAX_FILE_BYTES: Final = 1_000_000_000
MAX_LINE_BYTES: Final = 64_000_000
MAX_WHOLE_BYTES: Final = 128_000_000
"""Of a file that is one JSON value, and not one a line."""
SQLITE_HEADER: Final = b"SQLite format 3\0"
HEAD_BYTES: Final = 4_096
_PIECE_BYTES: Final = 1 << 20

Record = dict[str, Any]
"""A JSON object."""


def no_attachment(_name: str) -> bytes:
    return b""


class Document(NamedTuple):
    """What a file holds: its JSON objects in order."""

    path: Path
    records: list[Record]
    skipped: int
    """Lines that hold no JSON object, or too much of it."""
    modified: datetime
    attachment: Callable[[str], bytes] = no_attachment
    """The bytes of an image that came with it, by the beginning of its name; empty when there is none."""
    other_files: int = 0
    """How many files came with it that are neither conversations nor images."""


class TextDocument(NamedTuple):
    """A file that is no JSON."""

    path: Path
    text: str
    modified: datetime


def file_time(status: os.stat_result) -> datetime:
    """When the file was written, which is not in the future."""
    return datetime.fromtimestamp(min(max(status.st_mtime, 0.0), time.time()), UTC)


def read_document(path: Path) -> Document:
    """Raises `ImportRefused` when it cannot be opened, is not an ordinary file, or is too large."""
    with opened(path) as stream:
        status = os.fstat(stream.fileno())
        modified = file_time(status)
        if status.st_size > MAX_WHOLE_BYTES and stream.read(HEAD_BYTES).lstrip().startswith(b"["):
            raise ImportRefused(f"{path} is one JSON value of over {MAX_WHOLE_BYTES:,} bytes.")
        stream.seek(0)
        whole = _whole(stream, status.st_size)
        if whole is not None:
            return Document(path, whole, 0, modified)
        stream.seek(0)
        records, skipped = _lines(stream)
    return Document(path, records, skipped, modified)


def opened(path: Path) -> IO[bytes]:
    """An ordinary file of a size that can be read. Raises `ImportRefused`."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise ImportRefused(f"Cannot read {path}: {error.strerror or error}.") from None
    stream = os.fdopen(handle, "rb") if stat.S_ISREG((status := os.fstat(handle)).st_mode) else None
    if stream is None:
        os.close(handle)
        raise ImportRefused(f"{path} is not a regular file.")
    if status.st_size > MAX_FILE_BYTES:
        stream.close()
        raise ImportRefused(f"{path} is over {MAX_FILE_BYTES:,} bytes.")
    return stream


def read_head(path: Path) -> bytes:
    """How a file begins. Raises `ImportRefused`."""
    with opened(path) as stream:
        return stream.read(HEAD_BYTES)


def read_text(path: Path) -> TextDocument:
    """Raises `ImportRefused` for a file that is too large to be held."""
    with opened(path) as stream:
        status = os.fstat(stream.fileno())
        if status.st_size > MAX_WHOLE_BYTES:
            raise ImportRefused(f"{path} is over {MAX_WHOLE_BYTES:,} bytes.")
        read = stream.read(MAX_WHOLE_BYTES).removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    return TextDocument(path, read, file_time(status))


def read_value(path: Path) -> Any:
    """The one JSON value of a small file; None when it has none."""
    try:
        with opened(path) as stream:
            text = stream.read(MAX_LINE_BYTES + 1)
    except ImportRefused:
        return None
    return json_value(text) if len(text) <= MAX_LINE_BYTES else None


def first_record(path: Path) -> Record:
    """The object in the first line of a file; empty when there is none."""
    try:
        with opened(path) as stream:
            value = json_value(stream.readline(MAX_LINE_BYTES))
    except ImportRefused:
        value = None
    return value if isinstance(value, dict) else {}


def _whole(stream: IO[bytes], size: int) -> list[Record] | None:
    """The objects of a file that is one JSON value over several lines; None for one value a line."""
    first = stream.readline(MAX_LINE_BYTES + 1)
    value = json_value(first)
    if size > MAX_WHOLE_BYTES or isinstance(value, dict):
        return None
    if len(first) < size:
        stream.seek(0)
        value = json_value(stream.read(MAX_WHOLE_BYTES + 1))
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return value
    return None


def _lines(stream: IO[bytes]) -> tuple[list[Record], int]:
    records, skipped = [], 0
    for line in _bounded_lines(stream):
        if line is not None and not line.strip():
            continue
        value = json_value(line) if line is not None else None
        if isinstance(value, dict):
            records.append(value)
        else:
            skipped += 1
    return records, skipped


def _bounded_lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Each line; None for one that is too long, which is passed over without being held."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if len(line) <= MAX_LINE_BYTES:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(_PIECE_BYTES)
        yield None


def json_value(text: bytes) -> Any:
    """What JSON says, made storable; None for what is no JSON, or nested too deeply to be read."""
    try:
        return storable(json.loads(text.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")))
    except (ValueError, RecursionError):
        return None
