"""Where the contents of snapshots are kept, by content: the interface, and plain files for where git is missing."""

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from co_tui.paths import OWNER_ONLY_FILE, ensure_dir
from co_tui.session.snapshots.entries import FileEntry

_FAST: Final = 1
"""Compression level."""


class SnapshotsUnusable(Exception):
    """Why snapshots cannot be written or read: a sentence."""


class ChangedFile(NamedTuple):
    """A file of a new snapshot that the one before does not have like this; without an entry it is gone."""

    path: str
    entry: FileEntry | None
    content: bytes = b""


class Objects(Protocol):
    """Keeps snapshots. Raises `SnapshotsUnusable`."""

    def write(self, base: str, changed: Iterable[ChangedFile], details: "Details") -> str:
        """Add a snapshot that differs from `base` (empty for none) by these files; returns its id.

        `details` is asked for after all files were read.
        """
        ...

    def read(self, snapshot: str) -> tuple[dict[str, FileEntry], bytes]:
        """Files and links of a snapshot with their executable bits, and its details."""
        ...

    def contents(self, oids: Iterable[str]) -> Iterator[bytes]: ...


class Details(Protocol):
    def __call__(self) -> bytes: ...


def oid_of(content: bytes) -> str:
    """Git's name for a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class PlainObjects:
    """Each content is a compressed file of its own, each snapshot a list of all files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: set[Path] = set()

    def write(self, base: str, changed: Iterable[ChangedFile], details: Details) -> str:
        entries = self.read(base)[0] if base else {}
        for path, entry, content in changed:
            if entry is None:
                entries.pop(path, None)
            else:
                self._keep(entry.oid, content)
                entries[path] = entry
        text = json.dumps([entries, details().decode()], sort_keys=True).encode()
        snapshot = hashlib.sha1(text, usedforsecurity=False).hexdigest()
        self._keep(snapshot, text)
        return snapshot

    def read(self, snapshot: str) -> tuple[dict[str, FileEntry], bytes]:
        entries, details = json.loads(self._content(snapshot))
        return {path: FileEntry(*each) for path, each in entries.items()}, details.encode()

    def contents(self, oids: Iterable[str]) -> Iterator[bytes]:
        return (self._content(oid) for oid in oids)

    def _keep(self, name: str, content: bytes) -> None:
        file = self._folder / name[:2] / name[2:]
        if file.exists():
            return
        try:
            if file.parent not in self._made:
                self._made.add(ensure_dir(file.parent))
            part = file.with_suffix(".part")
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY_FILE), "wb") as stream:
                stream.write(zlib.compress(content, _FAST))
            part.replace(file)
        except OSError as error:
            raise SnapshotsUnusable(f"Cannot save a snapshot: {error.strerror or error}.") from error

    def _content(self, name: str) -> bytes:
        try:
            return zlib.decompress((self._folder / name[:2] / name[2:]).read_bytes())
        except (OSError, zlib.error) as error:
            raise SnapshotsUnusable(f"Snapshot {name[:12]} is missing or damaged.") from error
