"""Any number of machines that share folders, in any order of work: they come to rest with the same sessions."""

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from co_tui.events import Event, Fact, Message, SessionFork, SessionPinned, SessionRename, SessionStart, SessionTrashed
from co_tui.events.stored_messages import text_of
from co_tui.headless.output import CommandContext
from co_tui.headless.sessions.export_all import export_all
from co_tui.headless.sessions.import_command import ImportOptions, import_sessions
from co_tui.paths import locate, write_atomically
from co_tui.store.sqlite.store import SqliteStore
from tests.support.growing_files import said
from tests.support.long_run import LONG_RUN, drawn

BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
HOURS_OFF: Final = (0, -7, 30)
"""What the clocks of the machines show."""
CLOCKS: Final = ("log", "bulk.adding", "deletions")
MOST_ROUNDS: Final = 8
Log = tuple[tuple[int, str, str, str], ...]
"""Of each event: its seq, type and time, and the text of a message."""


class Killed(BaseException):
    """The process ends here."""


class Machine:
    """A home with a store of its own, and a clock."""

    def __init__(self, home: Path, name: str, hours_off: int, ticks: Iterator[int]) -> None:
        self.home, self.name = home, name
        self._off, self._ticks = timedelta(hours=hours_off), ticks
        self.store = self._opened()

    def _opened(self) -> SqliteStore:
        self.paths = locate({"CO_TUI_HOME": str(self.home)})
        return SqliteStore(self.paths)

    def now(self) -> str:
        moment = BEGINNING + self._off + timedelta(microseconds=next(self._ticks))
        return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with ExitStack() as stack:
            for module in CLOCKS:
                stack.enter_context(mock.patch(f"co_tui.store.sqlite.{module}.now", self.now))
            yield

    def append(self, session_id: str, *facts: Fact) -> None:
        with self.at_work():
            self.store.writing().append(session_id, facts).result()

    def log(self, session_id: str) -> list[Event]:
        with self.store.reading() as reading:
            return list(reading.events(session_id))

    def sessions(self) -> list[str]:
        with self.store.reading() as reading:
            rows = [row for in_trash in (False, True) for row in reading.sessions(1000, in_trash=in_trash)]
        return sorted(row.id for row in rows)

    def logs(self) -> dict[str, Log]:
        return {session_id: tuple(map(_summary, self.log(session_id))) for session_id in self.sessions()}

    def export(self, folder: Path) -> None:
        with self.at_work():
            export_all(self._context(), folder, {})

    def bring_in(self, *files: Path) -> None:
        with self.at_work():
            import_sessions(self._context(), ImportOptions(files=files), {}, self.home)

    def _context(self) -> CommandContext:
        return CommandContext(self.paths, None, self.store, None)  # type: ignore[arg-type]

    def cut_off(self, work: Callable[[], None], steps: int) -> None:
        """Do it, but for what comes after some steps; then start again."""
        left = itertools.count(steps, -1)

        def counted(original: Callable[..., Any]) -> Callable[..., Any]:
            def step(*given: Any, **named: Any) -> Any:
                if next(left) <= 0:
                    raise Killed
                return original(*given, **named)

            return step

        writing, write = SqliteStore.writing, write_atomically
        try:
            with (
                mock.patch.object(SqliteStore, "writing", counted(writing)),
                mock.patch("co_tui.headless.sessions.export_all.write_atomically", counted(write)),
            ):
                work()
        except Killed:
            self.store.close()
            self.store = self._opened()


def _summary(event: Event) -> tuple[int, str, str, str]:
    text = text_of(event.fact.message["parts"][0]["content"]) if isinstance(event.fact, Message) else ""
    return event.seq or 0, event.type, event.timestamp, text


def _carry(source: Path, target: Path) -> None:
    """What git and programs that sync folders do: take what is new, and keep both where both changed."""
    for file in sorted(source.rglob("*.json*")):
        there, text = target / file.relative_to(source), file.read_text()
        if not there.exists() or text.startswith(there.read_text()):
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_text(text)
        elif not there.read_text().startswith(text):
            numbered = (there.with_suffix(f".sync-conflict-{number}{file.suffix}") for number in itertools.count(1))
            other = next(each for each in numbered if not each.exists() or each.read_text() == text)
            other.write_text(text)


MACHINES = st.integers(0, 2)
FOLDERS = st.integers(0, 1)
WHICH = st.integers(0, 5)


class Converging(RuleBasedStateMachine):
    """Two or three machines and two folders."""

    @initialize(count=st.integers(2, 3))
    def begin(self, count: int) -> None:
        self.place = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        ticks, self.numbers = itertools.count(1), itertools.count(1)
        self.machines = [
            Machine(self.place / f"m{number}", f"m{number}", HOURS_OFF[number], ticks) for number in range(count)
        ]
        self.folders = [self.place / "f0", self.place / "f1"]
        for folder in self.folders:
            folder.mkdir()
        self.said: list[str] = []
        self.deleted: set[str] = set()
        """What was in a session when somebody deleted it."""
        self.start(0)
        self.machines[0].export(self.folders[0])
        for machine in self.machines[1:]:
            machine.bring_in(self.folders[0])

    def _machine(self, number: int) -> Machine:
        return self.machines[number % len(self.machines)]

    def _one(self, machine: Machine, which: int) -> str:
        sessions = machine.sessions()
        return sessions[which % len(sessions)] if sessions else ""

    def _text(self) -> Message:
        self.said.append(f"text {len(self.said)}")
        return Message(turn=1, message=said(self.said[-1], by_user=True))

    @precondition(lambda self: len(self.said) < 20)
    @rule(number=MACHINES)
    def start(self, number: int) -> None:
        machine = self._machine(number)
        machine.append(f"s{next(self.numbers)}", SessionStart(cwd="/w", host=machine.name), self._text())

    @rule(number=MACHINES, which=WHICH)
    def say(self, number: int, which: int) -> None:
        machine = self._machine(number)
        if session_id := self._one(machine, which):
            machine.append(session_id, self._text())

    @rule(which=WHICH)
    def all_say(self, which: int) -> None:
        """Something on each machine that has a session."""
        session_id = self._one(self.machines[0], which)
        for machine in self.machines:
            if session_id in machine.sessions():
                machine.append(session_id, self._text())

    @rule(number=MACHINES, which=WHICH, kind=st.sampled_from(["rename", "pin", "trash", "untrash"]))
    def change(self, number: int, which: int, kind: str) -> None:
        machine = self._machine(number)
        facts: dict[str, Fact] = {
            "rename": SessionRename(title=f"Named {next(self.numbers)}"),
            "pin": SessionPinned(),
            "trash": SessionTrashed(),
            "untrash": SessionTrashed(trashed=False),
        }
        if session_id := self._one(machine, which):
            machine.append(session_id, facts[kind])

    @rule(number=MACHINES, which=WHICH)
    def fork(self, number: int, which: int) -> None:
        machine = self._machine(number)
        if session_id := self._one(machine, which):
            fact = SessionFork(source_session_id=session_id, source_seq=1, host=machine.name)
            with machine.at_work():
                machine.store.writing().fork(session_id, f"s{next(self.numbers)}", None, fact).result()

    @rule(number=MACHINES, which=WHICH)
    def delete(self, number: int, which: int) -> None:
        machine = self._machine(number)
        if session_id := self._one(machine, which):
            self.deleted |= {text for *_, text in machine.logs()[session_id]}
            with machine.at_work(), machine.store.claim(session_id):
                machine.store.delete(session_id)

    @rule(number=MACHINES, folder=FOLDERS, which=WHICH)
    def restore(self, number: int, folder: int, which: int) -> None:
        files = sorted(self.folders[folder].glob("*.jsonl"))
        if files:
            self._machine(number).bring_in(files[which % len(files)])

    @rule(number=MACHINES, folder=FOLDERS)
    def export(self, number: int, folder: int) -> None:
        self._machine(number).export(self.folders[folder])

    @rule(number=MACHINES, folder=FOLDERS)
    def bring_in(self, number: int, folder: int) -> None:
        self._machine(number).bring_in(self.folders[folder])

    @rule(number=MACHINES, folder=FOLDERS, steps=st.integers(0, 6), exports=st.booleans())
    def kill(self, number: int, folder: int, steps: int, exports: bool) -> None:
        machine = self._machine(number)
        work = machine.export if exports else machine.bring_in
        machine.cut_off(lambda: work(self.folders[folder]), steps)

    @precondition(lambda self: len(self.said) > 1)
    @rule(source=FOLDERS)
    def carry(self, source: int) -> None:
        _carry(self.folders[source], self.folders[1 - source])

    def teardown(self) -> None:
        if not hasattr(self, "machines"):
            return
        try:
            self._come_to_rest()
            self._check_nothing_is_lost()
        finally:
            for machine in self.machines:
                machine.store.close()
            shutil.rmtree(self.place)

    def _come_to_rest(self) -> None:
        states: list[list[dict[str, Log]]] = []
        while len(states) < 2 or states[-1] != states[-2]:
            assert len(states) < MOST_ROUNDS, states[-2:]
            for machine in self.machines:
                for folder in self.folders:
                    machine.bring_in(folder)
                for folder in self.folders:
                    machine.export(folder)
            states.append([machine.logs() for machine in self.machines])
        first, *others = states[-1]
        for other in others:
            assert other == first

    def _check_nothing_is_lost(self) -> None:
        for machine in self.machines:
            kept = {text for log in machine.logs().values() for *_, text in log}
            assert kept | self.deleted >= set(self.said)


Converging.TestCase.settings = settings(
    max_examples=drawn(3), stateful_step_count=60 if LONG_RUN else 20, report_multiple_bugs=False
)
TestConverging = Converging.TestCase
