"""Which schema this co-tui knows, and how much of a file is to be written anew for it, told without loading SQLite."""

from pathlib import Path

SCHEMA_VERSION = 5
"""Kept in `PRAGMA user_version`; equals the number of migrations."""

_ALL_TEXTS_WRITTEN_ANEW = 3
"""The latest schema that takes long to come to; from there on it is a matter of a moment."""
_MAGIC = b"SQLite format 3\0"
_USER_VERSION = slice(60, 64)
_HEADER_BYTES = 100


def bytes_to_write_anew(path: Path) -> int:
    """The size of a database that takes long to be brought up to date; 0 for all else."""
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER_BYTES)
        version = int.from_bytes(header[_USER_VERSION], "big")
        return path.stat().st_size if header.startswith(_MAGIC) and 0 < version < _ALL_TEXTS_WRITTEN_ANEW else 0
    except OSError:
        return 0
