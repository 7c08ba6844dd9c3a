"""A lock on a file that the operating system releases when its process ends, however it ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from co_tui.paths import ensure_file

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def lock(handle: IO[str], *, wait: bool, shared: bool = False) -> None:
        # No shared locks here. The lock is beyond the text, which other processes read to find the owner.
        handle.seek(1 << 20)
        # Types are checked for the system they are checked on, where this module has nothing.
        msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def lock(handle: IO[str], *, wait: bool, shared: bool = False) -> None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`, waiting until it is free."""
    with open(ensure_file(path), "r+", encoding="utf-8") as handle:
        lock(handle, wait=True)
        yield
