"""Prompts that wait can be put in another order; the first cannot move up, nor the last down."""

import asyncio
from pathlib import Path

import pytest

from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for
from tests.support.long_run import also_in_a_long_run


@pytest.mark.parametrize(
    ("chosen", "step", "order", "begun"),
    also_in_a_long_run(
        [
            (0, -1, ["one", "two", "three"], True),
            (0, 1, ["two", "one", "three"], False),
            (2, -1, ["one", "three", "two"], False),
            (2, 1, ["one", "two", "three"], True),
        ],
        [(0, 1, ["two", "one", "three"], True)],
    ),
)
async def test_a_waiting_prompt_moves_by_one_place(
    home: Path, chosen: int, step: int, order: list[str], begun: bool
) -> None:
    answering, asked = asyncio.Event(), []

    async def script(messages, info):
        asked.append(messages[-1].parts[0].content)
        await answering.wait()
        yield "answered"

    environment = environment_for(home, ScriptedModel(script))
    session = await Session.start(environment, "scripted")
    turns = [asyncio.create_task(session.submit(prompt)) for prompt in ("first", "one", "two", "three")]
    while len(session.queue.prompts) < 3 or (begun and not asked):
        await asyncio.sleep(0)
    assert bool(asked) == begun
    session.queue.move(session.queue.prompts[chosen].number, step)
    shown = [prompt.text for prompt in session.queue.prompts]
    answering.set()
    assert await asyncio.gather(*turns) == [Outcome.DONE] * 4
    await session.close()
    environment.store.close()
    assert shown == order and asked == ["first", *order]
