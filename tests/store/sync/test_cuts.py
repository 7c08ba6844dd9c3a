"""Connections cut at any byte, and the server killed, while sessions are written, forked, deleted and taken over.

`CO_TUI_LONG_RUN=200 uv run pytest tests/store/sync/test_cuts.py` cuts 200 times.
"""

import random
from collections import Counter
from pathlib import Path

import pytest

from co_tui.events import CompactionComplete, Event, Fact, SessionFork, SessionResume, SessionStart
from co_tui.store.store_errors import SessionNotFound
from tests.store.test_contract import said
from tests.support.cut_connections import CutConnections, cut_connections
from tests.support.long_run import drawn
from tests.support.machines import KILLED, Machine, cut_at_random, hurry
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.waiting import PATIENCE_S

SEED = 28


class Run:
    """A machine with a bad connection, another with a good one, and what was said on each."""

    def __init__(self, here: Machine, elsewhere: Machine, way: CutConnections, server: PostgresServer) -> None:
        self.chance, self.done = random.Random(SEED), Counter[str]()
        self._here, self._elsewhere, self._way, self._server = here, elsewhere, way, server
        self._number = 0
        self._is_killed = False

    def round(self, database: str) -> None:
        """One session of some changes, with cuts among them, until both machines have all of it."""
        self._number += 1
        name = f"s{self._number}"
        said_here: list[str] = []
        lease = self._here.claim(name)
        self._here.writing().append(name, [SessionStart(host="here")]).result(PATIENCE_S)
        cut_at = self.chance.randrange(6)
        for step in range(6):
            if step == cut_at:
                self._cut()
            self._append(name, said_here)
            if self.chance.random() < 0.2:
                self._here.writing().save_reply(name, 0, "{}").result(PATIENCE_S)
        taken_over = self._take_over(database, name) if self.chance.random() < 0.4 else []
        if self.chance.random() < 0.3:
            self._cut()
        self._append(name, said_here)
        if self.chance.random() < 0.5:
            lease.release()
        self._change_whole_session(name)
        assert self._here.said(name, "here") == said_here or taken_over, (
            "nothing that happens to the server matters here"
        )
        lease.release()
        self._come_back()
        self._compare(name, said_here, taken_over)

    def _append(self, name: str, said_here: list[str]) -> None:
        texts = [f"here {name} {len(said_here) + each}" for each in range(self.chance.randrange(1, 4))]
        facts: list[Fact] = [said(text) for text in texts[:-1]]
        if self.chance.random() < 0.3:
            facts.append(CompactionComplete(success=True, trigger="manual", replaced=(), replacement=()))
        facts.append(said(texts[-1]))
        events = self._here.writing().append(name, facts, ends_draft=True).result(PATIENCE_S)
        assert [event.fact for event in events] == facts
        said_here += texts
        self.done["appends"] += 1

    def _take_over(self, database: str, name: str) -> list[str]:
        """Another machine goes on with what it has of the session, if it has it."""
        self._start_server()
        self._elsewhere.settle()
        with self._elsewhere.reading() as reading:
            try:
                reading.session(name)
            except SessionNotFound:
                return []
        self._server.execute("UPDATE co_tui.leases SET expires = now() - interval '1 second'", database)
        with self._elsewhere.claim(name, take_over=True):
            facts = [SessionResume(host="there"), said(f"there {name}")]
            self._elsewhere.writing().append(name, facts).result(PATIENCE_S)
        self.done["sessions taken over"] += 1
        return [f"there {name}"]

    def _change_whole_session(self, name: str) -> None:
        """Fork, import or delete while the connection is bad."""
        target, writing = f"{name}-{self.chance.randrange(1 << 30):x}", self._here.writing()
        kind = self.chance.choice(("fork", "import", "delete"))
        if kind == "fork":
            writing.fork(name, target, None, SessionFork(source_session_id=name, source_seq=0)).result(PATIENCE_S)
        else:
            log = [Event(session_id=target, seq=1, timestamp="2026-01-01T00:00:00Z", fact=SessionStart())]
            log += [log[0].but(seq=seq, fact=said(f"in {target} {seq}")) for seq in range(2, 40)]
            writing.import_log(log).result(PATIENCE_S)
        self._cut()
        if kind == "delete":
            with self._here.claim(target):
                self._here.delete(target)
        self.done[kind] += 1

    def _cut(self) -> None:
        kind = cut_at_random(self.chance, self._way)
        self.done["cuts"] += 1
        self.done[f"cut: {kind}"] += 1
        if kind == KILLED:
            self._server.kill()
            self._is_killed = True

    def _start_server(self) -> None:
        if self._is_killed:
            self._server.start()
            self._is_killed = False

    def _come_back(self) -> None:
        self._start_server()
        self._way.bring_back()
        for machine in (self._here, self._elsewhere, self._here, self._elsewhere):
            machine.settle()
        self.done["times away"] = self._here.reported("Keep working")

    def _compare(self, name: str, said_here: list[str], taken_over: list[str]) -> None:
        logs = {machine: _logs(machine) for machine in (self._here, self._elsewhere)}
        assert logs[self._here] == logs[self._elsewhere]
        holding = [
            session_id
            for session_id in logs[self._here]
            if session_id.startswith((name, "co-tui-")) and self._here.said(session_id, f"here {name} ") == said_here
        ]
        assert holding, "what was said here is in one session, once and in order"
        if taken_over:
            assert self._elsewhere.said(name, "there") == taken_over
            self.done["forks"] += holding[0] != name
        else:
            assert name in holding


def _logs(machine: Machine) -> dict[str, list[tuple[int | None, str]]]:
    with machine.reading() as reading:
        names = [row.id for row in reading.sessions(limit=10_000)]
    return {name: machine.log(name) for name in names}


def test_however_a_connection_is_cut_everything_is_there_once_and_in_order(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    server = postgres_server()
    database = server.new_database().split("?")[0].rpartition("/")[2]
    with (
        cut_connections(server.socket) as way,
        Machine(home / "elsewhere", server.url(database)) as elsewhere,
        Machine(home, way.url(database)) as here,
    ):
        run = Run(here, elsewhere, way, server)
        while run.done["cuts"] < drawn(12):
            run.round(database)
    print(dict(run.done))
