"""Unsent prompts, in files."""

import contextlib
import hashlib
import os
from pathlib import Path

from co_tui.paths import read_small_text, write_atomically

LIMIT_BYTES = 64_000_000


def new_session_draft(folder: Path) -> str:
    """The key of what is written before a session exists: one for each working directory, links resolved.

    Earlier versions had one `new.txt` for all folders. It is ignored, since its folder is unknown.
    """
    return f"new-{hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]}"


class PromptDraftFiles:
    """One small file per key while there is a draft."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: str) -> str:
        try:
            return read_small_text(self._file(key), LIMIT_BYTES)
        except (OSError, UnicodeDecodeError):
            return ""

    def write(self, key: str, text: str) -> None:
        # A failed save must not interrupt typing.
        with contextlib.suppress(OSError, UnicodeEncodeError):
            if text.strip():
                write_atomically(self._file(key), text)
            else:
                self._file(key).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.txt"
