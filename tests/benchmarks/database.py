"""What the store does most, on SQLite and on PostgreSQL, over networks of several round-trip times.

`python -m tests.benchmarks database --sessions 1000 --messages 100000` makes it a smaller run. Times are until the
answer is there; the round trips are counted, so that other networks can be computed. The best of several: what else
runs on the machine counts little then.
"""

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from co_tui.events import Message, SessionResume
from co_tui.paths import locate
from co_tui.store.port import Store
from co_tui.store.postgres.store import PostgresStore
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.timestamps import written
from tests.benchmarks.figures import print_table, repeats
from tests.benchmarks.filled_postgres import fill, size_of
from tests.benchmarks.made_sessions import Speaker, made_session, make_database, message
from tests.support.delayed_connections import DelayedConnections, delayed_connections
from tests.support.postgres import postgres_server

SESSIONS, MESSAGES = 10_000, 1_000_000
ROUND_TRIPS_MS = (0, 5, 50)
HERE = "/home/me/project7"
PAGE = 100
REPEATS = 7


class Figure(NamedTuple):
    milliseconds: float
    round_trips: int = 0

    def __str__(self) -> str:
        return f"{self.milliseconds:,.1f}"


def main(sessions: int = 0, messages: int = 0) -> None:
    sessions, messages = sessions or SESSIONS, messages or MESSAGES
    each, started = messages // sessions, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "sqlite"
        paths = locate({"CO_TUI_HOME": str(home)})
        make_database(paths.database, sessions, each)
        sqlite_s = time.process_time() - started
        server = postgres_server()
        url, say = server.new_database(), Speaker()
        fill(url, (made_session(number, sessions, each, say) for number in range(sessions)))
        print_table(
            [
                ("sessions · messages", f"{sessions:,} · {sessions * each:,}"),
                ("filling SQLite", f"{sqlite_s:.0f} s of processor time"),
                ("filling PostgreSQL", f"{time.process_time() - started - sqlite_s:.0f} s, without the server's"),
                *size_of(url),
            ]
        )
        columns = {"SQLite": _figures(SqliteStore(paths))}
        with delayed_connections(server.socket) as way:
            store = PostgresStore(paths, way.url(url.split("?")[0].rpartition("/")[2]))
            for milliseconds in ROUND_TRIPS_MS:
                way.delay_s = milliseconds / 2_000
                columns[f"PG {milliseconds} ms"] = _figures(store, way)
            way.delay_s = 0
            store.close()
    _print(columns)


def _print(columns: dict[str, dict[str, Figure]]) -> None:
    *_, last = columns.values()
    width = max(map(len, last))
    print(f"\n  {'milliseconds'.ljust(width)}" + "".join(f"{name:>12}" for name in columns) + "  round trips")
    for name, figure in last.items():
        cells = "".join(f"{column[name]!s:>12}" for column in columns.values())
        print(f"  {name.ljust(width)}{cells}  {figure.round_trips:>11}")


def _figures(store: Store, way: DelayedConnections | None = None) -> dict[str, Figure]:
    """Each is done once before it is measured: connections and caches are those of a program in use."""
    with store.reading() as reading:
        newest, yesterday = reading.sessions(1)[0].id, written(datetime.now(UTC) - timedelta(days=1))
        asked: dict[str, Callable[[], object]] = {
            "list the first page": lambda: (reading.browse("", HERE, PAGE), reading.count()),
            "filter: a common word": lambda: reading.browse("the", HERE, PAGE),
            "filter: nothing found": lambda: reading.browse("zebras", HERE, PAGE),
            "latest of a folder": lambda: reading.latest(HERE),
            "preview": lambda: reading.preview(newest),
            "earlier prompts": lambda: reading.prompts(100),
            "spent today": lambda: reading.spent_since(yesterday),
        }
        for text in ("file", "subprocess", "connection timeout", "天气", "zebras"):
            asked |= {
                f"search {text!r}, newest": lambda text=text: reading.search(text, once_per_session=True),
                f"search {text!r}, relevance": lambda text=text: reading.search(
                    text, by_relevance=True, once_per_session=True
                ),
            }
        figures = {name: _taken(work, way) for name, work in asked.items()}
    writing, said = store.writing(), message(0, Speaker(), chinese=False)
    figures["append a message"] = _taken(lambda: writing.append(newest, [said]).result(), way)
    figures["append a turn of 20"] = _taken(lambda: writing.append(newest, [said] * 20).result(), way)
    figures["resume: claim, read, log"] = _taken(lambda: _resume(store, newest), way)
    figures["claim and release"] = _taken(lambda: store.claim(newest).release(), way)
    return figures


def _resume(store: Store, session_id: str) -> None:
    """What opening a session asks of the store."""
    with store.claim(session_id):
        store.writing().recover(session_id).result()
        with store.reading() as reading:
            assert any(isinstance(event.fact, Message) for event in list(reading.events(session_id)))
        store.writing().append(session_id, [SessionResume(model="openai:gpt-5", cwd=HERE)]).result()


def _taken(work: Callable[[], object], way: DelayedConnections | None) -> Figure:
    work()
    taken, asked = [], 0
    for _ in range(repeats(REPEATS)):
        before, started = way.round_trips if way else 0, time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
        asked = way.round_trips - before if way else 0
    return Figure(min(taken), asked)
