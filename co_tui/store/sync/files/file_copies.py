"""The copies on this machine: read and written whole, under the lock that others who change them hold."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from co_tui.paths import read_small_text, write_atomically
from co_tui.store.file_lock import file_lock
from co_tui.store.sync.files.kinds import KINDS, is_in_folder
from co_tui.store.sync.files.known_files import FileStatus
from co_tui.store.sync.files.synced_file import SyncedFile

MOST_BYTES: Final = 10 * 1024 * 1024
"""A larger file stays on its machine."""
Redact = Callable[[str], str]
"""Hides secrets in a text, or in the values of one that is JSON."""


class Unshareable(Exception):
    """A file that stays on this machine: too large, or no text."""


def read(file: SyncedFile, redact: Redact) -> str:
    """The part of a file that is shared, without secrets; empty if there is none. Raises `Unshareable`."""
    return redact(KINDS[file.kind].take(_text(file.path), file.key))


def write(file: SyncedFile, shared: str) -> None:
    """Replace the shared part of a file. Raises OSError."""
    text = KINDS[file.kind].put(_text(file.path), file.key, shared)
    if text.strip():
        write_atomically(file.path, text)
    else:
        file.path.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(file: SyncedFile) -> Iterator[None]:
    """Keep others from changing a file here. Never held while waiting for the network. Raises OSError."""
    lock = KINDS[file.kind].lock
    with file_lock(lock(file.path)) if lock is not None else contextlib.nullcontext():
        yield


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


def _text(path: Path) -> str:
    try:
        text = read_small_text(path, MOST_BYTES)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Unshareable(str(error)) from error
    if "\x00" in text:
        raise Unshareable(f"{path.name} is no text")
    return text
