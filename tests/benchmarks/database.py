"""What the store does most, without a server and with one over a slow network.

`python -m tests.benchmarks database --sessions 1000 --messages 100000` makes it a smaller run. Times are until the
answer is there; the best of several: what else runs on the machine counts little then.
"""

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from co_tui.events import Message, SessionResume
from co_tui.paths import locate
from co_tui.store.port import Store
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.timestamps import written
from tests.benchmarks.figures import print_table, repeats
from tests.benchmarks.made_sessions import Speaker, make_database, message
from tests.support.delayed_connections import delayed_connections
from tests.support.postgres import postgres_server, synced_store

SESSIONS, MESSAGES = 10_000, 1_000_000
ROUND_TRIP_MS = 200
HERE = "/home/me/project7"
PAGE = 100
REPEATS = 7


def main(sessions: int = 0, messages: int = 0) -> None:
    sessions, messages = sessions or SESSIONS, messages or MESSAGES
    each, started = messages // sessions, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "sqlite"
        paths = locate({"CO_TUI_HOME": str(home)})
        make_database(paths.database, sessions, each)
        sqlite_s = time.process_time() - started
        print_table(
            [
                ("sessions · messages", f"{sessions:,} · {sessions * each:,}"),
                ("filling SQLite", f"{sqlite_s:.0f} s of processor time"),
            ]
        )
        columns = {"no server": _figures(SqliteStore(paths))}
        server = postgres_server()
        with delayed_connections(server.socket) as way:
            way.delay_s = ROUND_TRIP_MS / 2_000
            url = way.url(server.new_database().split("?")[0].rpartition("/")[2])
            store = synced_store(home, url)
            columns[f"{ROUND_TRIP_MS} ms away"] = _figures(store)
            way.delay_s = 0
            store.close()
    _print(columns)


def _print(columns: dict[str, dict[str, float]]) -> None:
    *_, last = columns.values()
    width = max(map(len, last))
    print(f"\n  {'milliseconds'.ljust(width)}" + "".join(f"{name:>12}" for name in columns))
    for name in last:
        print(f"  {name.ljust(width)}" + "".join(f"{column[name]:>12,.1f}" for column in columns.values()))


def _figures(store: Store) -> dict[str, float]:
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
        figures = {name: _taken(work) for name, work in asked.items()}
    writing, said = store.writing(), message(0, Speaker(), chinese=False)
    figures["append a message"] = _taken(lambda: writing.append(newest, [said]).result())
    figures["append a turn of 20"] = _taken(lambda: writing.append(newest, [said] * 20).result())
    figures["resume: claim, read, log"] = _taken(lambda: _resume(store, newest))
    figures["claim and release"] = _taken(lambda: store.claim(newest).release())
    return figures


def _resume(store: Store, session_id: str) -> None:
    """What opening a session asks of the store."""
    with store.claim(session_id):
        store.writing().recover(session_id).result()
        with store.reading() as reading:
            assert any(isinstance(event.fact, Message) for event in list(reading.events(session_id)))
        store.writing().append(session_id, [SessionResume(model="openai:gpt-5", cwd=HERE)]).result()


def _taken(work: Callable[[], object]) -> float:
    """Milliseconds."""
    work()
    taken = []
    for _ in range(repeats(REPEATS)):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
    return min(taken)
