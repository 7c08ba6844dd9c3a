"""The copies on this machine: read and written whole, under the lock that others who change them hold."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from co_tui.store.sync.files.kinds import KINDS, is_in_folder
from co_tui.store.sync.files.known_files import FileStatus
from co_tui.store.sync.files.synced_file import SyncedFile

Redact = Callable[[str], str]
"""Hides secrets in a text, or in the values of one that is JSON."""


class Unshareable(Exception):
    """A file that stays on this machine: one that is too large, or that its readers here cannot read."""


def read(file: SyncedFile, redact: Redact) -> str:
    """The part of a file that is shared, without secrets; empty if there is none. Raises `Unshareable`."""
    return redact(KINDS[file.kind].take(_text(file), file.key))


def write(file: SyncedFile, shared: str) -> None:
    """Replace the shared part of a file, while it is `locked`. Raises `Unshareable` and OSError."""
    kind = KINDS[file.kind]
    kind.kept(file.path).write(kind.put(_text(file), file.key, shared))


def locked(file: SyncedFile) -> contextlib.AbstractContextManager[None]:
    """Keep others from changing a file here. Never held while waiting for the network. Raises OSError."""
    kind = KINDS[file.kind]
    return kind.kept(file.path).locked() if kind.lock is not None else contextlib.nullcontext()


def status(path: Path) -> FileStatus:
    try:
        found = path.stat()
    except OSError:
        return FileStatus()
    return FileStatus(found.st_mtime_ns, found.st_size)


def names_in(folder: SyncedFile) -> Iterator[str]:
    """The names of all files in a folder here that are shared."""
    for place, folders, files in os.walk(folder.path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            rest = Path(place, name).relative_to(folder.path).as_posix()
            if is_in_folder(folder.kind, rest):
                yield folder.name + rest


def _text(file: SyncedFile) -> str:
    try:
        return KINDS[file.kind].kept(file.path).read()
    except OSError as error:
        raise Unshareable(str(error)) from error
