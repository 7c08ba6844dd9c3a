"""A lock on a file that the operating system releases when its process ends, however it ends."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from co_tui.paths import ensure_file


def lock(handle: IO[str], *, wait: bool, shared: bool = False) -> None:
    """Lock the open file; without `wait`, raises OSError when another process has it."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on `path`; raises `BlockingIOError` when it is not free and `wait` is false."""
    with open(ensure_file(path), "r+", encoding="utf-8") as handle:
        lock(handle, wait=wait)
        yield
