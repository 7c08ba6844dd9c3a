"""The right to write a session, as a lock on a file."""

import contextlib
import os
import time
from pathlib import Path
from typing import IO, Self

from co_tui.kept_file import lock
from co_tui.paths import OWNER_ONLY_FILE, ensure_dir
from co_tui.store.sqlite.sqlite_failures import explained
from co_tui.store.store_errors import SessionBusy

SYNC = "sync"
"""The owner of a lock while a session is brought up to date with a server."""
SYNC_RETRY_S = 30.0
"""How long to wait for that."""
PROBE_RETRY_S = 1.0
"""How long to retry while other processes only probe the lock, or one that has just taken it writes who it is."""


class SessionLockFile:
    """The right to write one session; at most one process has it."""

    def __init__(self, folder: Path, session_id: str, owner: str = "") -> None:
        """`owner` is written into the file, by default the id of this process."""
        self._path = folder / f"{session_id}.lock"
        self._owner = owner or str(os.getpid())
        self._handle: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock now. Raises `SessionBusy` when another process holds it."""
        since = time.monotonic()
        while self._handle is None:
            handle = self._opened()
            if not _is_free(handle, shared=False):
                self._refuse_unless_brief(handle, since)
            elif _names_same_file(self._path, handle):
                self._write_owner(handle)
            else:  # released and unlinked between our open and our lock
                handle.close()

    def _opened(self) -> IO[str]:
        try:
            ensure_dir(self._path.parent)
            return open(self._path, "r+", encoding="utf-8", opener=_created)
        except OSError as error:
            raise explained(error, self._path) from error

    def _refuse_unless_brief(self, handle: IO[str], since: float) -> None:
        """Raise `SessionBusy` unless the lock is only probed or synced, which takes a moment."""
        with handle:
            is_probed = _is_free(handle, shared=True)
            owner = handle.read().strip()
        is_synced = owner == SYNC and self._owner != SYNC
        is_brief = is_probed or not _may_be_alive(owner)
        if time.monotonic() - since > (PROBE_RETRY_S if is_brief else SYNC_RETRY_S if is_synced else 0.0):
            raise _busy(self._path, owner)
        time.sleep(0.001)

    def _write_owner(self, handle: IO[str]) -> None:
        self._handle = handle
        try:
            handle.truncate(0)
            handle.write(self._owner)
            handle.flush()
        except OSError as error:
            self.release()
            raise explained(error, self._path) from error

    def release(self) -> None:
        if self._handle is not None:
            # Unlinked while still held: the next process to open the name gets a new file.
            self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # on a full disk even our number does not fit
                self._handle.close()
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.release()


def _created(path: str, flags: int) -> int:
    """Open a file or create it, in one step: its last owner may remove it at any moment."""
    return os.open(path, flags | os.O_CREAT, OWNER_ONLY_FILE)


def held_elsewhere(folder: Path, session_id: str) -> SessionBusy | None:
    """What taking the lock of a session would raise now; waits for no process."""
    path = folder / f"{session_id}.lock"
    if not _is_held(path):
        return None
    with contextlib.suppress(OSError):
        return _busy(path, path.read_text(encoding="utf-8").strip())
    return _busy(path, "")


def _busy(path: Path, owner: str) -> SessionBusy:
    return SessionBusy(
        f"Session {path.stem} is open in another co-tui (process {owner or 'unknown'}). "
        "Close it there, or start a new session.",
        owner,
    )


def claimed_sessions(folder: Path) -> frozenset[str]:
    """The sessions that any process holds now, this one included."""
    return frozenset(path.stem for path in folder.glob("*.lock") if _is_held(path))


def another_process(folder: Path) -> str:
    """The id of another process that has a session open; empty for none."""
    for path in folder.glob("*.lock"):
        with contextlib.suppress(FileNotFoundError):
            owner = path.read_text(encoding="utf-8").strip()
            if owner != str(os.getpid()) and _is_held(path):
                return owner or "unknown"
    return ""


def _is_held(path: Path) -> bool:
    """Whether its owner is alive: a killed process leaves its file, and its id may be reused."""
    try:
        with open(path, "r+", encoding="utf-8") as handle:
            owner = handle.read().strip()
            # Shared: a process that takes the session now can see that this is only a probe.
            return owner != SYNC and (not owner or _may_be_alive(owner)) and not _is_free(handle, shared=True)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _may_be_alive(owner: str) -> bool:
    """Whether a lock's file names who may hold it; the one who has just taken it finds nothing or an old number."""
    try:
        if owner.isdecimal():
            os.kill(int(owner), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return bool(owner)


def _is_free(handle: IO[str], *, shared: bool) -> bool:
    """Try to take the lock; if free, it is held until the handle is closed."""
    try:
        lock(handle, wait=False, shared=shared)
    except OSError:
        return False
    return True


def _names_same_file(path: Path, handle: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle.fileno()))
    except FileNotFoundError:
        return False
