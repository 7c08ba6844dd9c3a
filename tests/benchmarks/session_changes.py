"""What changes cost, in processor time, and how long another process waits that appends all the while."""

import multiprocessing
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from co_tui.events import Message, SessionFork, SessionStart
from co_tui.store.sqlite.bulk.adding import append
from co_tui.store.sqlite.bulk.removal import delete
from co_tui.store.sqlite.connect import connect_for_writing
from co_tui.store.sqlite.idle_work import IdleWork
from co_tui.store.sqlite.index_queue import INDEXES
from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.transaction import run_all
from co_tui.store.sqlite.writer import Writer, _Change
from tests.benchmarks.figures import median, times_ms
from tests.benchmarks.made_sessions import Speaker, long_session, message
from tests.support.old_schemas import create_old_schema

APPENDS = 300
PATIENCE_S = 600


class Changes:
    """What changes to one database cost."""

    def __init__(self, path: Path, megabytes: float, has_other: bool) -> None:
        self._path = path
        self._has_other = has_other
        self._events = long_session("long", megabytes)

    def figures(self) -> dict[str, float]:
        with closing(Writer(self._path)) as writer:
            self._writer = writer
            figures = self._single_appends(writer)
            facts = [event.fact for event in self._events]
            forked = SessionFork(source_session_id="long", source_seq=len(self._events))
            for name, change in (
                ("import", lambda: writer.import_log(self._events)),
                ("fork", lambda: writer.fork("long", "forked", None, forked)),
                ("append at once", lambda: writer.append("appended", facts)),
            ):
                figures |= self._measured(name, lambda change=change: change().result())
            figures |= self._measured("index all that was added", lambda: _kept_up(writer))
            figures |= self._measured("delete one of them", lambda: writer.delete("long").result())
        return figures

    def _single_appends(self, writer: Writer) -> dict[str, float]:
        say, numbers = Speaker(), iter(range(100_000))
        writer.append("one more", [SessionStart()]).result()
        taken, cpu = _cpu(
            lambda: times_ms(
                lambda: writer.append("one more", [message(next(numbers), say, chinese=False)]).result(), APPENDS
            )
        )
        _, indexing = _cpu(lambda: _kept_up(writer))
        return {
            "append one message: processor ms": cpu / len(taken) * 1000,
            "  median wall ms": median(taken),
            "  indexing it later: processor ms": indexing / len(taken) * 1000,
        }

    def _measured(self, name: str, work: Callable[[], object]) -> dict[str, float]:
        with appending(self._path, self._has_other) as other, _longest_transaction(self._writer) as longest:
            _, cpu = _cpu(work)
        return {
            f"{name}: processor s": cpu,
            f"  {name}: longest transaction, processor ms": max(longest),
            f"  {name}: another process waited at most, ms": other.longest_ms,
        }


@contextmanager
def _longest_transaction(writer: Writer) -> Iterator[list[float]]:
    """Processor time in which others could not write, without the commit itself."""
    began, taken = [0.0], [0.0]

    def note(sql: str) -> None:
        if sql.startswith("BEGIN"):
            began[0] = time.thread_time()
        elif sql.startswith("COMMIT") and began[0]:
            taken.append((time.thread_time() - began[0]) * 1000)

    def trace(callback: Callable[[str], None] | None) -> None:
        # On its own thread: the callback needs the interpreter, which another thread would hold while it waits.
        writer._submit(_Change(lambda connection: connection.set_trace_callback(callback))).result()

    trace(note)
    yield taken
    trace(None)


def _cpu(work: Callable[[], object]) -> tuple[object, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _kept_up(writer: Writer) -> None:
    for step in writer.upkeep_steps():
        step.result()


class Appender:
    """Another process that appends a message again and again."""

    def __init__(self, path: Path, name: str) -> None:
        self.appends, self.longest_ms, self.opened_ms = 0, 0.0, 0.0
        self._path, self._name = path, name

    def start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_append_until_told, args=(self._path, self._name, theirs))
        self._process.start()

    def wait(self) -> None:
        assert self._pipe.poll(PATIENCE_S), "it never wrote"
        self.opened_ms = self._pipe.recv()

    def stop(self) -> None:
        self._pipe.send("stop")
        assert self._pipe.poll(PATIENCE_S)
        self.appends, self.longest_ms = self._pipe.recv()
        self._process.join()


def _append_until_told(path: Path, name: str, pipe: Connection) -> None:
    say, longest, count = Speaker(), 0.0, 0
    start = time.perf_counter()
    writer = Writer(path)
    writer.append(name, [SessionStart()]).result()
    pipe.send((time.perf_counter() - start) * 1000)
    while not pipe.poll():
        said = message(count, say, chinese=False)
        longest = max(longest, *times_ms(lambda said=said: writer.append(name, [said]).result(), 1))
        count += 1
        time.sleep(0.01)  # as a busy session, not as a load test
    pipe.send((count, longest))
    writer.close()


@contextmanager
def appending(path: Path, has_other: bool) -> Iterator[Appender]:
    other = Appender(path, f"other {time.monotonic()}")
    if has_other:
        other.start()
        other.wait()
    yield other
    if has_other:
        other.stop()


def old_copy(path: Path, target: Path, version: int) -> Path:
    """The sessions of a database in one of an older schema."""
    target.parent.mkdir()
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        create_old_schema(connection, version)
        columns = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(sessions)"))
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("ATTACH ? AS new", (str(path),))
        connection.execute(f"INSERT INTO sessions({columns}) SELECT {columns} FROM new.sessions")
        connection.execute("INSERT INTO events SELECT * FROM new.events")
        texts = "id, session_id, seq, role, tool, text"
        connection.execute(f"INSERT INTO message_texts({texts}) SELECT {texts} FROM new.message_texts")
        for index, of in INDEXES.items() if version >= 3 else ():
            filled = f"SELECT id, {of.__name__}(tool, text) FROM new.message_texts ORDER BY id"
            connection.execute(f"INSERT INTO {index}(rowid, text) {filled}")
        for _, sql in triggers:
            connection.execute(sql)
    return target


def migrated(path: Path, version: int, has_other: bool) -> list[tuple[str, str]]:
    """Another process opens the database at the same time and appends as soon as it can."""
    other = Appender(path, "other")
    if has_other:
        other.start()
    opened = times_ms(lambda: connect_for_writing(path).close(), 1)[0]
    if has_other:
        other.wait()
    steps = idle_steps_ms(path)
    if has_other:
        other.stop()
    with Reader(path) as reader:
        found = reader.count_found("subprocess", most=100_000_000)
    return [
        (f"\n  from schema {version}: opened after (target 1 s)", f"{opened / 1000:.1f} s"),
        ("  another process opened it after (target 1 s)", f"{other.opened_ms / 1000:.1f} s"),
        ("  then waited at most", f"{other.longest_ms:.0f} ms, in {other.appends:,} appends"),
        ("  idle work: processor time", f"{sum(steps) / 1000:.1f} s, {found.messages:,} found"),
        ("  its longest step (target 50 ms)", f"{max(steps):.0f} ms of {len(steps):,} steps"),
    ]


def idle_steps_ms(path: Path) -> list[float]:
    """Processor time of each step until there is nothing left to do."""
    with closing(connect_for_writing(path)) as connection:
        idle, steps = IdleWork(connection), []
        while idle.pause_s is not None:
            steps += times_ms(idle.step, 1, time.thread_time)
        return steps


def long_texts(path: Path, chars: int) -> dict[str, float]:
    """The longest step of idle work for one long text, and of its removal, in processor milliseconds."""
    say, figures = Speaker(), {}
    words = (say.said(20_000) + " ") * (chars // 100_000 + 1)
    for name, text in (("English", words[:chars]), ("Chinese", say.chinese(chars))):
        part = {"part_kind": "user-prompt", "content": text}
        fact = Message(turn=1, message={"kind": "request", "parts": [part]})
        with closing(connect_for_writing(path)) as connection:
            run_all(append(connection, name, [fact], ends_draft=False))
            figures[f"index {chars:,} characters of {name} (target 50)"] = max(idle_steps_ms(path))
            figures[f"  remove them ({name})"] = max(_steps_ms(delete(connection, name)))
    return figures


def _steps_ms(steps: Iterator[None]) -> list[float]:
    taken = []
    while True:
        start = time.thread_time()
        is_over = next(steps, "over")
        taken.append((time.thread_time() - start) * 1000)
        if is_over:
            return taken
