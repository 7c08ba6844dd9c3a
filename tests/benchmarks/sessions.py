"""Many sessions: 10,000 with 1,000,000 messages, against a few in the same run.

`CO_TUI_BENCHMARK_CACHE=DIR` keeps the databases there between runs: making them takes minutes. Changes are made to
copies. `CO_TUI_BENCHMARK_SESSIONS=100` makes it a small run.
"""

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.reader import Reader
from tests.benchmarks.figures import print_table, times_ms
from tests.benchmarks.made_sessions import make_database
from tests.benchmarks.session_changes import Changes, long_texts, migrated, old_copy

SESSIONS = int(os.environ.get("CO_TUI_BENCHMARK_SESSIONS", "10000"))
MESSAGES_EACH = 100
FEW = 10
CACHE = "CO_TUI_BENCHMARK_CACHE"
SEARCHED = ("file", "subprocess", "connection timeout", "imeou", "zebra", "天气", "今天去", "is", "src/parser")
HERE = "/home/me/project7"


def main() -> None:
    with _folder() as folder:
        paths = {FEW: folder / "few" / "co-tui.db", SESSIONS: folder / "many" / "co-tui.db"}
        for sessions, path in paths.items():
            make_database(path, sessions, MESSAGES_EACH)
            connect_for_writing(path).close()  # a kept one may be of an older schema
        is_large = SESSIONS >= 1_000  # else it only has to run: no other process is started
        print_table(_size(paths[SESSIONS]))
        _print_both("processor milliseconds", [_reading(path) for path in paths.values()])
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            copies = [_copied(path, Path(scratch) / path.parent.name) for path in paths.values()]
            megabytes = 8.0 if is_large else 0.2
            _print_both(
                f"changes ({megabytes:g} MB each)", [Changes(path, megabytes, is_large).figures() for path in copies]
            )
            chars = 2_000_000 if is_large else 50_000
            _print_both("longest step, processor milliseconds", [long_texts(path, chars) for path in copies])
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            for version in (2, 5, 7):
                old = old_copy(paths[SESSIONS], Path(scratch) / f"schema_{version}" / "co-tui.db", version)
                print_table(migrated(old, version, is_large))


@contextmanager
def _folder() -> Iterator[Path]:
    if cache := os.environ.get(CACHE):
        yield Path(cache)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _copied(path: Path, folder: Path) -> Path:
    folder.mkdir()
    return Path(shutil.copy(path, folder))


def _print_both(of: str, figures: list[dict[str, float]]) -> None:
    """What was measured, with few sessions and with many, and how many times as much that is."""
    few, many = figures
    width = max(map(len, many))
    print(f"\n  {of.ljust(width)}  {FEW:>10,}  {SESSIONS:>10,}  ratio")
    for name, figure in many.items():
        ratio = f"{figure / few[name]:.2f}" if few[name] else "-"
        print(f"  {name.ljust(width)}  {few[name]:>10.2f}  {figure:>10.2f}  {ratio:>5}")


def _size(path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as connection:
        pages = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    connection.close()
    indexes = sum(size for name, size in pages.items() if name.startswith(("message_grams", "message_short_words")))
    return [
        ("sessions", f"{SESSIONS:,}"),
        ("messages", f"{SESSIONS * MESSAGES_EACH:,}"),
        ("database", f"{sum(pages.values()) / 1e6:,.0f} MB"),
        ("  of it the events", f"{pages['events'] / 1e6:,.0f} MB"),
        ("  the texts that are searched", f"{pages['message_texts'] / 1e6:,.0f} MB"),
        ("  the indexes of these", f"{indexes / 1e6:,.0f} MB"),
    ]


def _reading(path: Path) -> dict[str, float]:
    def opened() -> None:
        with Reader(path) as reader:
            reader.browse("", HERE)
            reader.count()

    with Reader(path) as reader:
        newest = reader.sessions(1)[0].id
        figures = {
            "open and list": _best(opened),
            "list of 200, this folder first (target 5)": _best(lambda: reader.browse("", HERE)),
            "  how many there are": _best(reader.count),
            "filter: a common word (target 10)": _best(lambda: reader.browse("the", HERE)),
            "filter: three words": _best(lambda: reader.browse("the file project33", HERE)),
            "filter: nothing found": _best(lambda: reader.browse("zebras", HERE)),
            "  how many match": _best(lambda: reader.count("the")),
            "preview": _best(lambda: reader.preview(newest)),
            "latest of a folder": _best(lambda: reader.latest(HERE)),
            "by the end of its id": _best(lambda: reader.session(newest[3:])),
        }
        for text in SEARCHED:
            figures |= _searching(reader, text)
    return figures


def _searching(reader: Reader, text: str) -> dict[str, float]:
    return {
        f"search {text!r}: newest (target 20)": _best(lambda: reader.search(text)),
        "  one a session": _best(lambda: reader.search(text, once_per_session=True)),
        f"  {text!r} by relevance": _best(lambda: reader.search(text, by_relevance=True), 3),
        f"  {text!r} counted": _best(lambda: reader.count_found(text), 3),
    }


def _best(work: Callable[[], object], repeat: int = 9) -> float:
    """Processor time of the quickest of several runs: the machine may have other things to do."""
    return min(times_ms(work, repeat, time.process_time))
