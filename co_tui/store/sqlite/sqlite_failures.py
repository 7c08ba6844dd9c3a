"""What SQLite and the file system report, as sentences."""

import errno
import sqlite3
from pathlib import Path

from co_tui.store.store_errors import StoreError


def explained(error: sqlite3.Error | OSError, path: Path) -> StoreError:
    """The sentence for what SQLite or the file system reported."""
    text = str(error).lower()
    if "full" in text or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"The disk that holds {path} is full: nothing more can be saved until there is room.")
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return StoreError(f"The database folder {path.parent} cannot be used: {reason}. Set CO_TUI_HOME to another.")
    if "not a database" in text or "malformed" in text:
        return StoreError(
            f"The database {path} is damaged ({error}). It was left as it is; restore a copy, "
            "or move it away and co-tui starts a new one."
        )
    if "readonly" in text or "read-only" in text:
        return StoreError(f"The database {path} is read-only: co-tui can show sessions but not continue them.")
    if "unable to open" in text and path.exists():
        return StoreError(
            f"The database {path} cannot be opened for writing: its folder is read-only, or not yours. "
            "Sessions can be shown, but not continued."
        )
    if "unable to open" in text:
        return StoreError(f"The database {path} cannot be opened: check that its folder exists and is yours.")
    if "locked" in text or "busy" in text:
        return StoreError(f"The database {path} stayed locked by another program; try again when that one is done.")
    return StoreError(f"The database {path} failed: {error}.")
