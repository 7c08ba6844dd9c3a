"""What SQLite and the file system report, as sentences."""

import errno
import sqlite3
from pathlib import Path

from co_tui.store.store_errors import StoreError


def explained(error: sqlite3.Error | OSError, path: Path) -> StoreError:
    """The sentence for what SQLite or the file system reported."""
    text = str(error).lower()
    if "full" in text or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"The disk with {path} is full. Nothing is saved until there is space.")
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return StoreError(f"Cannot use database folder {path.parent}: {reason}. Set CO_TUI_HOME to another.")
    if "not a database" in text or "malformed" in text:
        return StoreError(
            f"Database {path} is damaged ({error}) and was not touched. "
            "Restore a copy, or move it away to start a new one."
        )
    if "readonly" in text or "read-only" in text:
        return StoreError(f"Database {path} is read-only: sessions can be viewed, not continued.")
    if "unable to open" in text and path.exists():
        return StoreError(
            f"Cannot write to database {path}: its folder is read-only or not yours. "
            "Sessions can be viewed, not continued."
        )
    if "unable to open" in text:
        return StoreError(f"Cannot open database {path}. Check that its folder exists and is yours.")
    if "locked" in text or "busy" in text:
        return StoreError(f"Database {path} is locked by another program. Try again later.")
    return StoreError(f"Database {path} failed: {error}.")
