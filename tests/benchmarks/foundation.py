"""Append, list, resume, and the start of the command line."""

import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from co_tui.events import Message, SessionStart
from co_tui.session.state.derive import replay
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.writer import Writer
from tests.benchmarks.figures import command_ms, median, percentile, print_table, times_ms

SESSIONS = 10_000
MESSAGES = 10_000
T = TypeVar("T")


def message(n: int) -> Message:
    parts = [{"part_kind": "user-prompt", "content": f"{n} " + "some words of an ordinary prompt " * 10}]
    return Message(turn=n + 1, message={"kind": "request", "parts": parts})


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "co-tui.db"
        writer = Writer(path)
        writer.append("appending", [SessionStart()]).result()
        numbers = iter(range(100_000))
        appends = times_ms(lambda: writer.append("appending", [message(next(numbers))]).result(), 2000)

        for start in range(0, SESSIONS, 500):
            facts = [SessionStart(model="m", cwd=f"/projects/{start % 7}"), message(start)]
            for done in [writer.append(f"s{n:06}", facts) for n in range(start, start + 500)]:
                done.result()
        listing = times_ms(lambda: _asked(path, lambda reader: reader.sessions(limit=50)), 50)

        writer.append("long", [SessionStart(), *(message(n) for n in range(MESSAGES))]).result()
        replaying = times_ms(lambda: _asked(path, lambda reader: replay(reader.events("long"))), 3)
        tail = times_ms(lambda: _asked(path, lambda reader: reader.last_events("long", 50)), 20)
        parsing = times_ms(lambda: _parsed(path), 3)
        raw = times_ms(lambda: _raw_insert(Path(folder) / "raw.db"), 3)
        writer.close()

    bare = command_ms([sys.executable, "-c", "pass"], 15)
    version = command_ms([sys.executable, "-m", "co_tui", "--version"], 15)
    print_table(
        [
            ("append one message, p50", f"{median(appends):.3f} ms"),
            ("append one message, p99", f"{percentile(appends, 0.99):.3f} ms"),
            ("  a bare insert and commit with fsync, p50", f"{median(raw):.3f} ms"),
            (f"list 50 of {SESSIONS:,} sessions", f"{median(listing):.2f} ms"),
            (f"resume {MESSAGES:,} messages: replay the log", f"{median(replaying):.0f} ms"),
            ("  and parse them for the model", f"{median(parsing):.0f} ms"),
            ("  the last 50 events alone", f"{median(tail):.2f} ms"),
            ("python -c pass", f"{bare:.0f} ms"),
            ("co-tui --version", f"{version:.0f} ms ({version / bare:.2f}×)"),
        ]
    )


def _asked(path: Path, question: Callable[[Reader], T]) -> T:
    with Reader(path) as reader:
        return question(reader)


def _parsed(path: Path) -> int:
    from co_tui.session.state.parsed_messages import ParsedMessages

    return len(ParsedMessages().messages(_asked(path, lambda reader: replay(reader.events("long"))).history))


def _raw_insert(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS t(x TEXT)")
        connection.execute("INSERT INTO t VALUES('x')")
