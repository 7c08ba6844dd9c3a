"""A conversation needs no file: whatever keeps the port's promises can keep a session."""

from pathlib import Path

import pytest

from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.store.sqlite.in_memory import InMemoryStore
from co_tui.store.store_errors import SessionBusy
from tests.support.environments import ScriptedModel, environment_for, says


async def test_a_conversation_is_kept_resumed_rewound_and_forked_in_memory(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("An answer about herons.")))
    environment.store = InMemoryStore()
    first = await Session.start(environment, "scripted")
    for prompt in ("one", "two"):
        assert await first.submit(prompt) is Outcome.DONE
    with pytest.raises(SessionBusy):
        await Session.resume(environment, first.id)
    assert await first.edits.rewind(2) == "two"
    fork = await first.fork()
    await first.rename("About birds")
    await first.close()
    assert await environment.stored_state(first.id) == first.state
    again = await Session.resume(environment, fork)
    assert [entry.message for entry in again.state.history] == [entry.message for entry in first.state.history]
    assert await again.submit("three") is Outcome.DONE
    await again.close()
    with environment.store.reading() as reading:
        assert {row.title for row in reading.sessions(search="herons")} == {"About birds", again.state.title}
        assert reading.latest(str(home)).id == fork
    assert not environment.paths.database.exists() and not environment.paths.locks.exists()
