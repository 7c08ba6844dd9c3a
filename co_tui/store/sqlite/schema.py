"""Constants of the schema, and how much of an older file migration rewrites, found without loading SQLite."""

from pathlib import Path

SCHEMA_VERSION = 5
"""Kept in `PRAGMA user_version`; equals the number of migrations."""

ALL_SEQS = 1 << 62
"""Larger than any seq."""

REPLY_SLOT = "reply"
"""Of the first row of a reply in the making; those that follow have a number behind it."""
REPLY_SLOTS = (REPLY_SLOT, f"{REPLY_SLOT}#*")
OF_REPLY = "session_id = ? AND (slot = ? OR slot GLOB ?)"
REPLY_ROWS = f"SELECT body FROM drafts WHERE {OF_REPLY} ORDER BY slot"

_ALL_TEXTS_WRITTEN_ANEW = 3
"""The latest schema that takes long to come to; from there on it is a matter of a moment."""
_MAGIC = b"SQLite format 3\0"
_USER_VERSION = slice(60, 64)
_HEADER_BYTES = 100


def bytes_to_rewrite(path: Path) -> int:
    """The size of a database that takes long to be brought up to date; 0 for all else."""
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER_BYTES)
        version = int.from_bytes(header[_USER_VERSION], "big")
        return path.stat().st_size if header.startswith(_MAGIC) and 0 < version < _ALL_TEXTS_WRITTEN_ANEW else 0
    except OSError:
        return 0
