"""The file of a backup: a compressed tar with an introduction, logs, files and, last, a manifest to check it by."""

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Self

from co_tui import __version__
from co_tui.exchange.backup.names import MAX_NAME_CHARS, is_known_name, log_name, session_of_log
from co_tui.paths import path_text
from co_tui.store.timestamps import now

FORMAT: Final = 1
INTRODUCTION: Final = "co-tui-backup.json"
MANIFEST: Final = "manifest.json"
PIECE_BYTES: Final = 1 << 20
MAX_ENTRY_BYTES: Final = 4_000_000_000
"""Of one log or file."""
MAX_ENTRIES: Final = 5_000_000
MAX_OWN_BYTES: Final = 64_000
"""Of the introduction and the manifest."""
MAX_HEADER_BYTES: Final = 64_000
"""Of a header with a long name: a tar may claim any length."""
_COMPRESSION: Final = 6
_MAX_PADDING: Final = 1 << 20
"""After the last file."""
_LATEST: Final = 1e10
"""A later time of a file is damage."""
_IN_MEMORY_BYTES: Final = 8_000_000
_DAMAGE: Final = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError)
"""What Python's readers raise for a damaged file."""


class BackupRefused(Exception):
    """A file that is not a backup, or a damaged one; the text names it and says why."""


class Totals(NamedTuple):
    """What a backup holds."""

    sessions: int = 0
    events: int = 0
    files: int = 0
    bytes: int = 0
    """Of all logs and files, not compressed."""


class _Digest:
    """Of all entries in order: a lost, changed, added or moved one is noticed."""

    def __init__(self) -> None:
        self._all = hashlib.sha256()

    def add(self, name: str, size: int, digest: bytes) -> None:
        self._all.update(f"{size} {digest.hex()} {name}\n".encode(errors="surrogateescape"))

    @property
    def text(self) -> str:
        return self._all.hexdigest()


class BackupWriter:
    """Writes a backup to a stream; memory does not grow with it."""

    def __init__(self, stream: IO[bytes], folder: Path | None = None) -> None:
        """`folder` is for what does not fit into memory before its size is known."""
        self._folder = None if folder is None else str(folder)
        self._gzip = gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=_COMPRESSION)
        self._tar = tarfile.open(fileobj=self._gzip, mode="w:", format=tarfile.PAX_FORMAT)
        self._digest = _Digest()
        self.totals = Totals()
        self._put(INTRODUCTION, {"format": FORMAT, "co_tui": __version__, "made": now()})

    def add_log(self, session_id: str, lines: Iterable[str]) -> None:
        events = 0

        def pieces() -> Iterator[bytes]:
            nonlocal events
            for line in lines:
                events += 1
                yield line.encode()

        size = self._add(log_name(session_id), pieces(), time.time())
        sessions, before, files, total = self.totals
        self.totals = Totals(sessions + 1, before + events, files, total + size)

    def add_file(self, name: str, pieces: Iterable[bytes], modified: float = 0, *, executable: bool = False) -> None:
        size = self._add(name, pieces, modified, executable=executable)
        self.totals = self.totals._replace(files=self.totals.files + 1, bytes=self.totals.bytes + size)

    def finish(self) -> Totals:
        """Without this, the backup counts as damaged."""
        self._put(MANIFEST, {"format": FORMAT, **self.totals._asdict(), "sha256": self._digest.text})
        self._tar.close()
        self._gzip.close()
        return self.totals

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._gzip.fileobj = None  # type: ignore[assignment]  # after a failure nothing more is written

    def _add(self, name: str, pieces: Iterable[bytes], modified: float = 0, *, executable: bool = False) -> int:
        digest = hashlib.sha256()
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=self._folder) as spool:
            for piece in pieces:
                digest.update(piece)
                spool.write(piece)
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = spool.tell(), modified, 0o700 if executable else 0o600
            spool.seek(0)
            self._tar.addfile(info, spool)
        self._tar.members = []  # type: ignore[attr-defined]  # a list of all that was written, which is never read
        self._digest.add(name, info.size, digest.digest())
        return info.size

    def _put(self, name: str, value: dict[str, Any]) -> None:
        text = json.dumps(value).encode()
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(text), 0o600
        self._tar.addfile(info, io.BytesIO(text))


class Entry(NamedTuple):
    """A log or file in a backup."""

    name: str
    size: int
    modified: float
    executable: bool
    content: IO[bytes]
    """To be read before the next entry."""

    def pieces(self) -> Iterator[bytes]:
        while piece := self.content.read(PIECE_BYTES):
            yield piece


class Backup:
    """A backup that is read, as often as wanted. Nothing in it is believed: names, kinds and sizes are checked."""

    def __init__(self, path: Path) -> None:
        """Raises `BackupRefused`."""
        self._path = path
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise BackupRefused(f"Cannot read {path_text(path)}: {error.strerror or error}.") from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise BackupRefused(f"{path_text(path)} is not a regular file.")
        self._stream = os.fdopen(handle, "rb")

    def check(self) -> Totals:
        """Read all of it; what it holds, if it is whole. Raises `BackupRefused`."""
        digest, sessions, events, files, total = _Digest(), 0, 0, 0, 0
        for entry in self.entries():
            content, is_log = hashlib.sha256(), bool(session_of_log(entry.name))
            for piece in self._guarded(entry.pieces()):
                content.update(piece)
                events += piece.count(b"\n") if is_log else 0
            digest.add(entry.name, entry.size, content.digest())
            sessions, files, total = sessions + is_log, files + (not is_log), total + entry.size
        found = Totals(sessions, events, files, total)
        if found != self._stated or digest.text != self._sha256:
            raise self._refused("its content is not what its manifest says")
        return found

    def entries(self) -> Iterator[Entry]:
        """Logs first. Raises `BackupRefused`, at the latest when it ends too early."""
        self._stream.seek(0)
        count, is_complete = 0, False
        with gzip.GzipFile(fileobj=self._stream, mode="rb") as unpacked:
            tar = self._opened(unpacked)
            for info, content in self._guarded(_members(tar)):
                if is_complete or (count == 0) != (info.name == INTRODUCTION):
                    raise self._refused("it is not a co-tui backup" if count == 0 else "its files are out of order")
                count += 1
                if info.name in (INTRODUCTION, MANIFEST):
                    is_complete = info.name == MANIFEST
                    self._read_own(info, content)
                    continue
                self._check_member(info, count)
                modified = info.mtime if 0 <= info.mtime < _LATEST else 0
                yield Entry(info.name, info.size, modified, bool(info.mode & 0o100), content)
            rest = sum(len(piece) for piece in self._guarded(iter(partial(unpacked.read, _MAX_PADDING), b"")))
        if not is_complete:
            raise self._refused("its end is missing" if count else "it is not a co-tui backup")
        if rest > _MAX_PADDING:
            raise self._refused("there is more after its end")

    def _opened(self, unpacked: gzip.GzipFile) -> tarfile.TarFile:
        try:
            return tarfile.open(fileobj=_Bounded(unpacked), mode="r:")
        except _DAMAGE:
            raise self._refused("it is not a co-tui backup") from None

    def _check_member(self, info: tarfile.TarInfo, count: int) -> None:
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.sparse:
            raise self._refused("it holds something that is not an ordinary file")
        if not is_known_name(info.name):
            raise self._refused(f"it holds {ascii(info.name[:MAX_NAME_CHARS])[:80]}, which belongs to no backup")
        if not 0 <= info.size <= MAX_ENTRY_BYTES or count > MAX_ENTRIES:
            raise self._refused("it is too large")

    def _read_own(self, info: tarfile.TarInfo, content: IO[bytes]) -> None:
        """The introduction and the manifest."""
        if info.type != tarfile.REGTYPE or info.size > MAX_OWN_BYTES:
            raise self._refused("its manifest is damaged")
        try:
            value = json.loads(content.read(MAX_OWN_BYTES))
            version = value["format"]
            if info.name == MANIFEST:
                self._stated = Totals(*(int(value[name]) for name in Totals._fields))
                self._sha256 = str(value["sha256"])
        except (*_DAMAGE, RecursionError, KeyError, TypeError):
            raise self._refused("its manifest is damaged") from None
        if version != FORMAT:
            raise self._refused("a newer version of co-tui made it: update co-tui first")

    def _guarded(self, found: Iterator[Any]) -> Iterator[Any]:
        """The same, with damage as a sentence."""
        while True:
            try:
                each = next(found)
            except StopIteration:
                return
            except _DAMAGE as error:
                raise self._refused(str(error) or "it is damaged") from None
            yield each

    def _refused(self, why: str) -> BackupRefused:
        return BackupRefused(f"Cannot restore {path_text(self._path)}: {why.rstrip('.')}.")

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def _members(tar: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    while (info := tar.next()) is not None:
        tar.members = []  # type: ignore[attr-defined]
        content = tar.extractfile(info) if info.isreg() else None
        yield info, content or io.BytesIO()


class _Bounded(io.RawIOBase):
    """A stream of which no more than a piece is read at once."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._from = stream

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= max(PIECE_BYTES, MAX_HEADER_BYTES):
            raise tarfile.ReadError("one of its names is too long")
        return self._from.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._from.seek(offset, whence)

    def tell(self) -> int:
        return self._from.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True
