"""A long session keeps what left its history small: counted in messages, not in time."""

import gc
from pathlib import Path
from typing import Final

from pydantic_ai.messages import UserPromptPart

from co_tui.session.memory_relief import PACKED_AT_ONCE
from co_tui.session.session import Session
from co_tui.session.state.released import PackedMessage
from tests.support.environments import ScriptedModel, environment_for, says

TURNS: Final = 2 * PACKED_AT_ONCE
OPENING: Final = "Question of a long session"


async def test_messages_that_left_the_history_are_packed_and_can_be_read(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("An answer."), window=20_000))
    session = await Session.start(environment, "scripted")
    for number in range(TURNS):
        await session.submit(f"{OPENING} {number} ".ljust(8_000, "a"))
    state = session.state
    live = {entry.ref for entry in state.history}
    left = [entry.message for entry in state.transcript if entry.ref not in live]
    assert len(left) > TURNS
    assert sum(not isinstance(message, PackedMessage) for message in left) < 2 * PACKED_AT_ONCE
    gc.collect()
    parsed = [each for each in gc.get_objects() if type(each) is UserPromptPart and OPENING in str(each.content)]
    assert len(parsed) < len(live) + 2 * PACKED_AT_ONCE
    assert left[0]["parts"][0]["content"].startswith(f"{OPENING} 0")
    await session.close()
    environment.store.close()
