"""Connections cut at any byte, and the server killed, while sessions are written, forked, imported and handed over.

`CO_TUI_LONG_RUN=200 uv run pytest tests/store/test_cuts.py` cuts 200 times.
"""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from co_tui.events import CompactionComplete, Event, Fact, Message, SessionFork, SessionStart
from co_tui.store.postgres.store import PostgresStore
from co_tui.store.store_errors import SessionNotFound, StoreError
from tests.store.test_contract import said
from tests.support.cut_connections import CutConnections, cut_connections
from tests.support.long_run import drawn
from tests.support.machines import KILLED, MOST_BYTES, Machine, cut_at_random, hurry
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.waiting import PATIENCE_S

SEED = 28


class Run:
    """A machine with a bad connection, another with a good one, and what each was told to be saved."""

    def __init__(self, here: Machine, elsewhere: Machine, way: CutConnections) -> None:
        self.chance, self.done = random.Random(SEED), Counter[str]()
        self._here, self._elsewhere, self._way = here, elsewhere, way
        self._number = 0
        self._killed: PostgresServer | None = None

    def round(self, server: PostgresServer, database: str) -> None:
        """One session of some changes, with a cut among them, until everything is handed over."""
        self._number += 1
        name = f"s{self._number}"
        said_here: list[str] = []
        lease = self._here.claim(name)
        cut_at = self.chance.randrange(6)
        for step in range(6):
            if step == cut_at:
                self._cut(server)
            self._append(name, said_here)
            if self.chance.random() < 0.2:
                self._here.writing().save_reply(name, 0, "{}").result(PATIENCE_S)
        taken_over = self._take_over(server, database, name) if self.chance.random() < 0.3 else []
        if self.chance.random() < 0.3:
            self._cut(server)
        self._append(name, said_here)
        if self.chance.random() < 0.7:
            self._come_back()
        self._change_whole_session(name)
        self._come_back()
        assert self._log(self._here, name) == said_here, "all once, in order, as the machine that said it sees it"
        (last,) = self._append(name, said_here)
        assert self._log(self._elsewhere, last.session_id) == said_here
        assert taken_over or last.session_id == name, "only what another machine continued becomes a fork"
        if taken_over:
            assert self._log(self._elsewhere, name, "there") == taken_over
        lease.release()

    def _append(self, name: str, said_here: list[str]) -> tuple[Event, ...]:
        texts = [f"here {name} {len(said_here) + each}" for each in range(self.chance.randrange(1, 4))]
        facts: list[Fact] = [said(text) for text in texts[:-1]]
        if self.chance.random() < 0.3:
            facts.append(CompactionComplete(success=True, trigger="manual", replaced=(), replacement=()))
        facts.append(said(texts[-1]))
        events = self._here.writing().append(name, facts, ends_draft=True).result(PATIENCE_S)
        assert [event.fact for event in events] == facts
        said_here += texts
        self.done["appends"] += 1
        if self._killed is not None:
            self._killed.start()
            self._killed = None
            self._elsewhere.settle()
        return events[-1:]

    def _take_over(self, server: PostgresServer, database: str, name: str) -> list[str]:
        """Another machine goes on with the session, if it is there."""
        with self._elsewhere.reading() as reading:
            try:
                reading.session(name)
            except SessionNotFound:
                return []
        server.execute("UPDATE co_tui.leases SET expires = now() - interval '1 second'", database)
        with self._elsewhere.claim(name, take_over=True):
            self._elsewhere.writing().append(name, [said(f"there {name}")]).result(PATIENCE_S)
        self.done["sessions taken over"] += 1
        return [f"there {name}"]

    def _change_whole_session(self, name: str) -> None:
        """Fork, import or delete: whole, or not at all."""
        target, writing = f"{name}-{self.chance.randrange(1 << 30):x}", self._here.writing()
        log = [Event(session_id=target, seq=1, timestamp="2026-01-01T00:00:00Z", fact=SessionStart())]
        log += [log[0].but(seq=seq, fact=said(f"in {target} {seq}")) for seq in range(2, 40)]
        kind = self.chance.choice(("fork", "import", "delete"))
        before: list[int | None] = []
        with suppress(StoreError):  # it may be away
            before = self._seqs(self._here, name)
        if kind == "delete":
            self._elsewhere.writing().import_log(log).result(PATIENCE_S)
        if self.chance.random() < 0.5:
            self._way.cut_after(self.chance.randrange(1, MOST_BYTES))
            self.done["cuts"] += 1
        try:
            if kind == "fork":
                fact = SessionFork(source_session_id=name, source_seq=0)
                writing.fork(name, target, None, fact).result(PATIENCE_S)
            elif kind == "import":
                writing.import_log(log).result(PATIENCE_S)
            else:
                writing.delete(target).result(PATIENCE_S)
            outcome = "made"
        except StoreError:
            outcome = "refused"
        self.done[f"{kind} {outcome}"] += 1
        found = self._seqs(self._elsewhere, target)
        whole = list(range(1, len(log) + 1))
        if kind == "fork":
            count = len(found)  # the source itself may be handed over as a fork in between, and grow by that
            assert found == list(range(1, count + 1)) and (count > len(before) or (outcome == "refused" and not found))
        elif kind == "import":
            assert found == whole or (outcome == "refused" and not found)
        else:
            assert found == [] or (outcome == "refused" and found == whole)

    def _cut(self, server: PostgresServer) -> None:
        kind = cut_at_random(self.chance, self._way)
        self.done["cuts"] += 1
        self.done[f"cut: {kind}"] += 1
        if kind == KILLED:
            server.kill()
            self._killed = server  # until the next append

    def _come_back(self) -> None:
        self._way.bring_back()
        self._here.settle()
        self.done["times away"] = self._here.count("kept on this machine")
        self.done["hand-overs"] = self._here.count("has what was kept here")
        self.done["forks of what was kept"] = self._here.count("continued elsewhere")

    def _log(self, store: PostgresStore, name: str, by: str = "here") -> list[str]:
        with store.reading() as reading:
            events = _again(lambda: list(reading.events(name)))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        messages = (event.fact for event in events if isinstance(event.fact, Message))
        return [text for fact in messages if (text := fact.message["parts"][0]["content"]).startswith(by)]

    def _seqs(self, store: PostgresStore, name: str) -> list[int | None]:
        with store.reading() as reading:
            return _again(lambda: [event.seq for event in reading.events(name)])


def _again(read):  # type: ignore[no-untyped-def]
    """A read that a cut hits fails; the next one connects again."""
    for _ in range(20):
        try:
            return read()
        except StoreError:
            continue
    return read()


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Run, PostgresServer, str]]:
    hurry(monkeypatch)
    server = postgres_server()
    database = server.new_database().split("?")[0].rpartition("/")[2]
    with (
        cut_connections(server.socket) as way,
        Machine(home / "elsewhere", server.url(database)) as elsewhere,
        Machine(home, way.url(database)) as here,
    ):
        yield Run(here, elsewhere, way), server, database


def test_however_a_connection_is_cut_everything_that_was_acknowledged_is_there_once_and_in_order(
    run: tuple[Run, PostgresServer, str],
) -> None:
    talk, server, database = run
    while talk.done["cuts"] < drawn(12):
        talk.round(server, database)
    print(dict(talk.done))
