"""Machines that share a PostgreSQL database over a connection that is cut at random moments."""

import random
from pathlib import Path

import pytest

from co_tui.events import Event, Message
from co_tui.paths import locate
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.sync.server import server_sync
from co_tui.store.sync.server.server import Server
from co_tui.store.sync.server.server_sync import ServerSync
from tests.support.cut_connections import CutConnections
from tests.support.waiting import wait_until

MOST_BYTES = 9_000
"""More than a connection and a change take."""
KILLED = "server killed"
_CUTS = {
    "commit unanswered": 3.0,
    "commit unheard": 1.0,
    "bytes": 6.0,
    "bytes, then down": 4.0,
    "now": 2.0,
    "down": 2.0,
    KILLED: 0.3,
}
"""How likely each is."""


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try a server that is away again at once."""
    monkeypatch.setattr(server_sync, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(server_sync, "LONGEST_PAUSE_S", 0.02)


def cut_at_random(chance: random.Random, way: CutConnections) -> str:
    """Cut the connections in one of the ways, now or after some bytes; the caller kills the server itself."""
    kind = chance.choices(list(_CUTS), list(_CUTS.values()))[0]
    if kind.startswith("bytes"):
        way.cut_after(chance.randrange(1, MOST_BYTES), then_down="down" in kind)
    elif kind.startswith("commit"):
        way.cut_next_commit(done=kind == "commit unanswered", then_down=chance.random() < 0.5)
    elif kind == "now":
        way.cut()
    elif kind == "down":
        way.take_down()
    return kind


class Machine(SqliteStore):
    """A store that is synced with a server, and knows what it reported."""

    def __init__(self, home: Path, url: str) -> None:
        paths = locate({"CO_TUI_HOME": str(home)})
        super().__init__(paths, lambda store: ServerSync(store, paths, url, lambda: Server(url)))
        self.reports = list[str]()
        self.report_to(self.reports.append)

    def reported(self, words: str) -> int:
        """How many sentences contain the words."""
        return sum(words in sentence for sentence in self.reports)

    def settle(self) -> None:
        """Wait until everything is pushed and pulled."""
        reason = ""

        def is_settled() -> bool:
            nonlocal reason
            unpushed = self.sync.unpushed() if (reason := self.sync.refresh()) == "" else None
            reason = reason or str(unpushed)
            return unpushed is not None and not unpushed

        try:
            wait_until(is_settled)
        except AssertionError as error:
            raise AssertionError(f"{error}: {reason}; {self.reports}") from None

    def log(self, session_id: str) -> list[tuple[int | None, str]]:
        """Seqs with texts, or with the type of what is not a message."""
        with self.reading() as reading:
            return [(event.seq, _word(event)) for event in reading.events(session_id)]

    def said(self, session_id: str, by: str = "") -> list[str]:
        """The messages of a session that begin so. Its seqs have no gaps."""
        log = self.log(session_id)
        assert [seq for seq, _ in log] == list(range(1, len(log) + 1))
        return [word for _, word in log if word.startswith(by)]


def _word(event: Event) -> str:
    return str(event.fact.message["parts"][0]["content"]) if isinstance(event.fact, Message) else event.type
