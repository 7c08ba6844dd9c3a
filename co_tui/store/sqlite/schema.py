"""Constants of the schema, and how much of an older file migration rewrites, found without loading SQLite."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

SCHEMA_VERSION = 10
"""Kept in `PRAGMA user_version`; equals the number of migrations."""

ALL_SEQS = 1 << 62
"""Larger than any seq."""


def seen(table: str) -> str:
    """The condition for events or texts that are neither half written nor half removed."""
    after_seq = f"SELECT u.after_seq FROM unfinished u WHERE u.session_id = {table}.session_id"
    return f"{table}.seq <= coalesce(({after_seq}), {ALL_SEQS})"


REPLY_SLOT = "reply"
"""Of the first row of a reply in the making; those that follow have a number behind it."""
REPLY_SLOTS = (REPLY_SLOT, f"{REPLY_SLOT}#*")
OF_REPLY = "session_id = ? AND (slot = ? OR slot GLOB ?)"
REPLY_ROWS = f"SELECT body FROM drafts WHERE {OF_REPLY} ORDER BY slot"

TEXTS_ARE_REBUILT = 1
"""`PRAGMA application_id` while not all texts that a migration removed are written again; else 0."""


def lacks_texts(connection: "sqlite3.Connection") -> bool:
    """Whether searches miss older messages, until `text_rebuild` is done."""
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == TEXTS_ARE_REBUILT)


TEXTS_BY_TIME = 3
"""The latest schema that takes long to come to; from there on it is a matter of a moment."""
_MAGIC = b"SQLite format 3\0"
_USER_VERSION = slice(60, 64)
_HEADER_BYTES = 100


def bytes_to_rewrite(path: Path) -> int:
    """The size of a database that takes long to be brought up to date; 0 for all else."""
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER_BYTES)
        is_slow = 0 < int.from_bytes(header[_USER_VERSION], "big") < TEXTS_BY_TIME
        return path.stat().st_size if header.startswith(_MAGIC) and is_slow else 0
    except OSError:
        return 0
