"""Database maintenance while idle: small steps that never block another process from writing.

Each step is short, is skipped when another process does not let go, and returns whether it has more to do.
"""

import sqlite3
from collections.abc import Callable
from typing import TypeAlias

from co_tui.store.sqlite.bulk.removal import clean_up
from co_tui.store.sqlite.index_queue import merge_or_index
from co_tui.store.sqlite.transaction import without_waiting

Step: TypeAlias = Callable[[sqlite3.Connection], bool]

FREED_PAGES = 256
"""Of the file, given back to the disk at once."""


def steps() -> tuple[Step, ...]:
    """Each step benefits from those before it."""
    return (clean_up, merge_or_index, _free_pages, _update_statistics, _checkpoint_log)


def performed(step: Step, connection: sqlite3.Connection) -> bool:
    """Do a step; False when there is no more of it to do now."""
    try:
        with without_waiting(connection):
            return step(connection)
    except sqlite3.OperationalError:  # another process writes, or the disk is full: try later
        return False


def _free_pages(connection: sqlite3.Connection) -> bool:
    free = int(connection.execute("PRAGMA freelist_count").fetchone()[0])
    if free:
        # As a script: as a query it has no columns to fetch, and stops after the first page.
        connection.executescript(f"PRAGMA incremental_vacuum({FREED_PAGES})")
    return free > FREED_PAGES and int(connection.execute("PRAGMA freelist_count").fetchone()[0]) < free


def _update_statistics(connection: sqlite3.Connection) -> bool:
    connection.execute("PRAGMA analysis_limit=200")
    connection.execute("PRAGMA optimize").fetchall()
    return False


def _checkpoint_log(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the file, except what readers still use."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return False
