"""A tool or a model that raises a cancellation of its own fails; it neither ends the session nor waits for ever."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls

from co_tui.events import SessionError
from co_tui.session.queue import WorkQueue
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for, facts, says


async def of_a_lost_connection() -> str:
    """Look at what a server says."""
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    answer.cancel()
    return await answer


async def test_a_tool_that_is_cancelled_from_inside_fails_and_the_turn_continues(home: Path) -> None:
    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if "cancelled" in str(messages[-1].parts):
            yield "It did not work."
        else:
            yield {0: DeltaToolCall("of_a_lost_connection", "{}", tool_call_id="c1")}

    session = await Session.start(
        environment_for(home, ScriptedModel(script), tools=[of_a_lost_connection]), "scripted"
    )
    assert await asyncio.wait_for(session.submit("look"), 60) is Outcome.DONE
    assert "It did not work." in str(session.state.history[-1].message)
    await session.close()


async def of_lost_connections() -> str:
    """Look at what several servers say."""
    raise BaseExceptionGroup("several", [asyncio.CancelledError(), BaseExceptionGroup("more", [OSError("reset")])])


async def test_a_tool_that_is_cancelled_among_other_failures_fails_and_the_turn_continues(home: Path) -> None:
    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if "of_lost_connections failed: CancelledError, ExceptionGroup: more" in str(messages[-1].parts):
            yield "It did not work."
        else:
            yield {0: DeltaToolCall("of_lost_connections", "{}", tool_call_id="c1")}

    session = await Session.start(environment_for(home, ScriptedModel(script), tools=[of_lost_connections]), "scripted")
    assert await asyncio.wait_for(session.submit("look"), 60) is Outcome.DONE
    assert "It did not work." in str(session.state.history[-1].message)
    await session.close()


@pytest.mark.parametrize("said", ["", "half of a reply"])
async def test_a_model_that_is_cancelled_from_inside_is_asked_again(home: Path, said: str) -> None:
    attempts = iter([said, None])

    async def breaks_once(*_: Any) -> AsyncIterator[str]:
        if (begun := next(attempts)) is None:
            yield "whole"
            return
        if begun:
            yield begun
        raise asyncio.CancelledError

    session = await Session.start(environment_for(home, ScriptedModel(breaks_once)), "scripted")
    assert await asyncio.wait_for(session.submit("go on"), 60) is Outcome.DONE
    assert [error.outcome.startswith("retrying") for error in facts(list(session.state.timeline), SessionError)] == [
        True
    ]
    await session.close()


async def test_a_summary_that_is_cancelled_from_inside_is_a_failed_one(home: Path) -> None:
    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        if "working memory" in (info.instructions or ""):
            raise asyncio.CancelledError
        yield "An answer about src/main.py. " * 20

    session = await Session.start(environment_for(home, ScriptedModel(script)), "scripted")
    for _ in range(3):
        assert await session.submit("What is in src/main.py?") is Outcome.DONE
    done = await asyncio.wait_for(session.compact(), 60)
    assert not done.cancelled and (done.note or done.error)
    assert await session.submit("And now?") is Outcome.DONE
    await session.close()


@pytest.mark.parametrize("error", [asyncio.CancelledError(), ValueError("odd")])
async def test_the_queue_answers_whatever_work_raises(error: BaseException) -> None:
    async def idle() -> None:
        pass

    async def fails() -> None:
        raise error

    async def works() -> int:
        return 7

    queue = WorkQueue("test", lambda: None, idle, None)
    failed, worked = asyncio.create_task(queue.do(fails)), asyncio.create_task(queue.do(works))
    with pytest.raises(Exception, match=r"cancelled|odd"):
        await asyncio.wait_for(failed, 60)
    assert await asyncio.wait_for(worked, 60) == 7
    await queue.wait()


async def test_what_waits_is_answered_if_the_worker_itself_is_cancelled(home: Path) -> None:
    session = await Session.start(environment_for(home, ScriptedModel(says("ok"))), "scripted")
    started, forever = asyncio.Event(), asyncio.Event()

    async def works() -> None:
        started.set()
        await forever.wait()

    first, second = asyncio.create_task(session.queue.do(works)), asyncio.create_task(session.queue.do(works))
    await started.wait()
    (worker,) = [task for task in asyncio.all_tasks() if task.get_name().startswith("turns of")]
    worker.cancel()
    with pytest.raises(Exception, match="cancelled"):
        await asyncio.wait_for(first, 60)
    with pytest.raises(Exception, match="cancelled"):
        await asyncio.wait_for(second, 60)
    await session.close()
