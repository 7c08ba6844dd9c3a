"""The right to write a session, as a lock on a file."""

import contextlib
import os
from pathlib import Path
from typing import IO, Self

from co_tui.paths import ensure_file
from co_tui.store.errors import SessionBusy
from co_tui.store.file_lock import lock
from co_tui.store.sqlite.failures import explained


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
                lock(handle, wait=False)
            except OSError:
                owner = handle.read().strip()
                handle.close()
                raise SessionBusy(
                    f"Session {self._path.stem} is open in another co-tui (process {owner or 'unknown'}). "
                    "Close it there first, or start a new session.",
                    owner,
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


def claimed_sessions(folder: Path) -> frozenset[str]:
    """The sessions that somebody has the right to write at this moment, this process included."""
    return frozenset(path.stem for path in folder.glob("*.lock") if _is_held(path))


def _is_held(path: Path) -> bool:
    """Whether its owner is alive: one that was killed leaves its file, and perhaps its number to another."""
    try:
        with open(path, "r+", encoding="utf-8") as handle:
            owner = handle.read().strip()
            if owner == str(os.getpid()):
                return True
            if os.name == "posix" and owner.isdecimal():
                os.kill(int(owner), 0)
            lock(handle, wait=False)
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _names_same_file(path: Path, handle: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle.fileno()))
    except FileNotFoundError:
        return False
