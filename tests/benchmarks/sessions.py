"""Many sessions: 10,000 with 1,000,000 messages, listed, filtered and searched; what one more message costs.

`CO_TUI_BENCHMARK_CACHE=DIR` keeps the database there between runs: making it takes minutes.
"""

import argparse
import asyncio
import email
import functools
import http.client
import logging
import os
import pathlib
import random
import re
import sqlite3
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import types
import typing
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from co_tui.events import Event, Message, SessionStart
from co_tui.store.sqlite import log
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.message_index import fill_indexes
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.writer import Writer
from co_tui.store.timestamps import written
from tests.benchmarks.figures import median, percentile, print_table, times_ms

SESSIONS = 10_000
MESSAGES_EACH = 100
FEW = 10
CACHE = "CO_TUI_BENCHMARK_CACHE"
CHINESE = "天气很好我们今天去公园散步然后吃饭学习编程会议资料明天一起讨论计划"
_DOCUMENTED = (argparse, asyncio, email, functools, http.client, logging, pathlib, random, re, sqlite3, ssl,
               subprocess, tarfile, tempfile, threading, types, typing, unittest)  # fmt: skip
SEARCHED = ("file", "subprocess", "connection timeout", "imeou", "zebra", "天气", "今天去", "is", "src/parser")


def main() -> None:
    with _folder() as folder:
        many, few = folder / "many" / "co-tui.db", folder / "few" / "co-tui.db"
        made_s = _made(many, SESSIONS)
        _made(few, FEW)
        print_table(
            [("sessions", f"{SESSIONS:,}"), ("messages", f"{SESSIONS * MESSAGES_EACH:,}"), *_size(many, made_s)]
        )
        print()
        with Reader(many) as reader:
            print_table([*_listing(reader), *_searching(reader)])
        print()
        print_table([*_opening(many, few), *_inserting(many, folder / "empty" / "co-tui.db")])


@contextmanager
def _folder() -> Iterator[Path]:
    if cache := os.environ.get(CACHE):
        yield Path(cache)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _made(path: Path, sessions: int) -> float | None:
    """Fill a database, its indexes at the end. Returns the seconds it took, None when it was there already."""
    done = path.with_suffix(".done")
    if done.exists():
        return None
    start = time.perf_counter()
    connection = connect_for_writing(path)
    connection.execute("PRAGMA synchronous=OFF")
    with _filled_at_the_end(connection):
        say = _Speaker()
        for number in range(sessions):
            log.import_log(connection, _session(number, sessions, say), keeps_age=False)
            if number % 100 == 0 and sys.stderr.isatty():
                print(f"\r  {number:,} of {sessions:,} sessions made", end="", file=sys.stderr)
    connection.close()
    done.touch()
    return time.perf_counter() - start


@contextmanager
def _filled_at_the_end(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    yield
    fill_indexes(connection)
    for _, sql in triggers:
        connection.execute(sql)
    connection.execute("COMMIT")


class _Speaker:
    """Texts of words as often as people use them, from the documentation of Python's own modules."""

    def __init__(self) -> None:
        documents = [text for each in _DOCUMENTED for text in _documentation(each)]
        self._words = re.findall(r"[A-Za-z_]{2,20}", "\n".join(documents))
        self._random = random.Random(7)

    def said(self, words: int) -> str:
        start = self._random.randrange(len(self._words) - words)
        return " ".join([*self._words[start : start + words // 2], *self._random.choices(self._words, k=words // 2)])

    def chinese(self, characters: int) -> str:
        return "".join(self._random.choices(CHINESE, k=characters))


def _documentation(module: types.ModuleType) -> Iterator[str]:
    for thing in (module, *vars(module).values()):
        if isinstance(doc := getattr(thing, "__doc__", None), str):
            yield doc
        for inner in vars(thing).values() if isinstance(thing, type) else ():
            if isinstance(doc := getattr(inner, "__doc__", None), str):
                yield doc


def _session(number: int, of: int, say: _Speaker) -> list[Event]:
    session_id = f"2025-{number:06}"
    when = datetime.now(UTC) - timedelta(minutes=50 * (of - number))
    facts = [SessionStart(model="openai:gpt-5", policy="balanced", cwd=f"/home/me/project{number % 50}", branch="main")]
    facts += [_message(n, say, chinese=number % 20 == 0) for n in range(MESSAGES_EACH)]
    return [
        Event(session_id=session_id, seq=seq, timestamp=written(when + timedelta(seconds=20 * seq)), fact=fact)
        for seq, fact in enumerate(facts, 1)
    ]


def _message(n: int, say: _Speaker, *, chinese: bool) -> Message:
    match n % 4:
        case 0:
            part = {"part_kind": "user-prompt", "content": say.chinese(40) if chinese else say.said(20)}
        case 1:
            part = {"part_kind": "text", "content": say.chinese(120) if chinese else say.said(60)}
        case 2:
            path = f"src/{say.said(2).replace(' ', '/').lower()}.py"
            part = {"part_kind": "tool-call", "tool_name": "read_file", "tool_call_id": "c", "args": {"path": path}}
        case _:
            part = {"part_kind": "tool-return", "tool_name": "read_file", "tool_call_id": "c", "content": say.said(80)}
    kind = "response" if n % 4 in (1, 2) else "request"
    return Message(turn=n // 4 + 1, message={"kind": kind, "parts": [part]})


def _size(path: Path, made_s: float | None) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as connection:
        pages = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    connection.close()
    indexes = sum(size for name, size in pages.items() if name.startswith(("message_grams", "message_short_words")))
    rows = [
        ("database", f"{sum(pages.values()) / 1e6:,.0f} MB"),
        ("  of it the events", f"{pages['events'] / 1e6:,.0f} MB"),
        ("  the texts that are searched", f"{pages['message_texts'] / 1e6:,.0f} MB"),
        ("  the indexes of these", f"{indexes / 1e6:,.0f} MB"),
    ]
    return rows if made_s is None else [*rows, ("made in", f"{made_s:,.0f} s")]


def _listing(reader: Reader) -> list[tuple[str, str]]:
    here = "/home/me/project7"
    return [
        ("list of 200, this folder first", f"{_best(lambda: reader.browse('', here)):.2f} ms (target 5)"),
        ("  how many there are", f"{_best(reader.count):.2f} ms"),
        ("filter: a common word", f"{_best(lambda: reader.browse('the', here)):.2f} ms (target 10)"),
        ("filter: three words", f"{_best(lambda: reader.browse('the file project33', here)):.2f} ms"),
        ("filter: nothing found", f"{_best(lambda: reader.browse('zebras', here)):.2f} ms"),
        ("  how many match", f"{_best(lambda: reader.count('the')):.2f} ms"),
        ("preview", f"{_best(lambda: reader.preview(f'2025-{SESSIONS // 2:06}')):.2f} ms"),
        ("latest of a folder", f"{_best(lambda: reader.latest(here)):.2f} ms"),
        ("by the end of its id", f"{_best(lambda: reader.session(f'{SESSIONS // 2:06}')):.2f} ms"),
    ]


def _searching(reader: Reader) -> Iterator[tuple[str, str]]:
    for text in SEARCHED:
        count = reader.count_found(text)
        found = f"{count.messages:,}{'+' if count.is_more else ''} messages"
        newest = _best(lambda text=text: reader.search(text))
        once = _best(lambda text=text: reader.search(text, once_per_session=True))
        relevant = _best(lambda text=text: reader.search(text, by_relevance=True), 3)
        counting = _best(lambda text=text: reader.count_found(text), 3)
        others = f"one a session {once:.1f}, relevance {relevant:.0f}, count {counting:.0f}"
        yield f"search {text!r}, {found}", f"newest {newest:.1f} ms (target 20), {others}"


def _opening(many: Path, few: Path) -> list[tuple[str, str]]:
    def first_list(path: Path) -> None:
        with Reader(path) as reader:
            reader.browse("", "/home/me/project7")
            reader.count()

    much, little = (_best(lambda path=path: first_list(path), 20) for path in (many, few))
    return [(f"open and list; with {FEW} sessions {little:.2f} ms", f"{much:.2f} ms")]


def _inserting(many: Path, empty: Path) -> list[tuple[str, str]]:
    return [
        ("append one message to an empty database", _appending(empty)),
        (f"append one message to one of {SESSIONS:,} sessions", _appending(many)),
    ]


def _appending(path: Path) -> str:
    """What is added is removed again."""
    say, numbers = _Speaker(), iter(range(100_000))
    with _writer(path) as writer:
        writer.append("one more", [SessionStart()]).result()
        taken = times_ms(lambda: writer.append("one more", [_message(next(numbers), say, chinese=False)]).result(), 500)
        writer.delete("one more").result()
    return f"{median(taken):.2f} ms, p95 {percentile(taken, 0.95):.2f} ms, best {min(taken):.2f} ms"


@contextmanager
def _writer(path: Path) -> Iterator[Writer]:
    writer = Writer(path)
    try:
        yield writer
    finally:
        writer.close()


def _best(work: Callable[[], object], repeat: int = 9) -> float:
    """The quickest of several runs: the machine may have other things to do."""
    return min(times_ms(work, repeat))
