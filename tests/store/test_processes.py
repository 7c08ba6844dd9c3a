"""Several processes on one database."""

import contextlib
import multiprocessing
import random
import sqlite3
import time
from multiprocessing.connection import Connection
from pathlib import Path

from co_tui.events import Event, Message, SessionStart
from co_tui.events.storable import dump
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.writer import Writer
from tests.support.forked import forked
from tests.support.long_run import drawn
from tests.support.waiting import PATIENCE_S

KILLS = drawn(3)


def _said(text: str, kind: str) -> Message:
    part = {"part_kind": "user-prompt" if kind == "request" else "text", "content": text}
    return Message(turn=1, message={"kind": kind, "parts": [part]})


def _talk(path: Path, session_id: str, acknowledged: "Connection") -> None:
    """Turns as a session writes them, until killed or asked to stop; each is reported once it is acknowledged."""
    writer = Writer(path)
    writer.recover(session_id).result()
    with Reader(path) as reader:
        turn = sum(_prompt_in(event) is not None for event in reader.events(session_id))
    while not acknowledged.poll():
        writer.append(session_id, [_said(f"prompt {turn} " + "x" * 200, "request")]).result()
        acknowledged.send(turn)
        pieces = [(0, "text", f"reply {turn}", "", "")]
        writer.save_reply(session_id, 0, dump({"turn": 1, "model": "m", "started": "", "pieces": pieces})).result()
        writer.append(session_id, [_said(f"reply {turn}", "response")], ends_draft=True).result()
        turn += 1
    writer.close()


def _prompt_in(event: Event) -> int | None:
    text = event.fact.message["parts"][0]["content"] if isinstance(event.fact, Message) else ""
    return int(text.split()[1]) if text.startswith("prompt") else None


class _Talker:
    """A process that talks, and what it knows to be on disk."""

    def __init__(self, path: Path, session_id: str) -> None:
        processes = forked()
        self.told, theirs = processes.Pipe()
        self._process = processes.Process(target=_talk, args=(path, session_id, theirs))
        self._process.start()
        theirs.close()

    def kill(self) -> int:
        """Whatever it is doing; returns the last turn that it knows to be on disk."""
        self._process.kill()
        return self._left()

    def stop(self) -> int:
        self.told.send("stop")
        last = self._left()
        assert self._process.exitcode == 0
        return last

    def _left(self) -> int:
        last = -1
        with contextlib.suppress(EOFError, OSError):
            while True:
                last = self.told.recv()
        self._process.join(PATIENCE_S)
        return last


def test_one_of_two_processes_is_killed_again_and_again_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "data" / "co-tui.db"
    Writer(path).close()
    steady, acknowledged = _Talker(path, "steady"), -1
    for _ in range(KILLS):
        killed = _Talker(path, "killed")
        assert killed.told.poll(PATIENCE_S), "it never wrote"
        time.sleep(random.uniform(0.0, 0.2))
        acknowledged = max(acknowledged, killed.kill())
    last = {"steady": steady.stop(), "killed": acknowledged}
    writer = Writer(path)
    writer.recover("killed").result()
    writer.close()
    with Reader(path) as reader:
        for name, turn in last.items():
            events = list(reader.events(name))
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            prompts = [number for event in events if (number := _prompt_in(event)) is not None]
            assert prompts == list(range(len(prompts))) and len(prompts) > turn >= 0, name
            row = reader.session(name)
            assert row.messages == sum(isinstance(event.fact, Message) for event in events)
            newest = reader.search(f"prompt {turn}", session_id=name).hits
            assert any(f"prompt {turn} " in hit.snippet.text for hit in newest), "what is on disk is found"
            assert list(reader.partial_reply(name)) == []
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        for index in ("message_grams", "message_short_words"):
            connection.execute(f"INSERT INTO {index}({index}) VALUES('integrity-check')")
    connection.close()


def _open(path: Path, start: "multiprocessing.Barrier", failures: "multiprocessing.Queue[str]") -> None:
    start.wait()
    try:
        Writer(path).close()
        failures.put("")
    except Exception as error:
        failures.put(repr(error))


def test_processes_that_create_the_database_at_the_same_moment_all_succeed(tmp_path: Path) -> None:
    processes = forked()
    start, failures = processes.Barrier(4), processes.Queue()
    openers = [processes.Process(target=_open, args=(tmp_path / "d" / "co-tui.db", start, failures)) for _ in range(4)]
    for opener in openers:
        opener.start()
    assert [failures.get(timeout=PATIENCE_S) for _ in openers] == [""] * 4
    for opener in openers:
        opener.join(PATIENCE_S)


def _write_and_leave(path: Path) -> None:
    writer = Writer(path)
    writer.append("other", [SessionStart()]).result()
    writer.close()


def test_another_process_that_leaves_does_not_take_the_write_ahead_log_along(tmp_path: Path) -> None:
    """Opening and closing the database file outside SQLite would drop its locks, and with them this promise."""
    path = tmp_path / "data" / "co-tui.db"
    Writer(path).close()
    reader = Reader(path)
    assert reader.sessions() == []
    writer = Writer(path)
    writer.append("mine", [SessionStart()]).result()
    other = forked().Process(target=_write_and_leave, args=(path,))
    other.start()
    other.join(PATIENCE_S)
    writer.append("mine", [SessionStart()]).result()
    assert path.with_name("co-tui.db-wal").exists()
    with Reader(path) as another:
        assert len(list(another.events("mine"))) == 2
    assert len(list(reader.events("mine"))) == 2
    reader.close()
    writer.close()
    with Reader(path) as another:
        assert len(list(another.events("mine"))) == 2
