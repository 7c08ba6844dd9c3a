"""Everything below the screen, one part after the other: `python -m tests.benchmarks.streaming.clients PART URL`.

Reads replies to ask for as JSON, one a line, and prints the processor time that each took.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.benchmarks.streaming.replies import Wanted

Ask = Callable[[str], Awaitable[None]]
Use = Callable[[Ask], Awaitable[None]]


async def openai_client(url: str, use: Use) -> None:
    """OpenAI's client alone."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none")

    async def ask(prompt: str) -> None:
        messages = [{"role": "user", "content": prompt}]
        stream = await client.chat.completions.create(model="scripted", messages=messages, stream=True)  # type: ignore
        async for _ in stream:
            pass

    await use(ask)


async def library(url: str, use: Use) -> None:
    """pydantic-ai on OpenAI's client."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    await _with_agent(OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=url, api_key="none")), use)


async def wire(url: str, use: Use) -> None:
    """pydantic-ai on our guarded model."""
    from co_tui.agent.models.open_model import ModelConfig, open_model

    with tempfile.TemporaryDirectory() as folder:
        config = ModelConfig(environ={}, fetched_models=Path(folder), base_url=url)
        handle = await open_model("openai-chat:scripted", config)
        await _with_agent(await handle.model(), use)
        await handle.close()


async def _with_agent(model: object, use: Use) -> None:
    from pydantic_ai import Agent

    agent = Agent(model)  # type: ignore

    async def ask(prompt: str) -> None:
        async with agent.run_stream_events(prompt) as events:
            async for _ in events:
                pass

    await use(ask)


async def session(url: str, use: Use) -> None:
    """A session: its events are followed, as the screen does, and the reply is saved while it streams."""
    from co_tui.session.recorder import Listener
    from co_tui.session.session import Session
    from co_tui.session.state.derive import apply
    from co_tui.session.turns.turn import Outcome
    from tests.support.talks import MODEL, served_environment

    class Server:
        pass

    server = Server()
    server.url = url  # type: ignore

    async def follow() -> None:
        state = running.state
        async for event in listener:
            state = apply(state, event)

    async def ask(prompt: str) -> None:
        assert await running.submit(prompt) is Outcome.DONE

    with tempfile.TemporaryDirectory() as folder:
        environment = served_environment(Path(folder), server)  # type: ignore
        listener = Listener()
        running = await Session.start(environment, MODEL, listener)
        following = asyncio.create_task(follow())
        await use(ask)
        await running.close()
        await following
        environment.store.close()


PARTS = {"openai": openai_client, "library": library, "wire": wire, "session": session}


async def _measured(ask: Ask) -> None:
    for line in sys.stdin:
        start = time.process_time()
        await ask(Wanted(*json.loads(line)).prompt)
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    asyncio.run(PARTS[sys.argv[1]](sys.argv[2], _measured))
