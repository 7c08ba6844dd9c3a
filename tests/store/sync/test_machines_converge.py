"""Three machines that share a server, in any order of work, away and back: they come to rest with the same sessions.

`CO_TUI_LONG_RUN=200 uv run pytest tests/store/sync/test_machines_converge.py` takes 2,000 steps.
"""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from co_tui.events import Fact, SessionFork, SessionPinned, SessionRename, SessionResume, SessionStart
from co_tui.store.store_errors import SessionBusy, SessionNotFound
from tests.store.test_contract import said
from tests.support.cut_connections import CutConnections, cut_connections
from tests.support.long_run import also_in_a_long_run, drawn
from tests.support.machines import Machine, hurry
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.waiting import PATIENCE_S

HOURS_OFF = (0, -7, 30)
"""What the clocks of the machines show."""
CLOCKS = ("log", "bulk.adding", "deletions")
STEPS = 10
MOST_ROUNDS = 8


class Desk:
    """A machine with a connection that can be cut, and a clock of its own."""

    def __init__(self, home: Path, way: CutConnections, database: str, hours_off: int) -> None:
        self.name, self._home, self._way, self._database = home.name, home, way, database
        self._off = timedelta(hours=hours_off)
        self.machine = Machine(home, way.url(database))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        def now() -> str:
            moment = (datetime.now(UTC) + self._off).replace(tzinfo=None)
            return f"{moment.isoformat(timespec='microseconds')}Z"

        with ExitStack() as stack:
            for module in CLOCKS:
                stack.enter_context(mock.patch(f"co_tui.store.sqlite.{module}.now", now))
            yield

    def append(self, session_id: str, *facts: Fact) -> None:
        with self.at_work():
            self.machine.writing().append(session_id, facts).result(PATIENCE_S)

    def sessions(self) -> list[str]:
        with self.machine.reading() as reading:
            return sorted(row.id for row in reading.sessions(10_000))

    def logs(self) -> dict[str, list[tuple[int | None, str]]]:
        return {name: self.machine.log(name) for name in self.sessions()}

    def start_again(self) -> None:
        """As after a kill: nothing more is pushed."""
        self._way.take_down()
        self.machine.close()
        self.machine = Machine(self._home, self._way.url(self._database))

    def go_away(self, *, is_away: bool) -> None:
        self._way.take_down() if is_away else self._way.bring_back()


class Run:
    """Any order of work, and what was said."""

    def __init__(self, desks: list[Desk], seed: int, server: PostgresServer, database: str) -> None:
        self._server, self._database = server, database
        self.desks, self.chance, self.done = desks, random.Random(seed), Counter[str]()
        self.texts: list[str] = []
        self.deleted: set[str] = set()
        """What was said in sessions when they were deleted, as the machine that deleted them knew them."""

    def step(self) -> None:
        desk = self.chance.choice(self.desks)
        kinds = {"start": 3, "say": 8, "rename": 2, "pin": 1, "fork": 1, "delete": 1, "away": 2, "back": 2}
        kinds |= {"settle": 2, "start again": 1}
        kind = self.chance.choices(list(kinds), list(kinds.values()))[0]
        self.done[kind] += 1
        sessions = desk.sessions()
        if kind in ("away", "back"):
            desk.go_away(is_away=kind == "away")
        elif kind == "settle":
            desk.machine.sync.refresh()
        elif kind == "start again":
            desk.start_again()
        elif kind == "start" or not sessions:
            desk.append(f"s{len(self.texts)}", SessionStart(host=desk.name), said(self._text()))
        else:
            self._change(desk, kind, self.chance.choice(sessions))

    def _change(self, desk: Desk, kind: str, name: str) -> None:
        try:
            with desk.machine.claim(name, take_over=True):
                match kind:
                    case "say":
                        desk.append(name, SessionResume(host=desk.name), said(self._text()))
                    case "rename":
                        desk.append(name, SessionRename(title=f"Named by {desk.name}"))
                    case "pin":
                        desk.append(name, SessionPinned())
                    case "fork":
                        fact = SessionFork(source_session_id=name, source_seq=1, host=desk.name)
                        with desk.at_work():
                            desk.machine.writing().fork(name, f"f{len(self.texts)}-{desk.name}", None, fact).result()
                    case _:
                        self.deleted |= set(desk.machine.said(name, "text"))
                        with desk.at_work():
                            desk.machine.delete(name)
        except (SessionBusy, SessionNotFound) as refused:  # open or deleted elsewhere, which claiming finds out
            self.done["refused"] += 1
            if kind == "say" and isinstance(refused, SessionNotFound):
                self.deleted.add(self.texts[-1])  # it was never said

    def _text(self) -> str:
        self.texts.append(f"text {len(self.texts)}.")
        return self.texts[-1]

    def come_to_rest(self) -> None:
        for desk in self.desks:
            desk.go_away(is_away=False)
        # Those of machines that were killed run out.
        self._server.execute("UPDATE co_tui.leases SET expires = now() - interval '1 minute'", self._database)
        for _ in range(MOST_ROUNDS):
            for desk in self.desks:
                desk.machine.settle()
            logs = [desk.logs() for desk in self.desks]
            if logs[0] == logs[1] == logs[2]:
                break
        assert logs[0] == logs[1] == logs[2]
        there = {text for log in logs[0].values() for _, text in log}
        assert set(self.texts) - there <= self.deleted


@pytest.fixture(scope="module")
def server() -> PostgresServer:
    return postgres_server()


@pytest.mark.parametrize("seed", also_in_a_long_run([1], [2]))
def test_three_machines_come_to_rest_with_the_same_sessions(
    server: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    hurry(monkeypatch)
    database = server.new_database().split("?")[0].rpartition("/")[2]
    with ExitStack() as stack:
        ways = [stack.enter_context(cut_connections(server.socket)) for _ in HOURS_OFF]
        desks = [Desk(home / f"desk{number}", way, database, HOURS_OFF[number]) for number, way in enumerate(ways)]
        stack.callback(lambda: [desk.machine.close() for desk in desks])
        run = Run(desks, seed, server, database)
        for number in range(drawn(4)):
            for _ in range(STEPS):
                run.step()
            if number % 2:
                run.come_to_rest()
        run.come_to_rest()
    print(dict(run.done), len(run.texts))
