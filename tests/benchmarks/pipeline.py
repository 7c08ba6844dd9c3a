"""The context pipeline: what the first and the next request cost, and how long keys wait in a turn, at growing
lengths."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.session.session import Session
from co_tui.settings import Settings
from tests.benchmarks.figures import median, print_table, repeats
from tests.benchmarks.latency import store_talk
from tests.support.provider import Provider
from tests.support.talks import MODEL, served_environment

SIZES = (100, 1_000, 10_000)


def history(count: int) -> list:
    messages: list = []
    n = 0
    while len(messages) < count:
        n += 1
        messages += [
            ModelRequest(parts=[UserPromptPart(f"Question {n} about src/module_{n}.py?")]),
            ModelResponse(parts=[ToolCallPart("read", {"path": f"src/module_{n}.py"}, f"c{n}")]),
            ModelRequest(parts=[ToolReturnPart("read", f"def function_{n}():\n    return {n}\n" * 20, f"c{n}")]),
            ModelResponse(parts=[TextPart(f"The function returns {n}, as the file says. " * 5)]),
        ]
    return messages[:count]


def _request(governor: Governor, live: list) -> None:
    measured = governor.measure(live, Scaffold(), live)
    governor.decide(measured)
    governor.fit(measured, Scaffold())


def main() -> None:
    rows = []
    next_ms = {}
    for size in SIZES:
        governor = Governor(policy_of(Settings()), Window(tokens=10_000_000, known=True))
        live = [*history(size), ModelRequest(parts=[UserPromptPart("And now?")])]
        start = time.perf_counter()
        _request(governor, live)
        first = (time.perf_counter() - start) * 1000
        later = []
        for n in range(15):
            live += [ModelResponse(parts=[TextPart("An answer.")]), ModelRequest(parts=[UserPromptPart(f"More {n}?")])]
            start = time.perf_counter()
            _request(governor, live)
            later.append((time.perf_counter() - start) * 1000)
        next_ms[size] = median(later)
        rows.append((f"{size:,} live messages", f"first {first:.1f} ms, next {next_ms[size]:.2f} ms"))
    ratio = next_ms[SIZES[-1]] / next_ms[SIZES[0]]
    rows.append(("next request, 10,000 : 100", f"{ratio:.1f} (target under 3)"))
    for size in SIZES:
        rows.append(
            (f"a turn after {size:,} messages", f"keys wait {asyncio.run(_longest_wait_ms(size)):.0f} ms at most")
        )
    print_table(rows)


async def _longest_wait_ms(messages: int) -> float:
    """How long the loop was held up in a turn whose request carries all messages: the median of five turns."""
    provider = Provider()
    provider.window = 100_000_000
    with provider.serving(), tempfile.TemporaryDirectory() as folder:
        environment = served_environment(Path(folder) / "home", provider, policy="off")
        store_talk(environment.store.writing(), "long", MODEL, Path(folder), messages)
        session = await Session.resume(environment, "long")
        await session.submit("The first turn measures everything.")
        longest = []
        for n in range(repeats(5)):
            async with _waits_ms() as waits:
                await session.submit(f"And now? {n}")
            longest.append(max(waits))
        await session.close()
        environment.store.close()
    return median(longest)


@contextlib.asynccontextmanager
async def _waits_ms() -> AsyncIterator[list[float]]:
    waits: list[float] = []

    async def watch() -> None:
        before = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            waits.append((now - before) * 1000)
            before = now

    watching = asyncio.create_task(watch())
    yield waits
    watching.cancel()
