"""Which schema this co-tui knows, and whether a file is of an older one, told without loading SQLite."""

from pathlib import Path

SCHEMA_VERSION = 4
"""Kept in `PRAGMA user_version`; equals the number of migrations."""

_MAGIC = b"SQLite format 3\0"
_USER_VERSION = slice(60, 64)
_HEADER_BYTES = 100


def outdated_bytes(path: Path) -> int:
    """The size of a database of an older schema; 0 for all else."""
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER_BYTES)
        version = int.from_bytes(header[_USER_VERSION], "big")
        return path.stat().st_size if header.startswith(_MAGIC) and 0 < version < SCHEMA_VERSION else 0
    except OSError:
        return 0
