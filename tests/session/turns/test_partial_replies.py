"""A reply that broke off is kept, whatever ends the turn before more of it arrives."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from co_tui.events import SessionError
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for


@pytest.mark.parametrize("ends", ["stopped before the retry", "stopped in the retry", "refused in the retry"])
async def test_the_partial_reply_stays(home: Path, ends: str) -> None:
    retried = asyncio.Event()
    attempts = iter(["half of a reply", ""])

    async def script(*_: Any) -> AsyncIterator[str]:
        if said := next(attempts):
            yield said
            raise ModelHTTPError(503, "scripted")
        retried.set()
        if ends.startswith("refused"):
            raise ModelHTTPError(401, "scripted")
        await asyncio.Event().wait()
        yield ""

    environment = environment_for(home, ScriptedModel(script))
    environment.first_backoff_s = 1e6 if ends == "stopped before the retry" else 0.0
    session = await Session.start(environment, "scripted")
    events = session.events()
    running = asyncio.create_task(session.submit("write much"))
    async for event in events:
        if isinstance(event.fact, SessionError) and event.fact.retry_in_s is not None:
            break
    if ends != "stopped before the retry":
        await retried.wait()
    if ends.startswith("stopped"):
        session.interrupt()
    assert await running is (Outcome.INTERRUPTED if ends.startswith("stopped") else Outcome.FAILED)
    last = session.state.history[-1]
    assert last.interrupted and [part["content"] for part in last.message["parts"]] == ["half of a reply"]
    assert sum("half of a reply" in str(entry.message) for entry in session.state.transcript) == 1
    await session.close()
    with environment.store.reading() as reading:
        assert replay(reading.events(session.id)).history[-1] == last
