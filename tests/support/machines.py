"""Machines that share a PostgreSQL database over a connection that is cut at random moments."""

import random
from pathlib import Path

import pytest

from co_tui.paths import locate
from co_tui.store.postgres import jobs, writer
from co_tui.store.postgres.away import reconnect
from co_tui.store.postgres.store import PostgresStore
from tests.support.cut_connections import CutConnections
from tests.support.waiting import PATIENCE_S, wait_until

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
    """Go away at the first failure, and try the server again at once."""
    monkeypatch.setattr(writer, "PATIENCE_S", 0.0)
    monkeypatch.setattr(writer, "LONG_PATIENCE_S", 0.5)
    monkeypatch.setattr(jobs, "RETRY_S", 0.01)
    monkeypatch.setattr(reconnect, "FIRST_TRY_S", 0.01)
    monkeypatch.setattr(reconnect, "LONGEST_PAUSE_S", 0.01)


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


class Machine(PostgresStore):
    """A store that knows what it reported."""

    def __init__(self, home: Path, url: str) -> None:
        self._told = list[str]()
        super().__init__(locate({"CO_TUI_HOME": str(home)}), url, report=self._told.append)

    def count(self, words: str) -> int:
        return sum(words in sentence for sentence in self._told)

    @property
    def is_away(self) -> bool:
        return self.count("kept on this machine") > self.count("is back")

    def settle(self) -> None:
        """Notice what was cut, and wait until everything is handed over."""
        self.writing().save_reply("nothing", 1, "").exception(PATIENCE_S)
        wait_until(lambda: not self.is_away)
