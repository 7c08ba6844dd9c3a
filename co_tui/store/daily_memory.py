"""Daily memory: what left the context, one file a day, for people to read and the model to search."""

import os
from datetime import datetime
from pathlib import Path

from co_tui.inert import inert, one_line
from co_tui.paths import OWNER_ONLY_FILE, ensure_dir

HEADING_CHARS = 120


class MemoryFailed(Exception):
    """The memory could not be written; the text names the file and the reason. The session can go on."""


class DailyMemory:
    """The memory files of one installation; several processes may write them at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(self, text: str, *, session_id: str, heading: str, when: datetime) -> Path:
        """Add a section to the file of that day, whole and on disk; raises `MemoryFailed`."""
        path = self._folder / f"{when:%Y-%m-%d}.md"
        head = f"## {when:%H:%M} {one_line(heading, HEADING_CHARS)}\n\nSession {one_line(session_id, HEADING_CHARS)}"
        section = f"{head}\n\n{inert(text).strip()}\n\n"
        try:
            ensure_dir(self._folder)
            _append(path, section.encode())
        except OSError as error:
            raise MemoryFailed(f"The memory {path} was not written: {error.strerror or error}.") from error
        return path


def _append(path: Path, section: bytes) -> None:
    handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, OWNER_ONLY_FILE)
    try:
        # One write keeps a section of one process out of another's; only a full disk makes it short.
        while section:
            section = section[os.write(handle, section) :]
        os.fsync(handle)
    finally:
        os.close(handle)
