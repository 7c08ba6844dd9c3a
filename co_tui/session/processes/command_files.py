"""Files in which a command that was started in the background leaves its output and its exit code."""

import json
import os
from collections.abc import Callable
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
    return _read(file, most_bytes, lambda size: max(0, size - most_bytes))[0]


def part_of(file: Path, at: int, most_bytes: int) -> tuple[bytes, int]:
    """The bytes of a file from a position on, and the position after them. A file that became shorter was emptied, and
    is read from its start."""
    return _read(file, most_bytes, lambda size: at if at <= size else 0)


def _read(file: Path, most_bytes: int, start: Callable[[int], int]) -> tuple[bytes, int]:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b"", 0
    try:
        at = start(os.fstat(handle).st_size)
        found = os.pread(handle, most_bytes, at)
        return found, at + len(found)
    except OSError:
        return b"", 0
    finally:
        os.close(handle)
