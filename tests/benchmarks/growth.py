"""A session of 2,000 steps, in fifths: what a request and a compaction cost, and what each step leaves in memory (G9).

The first fifth is the warm-up; from the second on, time should be flat and memory grow by the messages alone.
"""

import asyncio
import random
import time
import tracemalloc
from collections.abc import Iterator
from typing import NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.measure.count import Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import policy_of
from co_tui.lab.engine import ReplayEngine
from co_tui.settings import Settings
from tests.benchmarks.figures import median, print_table
from tests.benchmarks.ledger import WORDS

STEPS, FIFTH, STEPS_A_TURN = 2_000, 400, 40
WINDOWS = (8_000, 32_000)


class Step(NamedTuple):
    """One step of the replay."""

    request_ms: float
    compactions: int
    held_mb: float
    """Everything allocated since the session began; 0 unless traced."""


def conversation(steps: int) -> Iterator[list[ModelMessage]]:
    """Each step's messages: calls with results of 2 to 4 kB; some names are new, most come again."""
    draw = random.Random(steps)
    for n in range(steps):
        step: list[ModelMessage] = []
        if n % STEPS_A_TURN == 0:
            step.append(ModelRequest(parts=[UserPromptPart(f"Now make the {draw.choice(WORDS)} of part {n} faster.")]))
        path = f"src/{draw.choice(WORDS)}/{draw.choice(WORDS)}_{draw.randrange(60)}.py"
        call = ToolCallPart("read_file", {"path": path, "offset": draw.randrange(900)}, tool_call_id=f"call-{n}")
        result = ToolReturnPart("read_file", _result(n, draw), tool_call_id=f"call-{n}")
        said = f"The {draw.choice(WORDS)} of {path} failed; I look at it again."
        yield [*step, ModelResponse(parts=[TextPart(said), call]), ModelRequest(parts=[result])]


def _result(n: int, draw: random.Random) -> str:
    lines = []
    for line in range(draw.randrange(40, 80)):
        name = f"{draw.choice(WORDS)}_{draw.choice(WORDS)}_{draw.randrange(n // 10 + 20)}"
        lines.append(f"{line:4}    {name} = {draw.choice(WORDS)}.{draw.choice(WORDS)}({draw.randrange(9_999)})")
    return "\n".join(lines)


async def replayed(window: int, *, traced: bool) -> list[Step]:
    engine = ReplayEngine(policy_of(Settings()), Window(tokens=window, known=True), meter=Meter(1.0, margin=1.0))
    steps: list[Step] = []
    for messages in conversation(STEPS):
        taken, compactions = 0.0, 0
        for message in messages:
            start = time.process_time()
            if isinstance(message, ModelResponse):
                compactions = len((await engine.request()).compactions)
            await engine.receive(message)
            taken += time.process_time() - start
        steps.append(Step(taken * 1000, compactions, tracemalloc.get_traced_memory()[0] / 1e6 if traced else 0.0))
    return steps


def traced(window: int) -> list[Step]:
    tracemalloc.start()
    try:
        return asyncio.run(replayed(window, traced=True))
    finally:
        tracemalloc.stop()


def rows(window: int) -> list[tuple[str, str]]:
    timed = asyncio.run(replayed(window, traced=False))
    held = traced(window) if window == WINDOWS[0] else []
    found = []
    for begin in range(0, STEPS, FIFTH):
        part, memory = timed[begin : begin + FIFTH], held[begin : begin + FIFTH]
        plain = median([step.request_ms for step in part if not step.compactions])
        compacting = [step.request_ms for step in part if step.compactions] or [0.0]
        mean = sum(step.request_ms for step in part) / FIFTH
        kept = f", keeps {(memory[-1].held_mb - memory[0].held_mb) * 1000 / FIFTH:5.1f} kB" if memory else ""
        found.append(
            (
                f"{window // 1000}k, steps {begin + 1:,} to {begin + FIFTH:,}",
                f"a request {plain:5.2f} ms, with a compaction {median(compacting):6.1f} ms "
                f"({len(compacting)} of them); a step takes {mean:5.2f} ms{kept}",
            )
        )
    return found


def main() -> None:
    chars = sum(len(str(part)) for step in conversation(200) for message in step for part in message.parts) / 200
    print(f"  {STEPS:,} steps of about {chars / 1000:.1f} kB each, policy balanced, processor time\n")
    print_table([row for window in WINDOWS for row in rows(window)])
