"""Write transactions: short, and begun as soon as another process lets go."""

import math
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""A long change as several short transactions; between two of them, others may write."""

PATIENCE_S = 120.0
"""A change waits longer than a question: an append that gives up fails its turn."""
REPORTED_AFTER_S = 2.0
LAST_WAIT_S = 0.5
"""How long changes wait once the user stops the program: another one of ours lets go sooner."""
A_MOMENT_S = 0.1
"""What can be done later waits only so long."""
POLL_S = 0.002
"""SQLite's own waiting asks only every tenth of a second, and so misses the moment between two steps."""
LET_OTHERS_IN_S = 2 * POLL_S
"""How long to pause between two steps."""
STEP_CHARS = 100_000
"""Text written in one transaction."""
STEP_S = 0.02
"""Processor time of a step that nothing waits for; the disk may take as long again."""


class Pace:
    """How much to do in a step so that it takes `STEP_S`, learned from the steps before."""

    def __init__(self, least: int, most: int) -> None:
        self.amount = self._least = least
        self._most = most

    def learn(self, done: int, began: float) -> None:
        """So much was done since `began`, by the thread's processor clock."""
        took_s = time.thread_time() - began
        # Of a little that was quick, most is the same for every step.
        if took_s > STEP_S or done >= self.amount // 2:
            fits = int(done * STEP_S / max(took_s, STEP_S / 10))
            self.amount = max(self._least, min(fits, 2 * self.amount, self._most))


class PatientConnection(sqlite3.Connection):
    """A connection that says when it waits for others to write, and can stop waiting."""

    report: Callable[[], None] | None = None
    """Called, in the writing thread, by a change that has waited for `REPORTED_AFTER_S`."""
    waits_until = math.inf
    """When changes that still wait fail, by the monotonic clock."""


@contextmanager
def transaction(connection: sqlite3.Connection, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Commit what is done inside, or undo all of it. Raises `sqlite3.OperationalError` when others write for long."""
    _begin(connection, patience_s)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _begin(connection: sqlite3.Connection, patience_s: float) -> None:
    began = time.monotonic()
    patient = connection if isinstance(connection, PatientConnection) else None
    report = patient.report if patient is not None else None
    with without_waiting(connection):
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                waited_s = time.monotonic() - began
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waited_s >= patience_s:
                    raise
                if patient is not None and time.monotonic() >= patient.waits_until:
                    raise
            if report is not None and waited_s >= REPORTED_AFTER_S:
                report()
                report = None
            time.sleep(POLL_S)


@contextmanager
def without_waiting(connection: sqlite3.Connection) -> Iterator[None]:
    usual = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute("PRAGMA busy_timeout=0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout={usual}")


def run_all(steps: Steps[T]) -> T:
    """Do all steps without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
