"""Who waits for compactions in a long session: with the summary in the background, and without (G3d)."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, StreamedResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from co_tui.context.measure.count import estimate_message
from co_tui.events import CompactionComplete, CompactionStart
from co_tui.session.session import Session
from co_tui.session.state.session_state import SessionState
from co_tui.session.turns.turn import Outcome
from co_tui.settings import load
from tests.benchmarks.figures import median, print_table
from tests.support.environments import ScriptedModel, environment_for
from tests.support.provider import Provider, Reply
from tests.support.talks import LONG, talk, talking

TURNS = 200
CANCELS = 10
WINDOW_TOKENS = 16_000
REPLY_S, SUMMARY_S, PAUSE_S = 4, 10, 15
REAL_S = 0.01
"""What one simulated second takes here."""
MARK = "0.8"
PROMPT = (
    "Question {n}: what does function_{n} in src/module_{n}.py do when its argument is empty? " + "Think of it. " * 60
)
ANSWER = "The function in src/module.py returns early, as the tests say. " * 15
SUMMARY = (
    "Title: Functions\n## Decisions and outcomes\n- The function in src/module.py returns early, as the tests say."
)


class Way(NamedTuple):
    """One way to have the same conversation."""

    name: str
    pause_s: float
    settings: dict[str, str]


WAYS = (
    Way("background, the user reads and types", PAUSE_S, {}),
    Way("background, the user never pauses", 0, {}),
    # Without a pause nothing is gained between the turns, and with both marks in one place nothing beside them:
    # each summary begins right before a request that has to wait for it.
    Way("background off: both marks at 80 %, no pause", 0, {"CO_TUI_BUFFER_EXHAUSTION_THRESHOLD": MARK}),
)


async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    summarises = "working memory" in (info.instructions or "")
    await asyncio.sleep((SUMMARY_S if summarises else REPLY_S) * REAL_S)
    yield SUMMARY if summarises else ANSWER


class Counting(FunctionModel):
    """Says how many tokens it was sent, as providers do."""

    @asynccontextmanager
    async def request_stream(self, messages: list[ModelMessage], *rest: Any) -> AsyncIterator[StreamedResponse]:
        async with super().request_stream(messages, *rest) as response:
            response._usage.input_tokens = sum(map(estimate_message, messages))
            yield response


class ModelHandle(ScriptedModel):
    async def model(self) -> Model:
        return Counting(stream_function=answer, model_name=self.name)


async def conversation(home: Path, way: Way) -> SessionState:
    environment = environment_for(home, ModelHandle(answer, window=WINDOW_TOKENS))
    environment.settings = load(paths=environment.paths, cwd=home, environ=way.settings).settings
    session = await Session.start(environment, "scripted")
    for n in range(TURNS):
        outcome = await session.submit(PROMPT.format(n=n))
        assert outcome is Outcome.DONE, (n, outcome)
        await asyncio.sleep(way.pause_s * REAL_S)
    await session.close()
    environment.store.close()
    return session.state


def figures(state: SessionState) -> str:
    """From the log alone: a compaction blocked when a request waited for it, from its beginning or at its end."""
    blocks, ended = False, []
    for event in state.timeline:
        if isinstance(event.fact, CompactionStart):
            blocks = event.fact.blocks
        elif isinstance(event.fact, CompactionComplete) and event.fact.success:
            ended.append((blocks or event.fact.waited_ms > 0, event.fact.waited_ms))
    blocked = sum(waited for waited, _ in ended)
    waited_s = sum(ms for _, ms in ended) / 1000 / REAL_S
    return f"{len(ended)} compactions, {blocked} blocked ({blocked / max(1, len(ended)):.0%}), {waited_s:,.0f} s waited"


async def _all(folder: Path) -> list[SessionState]:
    """At the same time: most of it is waiting."""
    return list(await asyncio.gather(*(conversation(folder / str(n), way) for n, way in enumerate(WAYS))))


def main() -> None:
    print(
        f"  {TURNS} turns, window {WINDOW_TOKENS:,} tokens, policy balanced. Simulated: a reply takes {REPLY_S} s, a "
        f"summary {SUMMARY_S} s,\n  the user reads and types for {PAUSE_S} s; one second takes {REAL_S * 1000:.0f} ms, "
        "our own work what it takes.\n  Target: under 5 % blocked.\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        states = asyncio.run(_all(Path(folder)))
        cancelled = asyncio.run(_cancelled_ms(Path(folder) / "cancelled"))
    rows = [(way.name, figures(state)) for way, state in zip(WAYS, states, strict=True)]
    worst = f"median {median(cancelled):.0f} ms, worst {max(cancelled):.0f} ms (target 200)"
    print_table([*rows, ("cancelled, until the provider sees it", worst)])


async def _cancelled_ms(home: Path) -> list[float]:
    """From cancelling a compaction on demand to the moment in which the provider sees the connection go."""
    taken = []
    with Provider().serving() as provider:
        provider.window, provider.default = 100_000, LONG
        async with talking(home, provider) as session:
            await talk(session, 3)
            for n in range(CANCELS):
                provider.summaries = [Reply(text=SUMMARY, wait_s=30)]
                provider.closed_early.clear()
                running = asyncio.create_task(session.compact())
                while len(provider.summary_requests) <= n:
                    await asyncio.sleep(0.01)
                began = time.monotonic()
                session.interrupt()
                await running
                await asyncio.to_thread(provider.closed_early.wait, 10)
                taken.append((provider.closed_at - began) * 1000)
    return taken
