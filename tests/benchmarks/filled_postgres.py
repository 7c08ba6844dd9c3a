"""Many sessions in PostgreSQL, by COPY: through the writer it would take hours."""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import psycopg

from co_tui.events import Event
from co_tui.store.event_rows import EventRow
from co_tui.store.sync.server.migrations import migrate
from co_tui.store.sync.server.server import Server
from co_tui.store.postgres.text_index import TextRow, text_rows
from co_tui.store.search.session_filter import filter_text
from co_tui.store.session_counts import SessionCounters

AT_ONCE = 200
_EVENTS = ("session_id", "seq", "type", "timestamp", "version", "payload")
_COUNTED = tuple(SessionCounters.__dataclass_fields__)
_SESSIONS = ("id", "created", "came_in", *_COUNTED, "filter_text", "last_text")


def fill(url: str, sessions: Iterable[list[Event]]) -> None:
    """Fill an empty database with whole sessions. The index of the texts is made at the end, as one would."""
    connection = Server(url).connect()
    migrate(connection, url)
    (definition,) = connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'message_texts_grams'"
    ).fetchone() or ("",)
    connection.execute("DROP INDEX message_texts_grams")
    rest, done = iter(sessions), 0
    while batch := list(islice(rest, AT_ONCE)):
        _copy(connection, batch)
        done += len(batch)
        if sys.stderr.isatty():
            print(f"\r  {done:,} sessions copied", end="", file=sys.stderr)
    connection.execute("SET maintenance_work_mem TO '512MB'")
    connection.execute(definition.encode())
    connection.execute("ANALYZE")
    connection.close()


def _copy(connection: psycopg.Connection[Any], batch: list[list[Event]]) -> None:
    events: list[tuple[Any, ...]] = []
    texts: list[tuple[Any, ...]] = []
    rows: list[tuple[Any, ...]] = []
    for log in batch:
        counters, last_text = SessionCounters(updated=log[0].timestamp), 0
        for event in log:
            row = EventRow.of(event)
            counters.count(event)
            events.append(row[:-1])
            for text in text_rows(row, last_text):
                texts.append((*text[:-1], f"{{{','.join(map(str, text.grams))}}}"))
                last_text = text.id
        named = filter_text(counters.title, counters.cwd)
        values = (getattr(counters, column) for column in _COUNTED)
        rows.append((log[0].session_id, log[0].timestamp, log[0].timestamp, *values, named, last_text))
    for table, columns, copied in (
        ("sessions", _SESSIONS, rows),
        ("events", _EVENTS, events),
        ("message_texts", TextRow._fields, texts),
    ):
        _copy_rows(connection, table, columns, copied)


def _copy_rows(
    connection: psycopg.Connection[Any], table: str, columns: Iterable[str], rows: list[tuple[Any, ...]]
) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table}({', '.join(columns)}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)


def size_of(url: str) -> Iterator[tuple[str, str]]:
    """What is large in the database."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT c.relname, pg_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'co_tui' AND pg_relation_size(c.oid) > 1000000 ORDER BY 2 DESC LIMIT 6"
        ).fetchall()
    for name, size in found:
        yield f"  {name}", f"{size / 1e6:,.0f} MB"
