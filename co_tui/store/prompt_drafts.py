"""Unsent prompts, in files."""

import contextlib
import os
from pathlib import Path
from typing import Final

from co_tui.paths import read_small_text, write_atomically
from co_tui.store.sync.files.synced_file import FileSync, SyncedFile

LIMIT_BYTES = 64_000_000
_NEW: Final = "new-"
"""How the keys of folders begin."""


def new_session_draft(folder: Path) -> str:
    """The key of what is written before a session exists: one for each working directory, links resolved.

    Earlier versions had one `new.txt` for all folders. It is ignored, since its folder is unknown.
    """
    import hashlib  # slow to import

    return f"{_NEW}{hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]}"


class PromptDraftFiles:
    """One small file per key while there is a draft. What is typed in a session follows it to other machines; what is
    typed before there is one belongs to a folder here, and stays."""

    def __init__(self, folder: Path, files: FileSync) -> None:
        self._folder, self._files = folder, files
        self._seen: dict[str, str] = {}
        """As they were last read or written: what is only shown again must not replace what comes from elsewhere."""
        self._seen_empty = False

    @property
    def is_empty(self) -> bool:
        try:
            self._seen_empty = next(self._folder.iterdir(), None) is None
        except OSError:
            self._seen_empty = True
        return self._seen_empty

    def read(self, key: str) -> str:
        self._seen[key] = text = self._stored(key)
        return text

    def write(self, key: str, text: str) -> None:
        kept = text if text.strip() else ""
        unread = "" if self._seen_empty else self._stored(key)
        if kept == self._seen.get(key, unread):
            return
        self._seen[key] = kept
        # A failed save must not interrupt typing.
        with contextlib.suppress(OSError, UnicodeEncodeError):
            if kept:
                write_atomically(self.file(key), kept)
            else:
                self.file(key).unlink(missing_ok=True)
        if not key.startswith(_NEW):
            self._files.changed(draft_file(self.file(key), key))

    def file(self, key: str) -> Path:
        return self._folder / f"{key}.txt"

    def _stored(self, key: str) -> str:
        try:
            return read_small_text(self.file(key), LIMIT_BYTES)
        except (OSError, UnicodeDecodeError):
            return ""


def draft_file(path: Path, session_id: str) -> SyncedFile:
    """The unsent prompt of a session."""
    return SyncedFile(f"drafts/{session_id}", path, "draft")
