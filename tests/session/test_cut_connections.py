"""A session on a PostgreSQL server whose connection is cut in the middle of turns, compactions and forks.

`CO_TUI_LONG_RUN=200 uv run pytest tests/session/test_cut_connections.py` cuts 200 times.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo

from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.state.session_state import SessionState
from co_tui.store.store_errors import StoreError
from tests.support.compacting import texts
from tests.support.cut_connections import CutConnections, cut_connections
from tests.support.environments import ScriptedModel, environment_for
from tests.support.long_run import drawn
from tests.support.machines import KILLED, Machine, cut_at_random, hurry
from tests.support.postgres import postgres_server

SEED = 28


async def test_whatever_is_cut_the_session_goes_on_and_all_of_it_reaches_the_server(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    server = postgres_server()
    database = server.new_database().split("?")[0].rpartition("/")[2]
    with cut_connections(server.socket) as way, Machine(home, way.url(database)) as store:
        environment = environment_for(home, ScriptedModel(_Cutting(way)), summary_fallback="offline")
        environment.store = store
        session = await Session.start(environment, "scripted")
        for number in range(drawn(5)):
            await session.submit(f"question {number}")
            if number % 5 == 4:
                with suppress(CompactionRefused):
                    await session.compact()
            if number % 7 == 6:
                with suppress(StoreError):  # it needs the server
                    await session.fork()
            way.bring_back()
        said = [text for text in texts(session.state) if text.startswith(("question", "answer"))]
        assert said[-1].startswith("answer") and not session.has_unsaved
        await session.close()
        way.bring_back()
        await asyncio.to_thread(store.settle)
        with Machine(home / "elsewhere", server.url(database)) as elsewhere, elsewhere.reading() as reading:
            await asyncio.to_thread(elsewhere.settle)
            events = list(reading.events(session.id))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert _shown(replay(events)) == _shown(session.state)
        asked = [event for event in events if event.type == "message" and "question" in str(event.fact)]
        assert len({str(event.fact) for event in asked}) == len(asked) >= drawn(5)


def _shown(state: SessionState) -> tuple[object, ...]:
    return state.turn, state.title, texts(state), [event.seq for event in state.rewrites]


class _Cutting:
    """A model in whose replies the connection is cut."""

    def __init__(self, way: CutConnections) -> None:
        self._way, self._chance, self._number = way, random.Random(SEED), 0

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        self._number += 1
        yield f"answer {self._number} "
        if cut_at_random(self._chance, self._way) == KILLED:
            self._way.cut()
        for word in range(5):
            yield f"word {word} "
