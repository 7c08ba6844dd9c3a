"""Databases as older versions of co-tui made them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.index_queue import INDEXES
from co_tui.store.sqlite.text_rebuild import rebuild_some

SCHEMAS = Path(__file__).parent.parent / "store" / "schemas"


def create_old_schema(connection: sqlite3.Connection, version: int) -> None:
    for of in INDEXES.values():  # what its triggers call
        connection.create_function(of.__name__, 2, of, deterministic=True)
    connection.executescript((SCHEMAS / f"schema_{version}.sql").read_text(encoding="utf-8"))


def rebuild_texts(path: Path) -> None:
    """What a writer does in idle times."""
    with closing(connect_for_writing(path)) as connection:
        while rebuild_some(connection):
            pass
