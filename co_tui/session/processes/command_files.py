"""Files in which a command that was started in the background leaves its output and its exit code."""

import json
import os
from pathlib import Path
from typing import Final

STATUS: Final = "status.json"
LOGS: Final = ("stdout.log", "stderr.log")
MOST_STATUS_BYTES: Final = 1_000


def exit_code(status: Path) -> int | None:
    """The command's exit code; None while it runs."""
    try:
        code = json.loads(end_of(status, MOST_STATUS_BYTES))["exit_code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return code if isinstance(code, int) else None


def end_of(file: Path, most_bytes: int) -> bytes:
    """The last bytes of a file; links are not followed, since commands can write there."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        size = os.fstat(handle).st_size
        return os.pread(handle, most_bytes, max(0, size - most_bytes))
    except OSError:
        return b""
    finally:
        os.close(handle)
