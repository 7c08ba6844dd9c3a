"""The prompt that was being written when a session was left, in files."""

import contextlib
from pathlib import Path

from co_tui.paths import read_small_text, write_atomically

NEW = "new"
LIMIT_BYTES = 64_000_000


class PromptDraftFiles:
    """One small file a session, only while it holds something."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, session_id: str) -> str:
        try:
            return read_small_text(self._file(session_id), LIMIT_BYTES)
        except (OSError, UnicodeDecodeError):
            return ""

    def write(self, session_id: str, text: str) -> None:
        # A draft that cannot be saved is no reason to disturb the writer.
        with contextlib.suppress(OSError, UnicodeEncodeError):
            if text.strip():
                write_atomically(self._file(session_id), text)
            else:
                self._file(session_id).unlink(missing_ok=True)

    def _file(self, session_id: str) -> Path:
        return self._folder / f"{session_id or NEW}.txt"
