"""Databases as older versions of co-tui made them."""

import sqlite3
from pathlib import Path

from co_tui.store.sqlite import message_index

SCHEMAS = Path(__file__).parent.parent / "store" / "schemas"


def create_old_schema(connection: sqlite3.Connection, version: int) -> None:
    message_index.register(connection)
    connection.executescript((SCHEMAS / f"schema_{version}.sql").read_text(encoding="utf-8"))
