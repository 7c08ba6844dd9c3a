"""Exports that come as a zip: the conversations in it, and its images when they are asked for. Nothing is unpacked."""

import io
import os
import re
import struct
import zipfile
import zlib
from bisect import bisect_left
from pathlib import Path, PurePosixPath
from typing import IO, Final, Self

from co_tui.events.images import MOST_IMAGE_BYTES
from co_tui.exchange.importers.foreign_files import MAX_WHOLE_BYTES, Document, Record, file_time, json_value, opened
from co_tui.exchange.importers.imported import ImportRefused

ZIP_HEADERS: Final = (b"PK\x03\x04", b"PK\x05\x06")
MAX_DIRECTORY_BYTES: Final = 4_000_000
"""Of the list of its files, which is held: about 40,000 of them with their names."""
MAX_CONVERSATION_FILES: Final = 1_000
MAX_IMAGES_BYTES: Final = 500_000_000
"""Of all images that are read, the repeated ones included."""
MAX_RATIO: Final = 300
"""How far a file may unfold; texts reach 50, what is made to fill a disk 1,000."""
RATIO_FROM_BYTES: Final = 1_000_000
_ENCRYPTED: Final = 1
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_CONVERSATIONS: Final = re.compile(r"conversations(-\d{1,6})?\.json")
_IMAGES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".dat", ".pdf")
_SHORTEST_NAME: Final = 8
"""Of an image: a shorter beginning would fit any of them."""
_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""What Python's reader raises for one."""


class Archive:
    """A zip that is read within bounds. Names in it are compared, and never used as paths."""

    def __init__(self, path: Path) -> None:
        """Raises `ImportRefused`."""
        self._path = path
        self._stream = opened(path)
        self._images_left = MAX_IMAGES_BYTES
        try:
            self._zip = zipfile.ZipFile(_Bounded(self._stream))
        except _DAMAGE as error:
            self._stream.close()
            raise self._refused(str(error) or "it is damaged") from None
        infos = [info for info in self._zip.infolist() if not info.is_dir()]
        self._texts = [info for info in infos if _CONVERSATIONS.fullmatch(PurePosixPath(info.filename).name)]
        self._images = {
            PurePosixPath(info.filename).name: info for info in infos if info.filename.lower().endswith(_IMAGES)
        }
        self._image_names = sorted(self._images)
        self._others = len(infos) - len(self._texts) - len(self._images)

    def document(self) -> Document:
        """All conversations in it. Raises `ImportRefused`."""
        if not self._texts:
            raise self._refused("there is no conversations.json in it")
        if len(self._texts) > MAX_CONVERSATION_FILES:
            raise self._refused(f"there are over {MAX_CONVERSATION_FILES:,} files of conversations in it")
        records: list[Record] = []
        left, skipped = MAX_WHOLE_BYTES, 0
        for info in sorted(self._texts, key=lambda info: info.filename):
            data = self._read(info, left)
            left -= len(data)
            found, damaged = _objects(data)
            records += found
            skipped += damaged
        modified = file_time(os.fstat(self._stream.fileno()))
        return Document(self._path, records, skipped, modified, self._image, self._others)

    def _image(self, name: str) -> bytes:
        """The image whose name begins so; empty when it is not there, damaged, or too much."""
        place = bisect_left(self._image_names, name)
        found = self._image_names[place] if place < len(self._image_names) else ""
        if len(name) < _SHORTEST_NAME or not found.startswith(name) or self._images_left <= 0:
            return b""
        try:
            data = self._read(self._images[found], min(MOST_IMAGE_BYTES, self._images_left))
        except ImportRefused:
            data = b""
        self._images_left -= max(len(data), 1_000)
        return data

    def _read(self, info: zipfile.ZipInfo, most_bytes: int) -> bytes:
        name = PurePosixPath(info.filename).name
        if info.flag_bits & _ENCRYPTED:
            raise self._refused(f"{name} is encrypted")
        if info.compress_type not in _METHODS:
            raise self._refused(f"{name} is packed in an unusual way")
        if info.file_size > RATIO_FROM_BYTES and info.file_size > MAX_RATIO * max(info.compress_size, 1):
            raise self._refused(f"{name} unpacks to over {MAX_RATIO} times its size")
        if info.file_size > most_bytes:
            raise self._refused(f"{name} is over {most_bytes:,} bytes")
        try:
            with self._zip.open(info) as stream:
                data = stream.read(most_bytes + 1)
        except _DAMAGE as error:
            raise self._refused(f"{name}: {error}") from None
        if len(data) > most_bytes:
            raise self._refused(f"{name} is over {most_bytes:,} bytes")
        return data

    def _refused(self, why: str) -> ImportRefused:
        return ImportRefused(f"Cannot import the zip {self._path}: {why.rstrip('.')}.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._zip.close()
        self._stream.close()


class _Bounded(io.RawIOBase):
    """A file of which no more than a piece is read at once: a zip's own list of its files may claim any length."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size if 0 <= size <= MAX_DIRECTORY_BYTES else MAX_DIRECTORY_BYTES + 1)
        if len(piece) > MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"its list of files is over {MAX_DIRECTORY_BYTES:,} bytes")
        return piece

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _objects(data: bytes) -> tuple[list[Record], int]:
    """The objects of a JSON text, and how much in it is none."""
    value = json_value(data)
    items = value if isinstance(value, list) else [value]
    found = [each for each in items if isinstance(each, dict)]
    return found, len(items) - len(found)
