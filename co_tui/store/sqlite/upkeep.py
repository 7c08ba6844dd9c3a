"""Database maintenance while idle: small steps that never block another process from writing.

Each step is short, is skipped while another process writes, and returns whether it has more to do.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Step: TypeAlias = Callable[[sqlite3.Connection], bool]

MERGED_PAGES = 64
"""Of an index, at once."""
FREED_PAGES = 256
"""Of the file, given back to the disk at once."""
INDEXES = ("message_grams", "message_short_words")


def steps() -> tuple[Step, ...]:
    """Each step benefits from those before it."""
    merging = tuple(_merging(index) for index in INDEXES)
    return (*merging, _free_pages, _update_statistics, _checkpoint_log)


def performed(step: Step, connection: sqlite3.Connection) -> bool:
    """Do a step; False when there is no more of it to do now."""
    try:
        with _without_waiting(connection):
            return step(connection)
    except sqlite3.OperationalError:  # another process writes, or the disk is full: try later
        return False


def _merging(index: str) -> Step:
    def merge(connection: sqlite3.Connection) -> bool:
        before = connection.total_changes
        connection.execute(f"INSERT INTO {index}({index}, rank) VALUES('merge', {MERGED_PAGES})")
        # As its documentation has it: fewer than two changes are none.
        return connection.total_changes - before >= 2

    return merge


def _free_pages(connection: sqlite3.Connection) -> bool:
    free = int(connection.execute("PRAGMA freelist_count").fetchone()[0])
    if free:
        # Each row that is fetched frees a page.
        connection.execute(f"PRAGMA incremental_vacuum({FREED_PAGES})").fetchall()
    return free > FREED_PAGES and int(connection.execute("PRAGMA freelist_count").fetchone()[0]) < free


def _update_statistics(connection: sqlite3.Connection) -> bool:
    connection.execute("PRAGMA analysis_limit=200")
    connection.execute("PRAGMA optimize").fetchall()
    return False


def _checkpoint_log(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the file, except what readers still use."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return False


@contextmanager
def _without_waiting(connection: sqlite3.Connection) -> Iterator[None]:
    usual = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute("PRAGMA busy_timeout=0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout={usual}")
