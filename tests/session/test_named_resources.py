"""Prompts with MCP resources wait in the queue like any other while those are read."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.mcp.servers import McpServers
from co_tui.events import PromptReturned, SessionError
from co_tui.session.attachments import AttachmentRefused
from co_tui.session.file_references import NamedFile
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.session.turns.test_steering import Digging
from tests.support.environments import ScriptedModel, environment_for, says
from tests.support.waiting import next_fact, until

PLAN = NamedFile(Path("note://plan"), "odd:note://plan", server="odd")


class SlowServers(McpServers):
    """A server whose resource is read when the test lets it."""

    def __init__(self, content: str | None = "Paint it blue.") -> None:
        super().__init__()
        self._content = content
        self.asked = 0
        self.may_answer = asyncio.Event()

    async def ready(self, *_: object) -> None:
        pass

    def resources_of(self, name: str) -> Any:
        return self if self._content is not None else None

    async def read(self, uri: str) -> str:
        self.asked += 1
        await self.may_answer.wait()
        assert self._content is not None
        return self._content


async def start(home: Path, servers: SlowServers, model: Digging | None = None) -> Session:
    scripted = ScriptedModel(model.script if model else says("done"))
    environment = environment_for(home, scripted, tools=[model.dig] if model else None)
    environment.mcp_servers = servers
    return await Session.start(environment, "scripted")


def prompts(session: Session) -> list[str]:
    return [str(entry.message["parts"][0]["content"]) for entry in session.state.history[::2]]


async def test_a_later_prompt_does_not_overtake_it(home: Path) -> None:
    servers = SlowServers()
    session = await start(home, servers)
    first = asyncio.create_task(session.submit("read it", files=[PLAN]))
    await until(lambda: servers.asked)
    second = asyncio.create_task(session.submit("then rest"))
    await until(lambda: [each.text for each in session.queue.prompts] == ["then rest"])
    servers.may_answer.set()
    assert await asyncio.gather(first, second) == [Outcome.DONE] * 2
    sent = prompts(session)
    assert "read it" in sent[0] and "Paint it blue." in sent[0] and sent[1] == "then rest"
    await session.close()


async def test_escape_stops_it_while_it_is_read(home: Path) -> None:
    servers = SlowServers()
    session = await start(home, servers)
    turn = asyncio.create_task(session.submit("read it", files=[PLAN]))
    await until(lambda: servers.asked)
    assert session.interrupt()
    with pytest.raises(PromptRefused, match="Stopped before it was sent"):
        await turn
    assert session.state.turn == 0
    await session.close()


async def test_a_closed_session_runs_no_turn(home: Path) -> None:
    servers = SlowServers()
    session = await start(home, servers)
    turn = asyncio.create_task(session.submit("read it", files=[PLAN]))
    await until(lambda: servers.asked)
    await session.close()
    servers.may_answer.set()
    with pytest.raises(PromptRefused):
        await turn
    with pytest.raises(PromptRefused, match="the session was closed"):
        await session.submit("too late")
    assert session.state.turn == 0


async def test_it_joins_the_running_turn(home: Path) -> None:
    digging, servers = Digging(digs=1), SlowServers()
    session = await start(home, servers, digging)
    turn = asyncio.create_task(session.submit("dig"))
    await until(lambda: digging.begun == 1)
    steered = asyncio.create_task(session.submit("read it", files=[PLAN], steer=True))
    await until(lambda: session.queue.prompts)
    servers.may_answer.set()
    for _ in range(2):
        digging.signs.release()
    assert await asyncio.gather(turn, steered) == [Outcome.DONE] * 2
    assert session.state.turn == 1 and "Paint it blue." in str(digging.sent[-1][-1])
    await session.close()


async def test_what_cannot_be_read_is_returned_with_the_reason(home: Path) -> None:
    digging = Digging(digs=1)
    session = await start(home, SlowServers(None), digging)
    listener = session.events()
    turn = asyncio.create_task(session.submit("dig"))
    await until(lambda: digging.begun == 1)
    steered = asyncio.create_task(session.submit("read it", files=[PLAN], steer=True))
    await until(lambda: session.queue.prompts)
    for _ in range(2):
        digging.signs.release()
    assert await asyncio.gather(turn, steered) == [Outcome.DONE] * 2
    assert (await next_fact(listener, PromptReturned)).prompt == "read it"
    assert "odd is not running" in (await next_fact(listener, SessionError)).what
    with pytest.raises(AttachmentRefused, match="odd is not running"):
        await session.submit("read it", files=[PLAN])
    assert session.state.turn == 1
    await session.close()
