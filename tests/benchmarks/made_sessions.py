"""Sessions as people have them, as many as are asked for."""

import argparse
import asyncio
import email
import functools
import http.client
import logging
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
import types
import typing
import unittest
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from co_tui.events import Event, Message, SessionStart
from co_tui.store.sqlite.bulk.adding import import_log
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.index_queue import merge_or_index
from co_tui.store.sqlite.transaction import run_all
from co_tui.store.timestamps import written

CHINESE = "天气很好我们今天去公园散步然后吃饭学习编程会议资料明天一起讨论计划"
_DOCUMENTED = (argparse, asyncio, email, functools, http.client, logging, pathlib, random, re, sqlite3, ssl,
               subprocess, tarfile, tempfile, threading, types, typing, unittest)  # fmt: skip


def make_database(path: Path, sessions: int, messages_each: int) -> None:
    """Fill a database unless it is there already."""
    done = path.with_suffix(".done")
    if done.exists():
        return
    connection = connect_for_writing(path)
    connection.execute("PRAGMA synchronous=OFF")
    say = Speaker()
    for number in range(sessions):
        run_all(import_log(connection, made_session(number, sessions, messages_each, say), keeps_age=False))
        if number % 100 == 0 and sys.stderr.isatty():
            print(f"\r  {number:,} of {sessions:,} sessions made", end="", file=sys.stderr)
    index_all(connection)
    connection.close()
    done.touch()


def index_all(connection: sqlite3.Connection) -> None:
    while merge_or_index(connection):
        pass


def long_session(session_id: str, megabytes: float) -> list[Event]:
    """A session of that size, of some weeks ago."""
    say, when, chars = Speaker(), datetime.now(UTC) - timedelta(days=40), 0
    facts: list[SessionStart | Message] = [SessionStart(model="openai:gpt-5", cwd="/home/me/project7")]
    while chars < megabytes * 1e6:
        facts.append(message(len(facts), say, chinese=False, times=4))
        chars += len(str(facts[-1]))
    return [
        Event(session_id=session_id, seq=seq, timestamp=written(when + timedelta(seconds=7 * seq)), fact=fact)
        for seq, fact in enumerate(facts, 1)
    ]


class Speaker:
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


def made_session(number: int, of: int, messages: int, say: Speaker) -> list[Event]:
    session_id = f"2025-{number:06}"
    when = datetime.now(UTC) - timedelta(minutes=50 * (of - number))
    facts = [SessionStart(model="openai:gpt-5", policy="balanced", cwd=f"/home/me/project{number % 50}", branch="main")]
    facts += [message(n, say, chinese=number % 20 == 0) for n in range(messages)]
    return [
        Event(session_id=session_id, seq=seq, timestamp=written(when + timedelta(seconds=20 * seq)), fact=fact)
        for seq, fact in enumerate(facts, 1)
    ]


def message(n: int, say: Speaker, *, chinese: bool, times: int = 1) -> Message:
    match n % 4:
        case 0:
            part = {"part_kind": "user-prompt", "content": say.chinese(40) if chinese else say.said(20 * times)}
        case 1:
            part = {"part_kind": "text", "content": say.chinese(120) if chinese else say.said(60 * times)}
        case 2:
            path = f"src/{say.said(2).replace(' ', '/').lower()}.py"
            part = {"part_kind": "tool-call", "tool_name": "read_file", "tool_call_id": "c", "args": {"path": path}}
        case _:
            part = {
                "part_kind": "tool-return",
                "tool_name": "read_file",
                "tool_call_id": "c",
                "content": say.said(80 * times),
            }
    kind = "response" if n % 4 in (1, 2) else "request"
    return Message(turn=n // 4 + 1, message={"kind": kind, "parts": [part]})
