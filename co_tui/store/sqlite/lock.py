"""Locks that the operating system releases when their process ends, however it ends."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from co_tui.paths import ensure_file
from co_tui.store.errors import SessionBusy
from co_tui.store.sqlite.failures import explained

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _lock(handle: IO[str], *, wait: bool) -> None:
        # The lock sits beyond the text, which other processes read to learn who holds it.
        handle.seek(1 << 20)
        # Types are checked for the system they are checked on, where this module has nothing.
        msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _lock(handle: IO[str], *, wait: bool) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`, waiting for whoever has it."""
    with open(ensure_file(path), "r+", encoding="utf-8") as handle:
        _lock(handle, wait=True)
        yield


class SessionLockFile:
    """The right to write one session; at most one process has it."""

    def __init__(self, folder: Path, session_id: str) -> None:
        self._path = folder / f"{session_id}.lock"
        self._handle: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock now. Raises `SessionBusy` when another process holds it."""
        while self._handle is None:
            try:
                handle = open(ensure_file(self._path), "r+", encoding="utf-8")
            except OSError as error:
                raise explained(error, self._path) from error
            try:
                _lock(handle, wait=False)
            except OSError:
                owner = handle.read().strip() or "unknown"
                handle.close()
                raise SessionBusy(
                    f"Session {self._path.stem} is open in another co-tui (process {owner}). "
                    "Close it there first, or start a new session."
                ) from None
            if _names_same_file(self._path, handle):
                self._handle = handle
                try:
                    handle.truncate(0)
                    handle.write(str(os.getpid()))
                    handle.flush()
                except OSError as error:
                    self.release()
                    raise explained(error, self._path) from error
            else:  # released and unlinked between our open and our lock
                handle.close()

    def release(self) -> None:
        if self._handle is not None:
            # Unlinked while still held: whoever opens the name next gets a file of its own.
            self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # on a full disk even our number does not fit
                self._handle.close()
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.release()


def _names_same_file(path: Path, handle: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle.fileno()))
    except FileNotFoundError:
        return False
