"""A long job in a small window: what each of its requests costs us, from the first to the last."""

import asyncio
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from tests.benchmarks.figures import median, print_table
from tests.session.turns.test_long_work import RULE, WINDOW, plan, reports
from tests.support.working import Working, working_in

CALLS = 300


class _Timed(Working):
    """Answers at once, and notes when it was asked."""

    def __init__(self, *steps: Any) -> None:
        super().__init__(*steps, window=WINDOW)
        self.times: list[float] = []

    async def _script(self, messages: Any, info: Any) -> Any:
        self.times.append(time.perf_counter())
        async for piece in super()._script(messages, info):
            yield piece


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asked, compactions = asyncio.run(_work(Path(folder)))
    steps = [(later - earlier) * 1000 for earlier, later in pairwise(asked)]
    rows = [("calls, compactions", f"{CALLS}, {compactions}")]
    for first in range(0, CALLS, 60):
        part = steps[first : first + 60]
        rows.append(
            (f"requests {first + 1} to {first + len(part)}", f"median {median(part):.0f} ms, worst {max(part):.0f} ms")
        )
    print_table(rows)


async def _work(place: Path) -> tuple[list[float], int]:
    model = _Timed(plan(0), *reports(place / "work", CALLS))
    model.one_at_a_time = True
    environment = working_in(place / "work", place / "home", model, Unattended(), agent_max_steps=10_000)
    session = await Session.start(environment, "scripted")
    await session.submit(f"{RULE} Read all reports.")
    compactions = len(session.state.compactions)
    await session.close()
    environment.store.close()
    return model.times, compactions
