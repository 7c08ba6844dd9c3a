"""A fork that begins between a call and its result has the result: the call is finished."""

from collections.abc import AsyncIterator
from pathlib import Path

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls

from co_tui.context.request.repair import INTERRUPTED
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for


def look(at: str) -> str:
    """See what is there."""
    return f"{at} was seen"


async def two_calls(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    if "was seen" in str(messages[-1].parts):
        yield "Both are there."
    else:
        yield {n: DeltaToolCall("look", f'{{"at": "place {n}"}}', tool_call_id=f"c{n}") for n in (1, 2)}


async def test_the_results_of_finished_calls_come_along_wherever_the_cut_is(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(two_calls), tools=[look])
    session = await Session.start(environment, "scripted")
    assert await session.submit("look") is Outcome.DONE
    calls, _, results = [entry.seq for entry in session.state.transcript[1:] if "look" in str(entry.message["parts"])]
    assert calls < results < session.state.seq
    for upto in range(calls, session.state.seq + 1):
        fork = await Session.resume(environment, await session.fork(upto))
        said = str([entry.message for entry in fork.state.history])
        assert "place 1 was seen" in said and "place 2 was seen" in said and INTERRUPTED not in said, upto
        await fork.close()
    before = await Session.resume(environment, await session.fork(calls - 1))
    assert [entry.message["kind"] for entry in before.state.history] == ["request"]
    await before.close()
    await session.close()
