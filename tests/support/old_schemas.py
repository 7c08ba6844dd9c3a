"""Databases as older versions of co-tui made them."""

import sqlite3
from pathlib import Path

from co_tui.store.sqlite.index_queue import INDEXES

SCHEMAS = Path(__file__).parent.parent / "store" / "schemas"


def create_old_schema(connection: sqlite3.Connection, version: int) -> None:
    for of in INDEXES.values():  # what its triggers call
        connection.create_function(of.__name__, 2, of, deterministic=True)
    connection.executescript((SCHEMAS / f"schema_{version}.sql").read_text(encoding="utf-8"))
