"""The ledger of names and the journal: what a new step costs, what writing costs, and how much memory they take."""

import random
import time
import tracemalloc
from collections.abc import Callable

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart

from co_tui.context.journal.journal import Journal, JournalTask, appended, rewritten
from co_tui.context.journal.recollection import recollect
from co_tui.context.journal.sources import Sources
from co_tui.context.journal.work_record import WorkRecord
from co_tui.context.memory.ledger import Ledger
from tests.benchmarks.figures import median, print_table

SIZES = (100, 1_000, 10_000)
TAIL, LEAVING = 20, 60
JOURNAL_TOKENS, RATION_TOKENS, NOTE_TOKENS = 6_000, 2_000, 1_500
"""Of a window of 32,000 tokens, about."""


def step(n: int, draw: random.Random) -> list[ModelMessage]:
    """Some names are new, most come again, as in real work."""
    names = [f"{draw.choice(WORDS)}_{draw.choice(WORDS)}_{draw.randrange(40)}" for _ in range(12)]
    result = "\n".join(f"{k}: {name} = {draw.choice(WORDS)}.{draw.choice(WORDS)}({n})" for k, name in enumerate(names))
    call = ToolCallPart("read", {"path": f"src/{draw.choice(WORDS)}_{draw.randrange(30)}.py"}, tool_call_id=f"c{n}")
    return [
        ModelResponse(parts=[TextPart(f"I look at {names[0]} again."), call]),
        ModelRequest(parts=[ToolReturnPart("read", result, tool_call_id=f"c{n}")]),
    ]


WORDS = ("order", "price", "cart", "total", "shop", "view", "cache", "table", "query", "field", "model", "index")


def timed_ms(work: Callable[[], object], times: int = 7) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1000)
    return median(taken)


def figures(size: int) -> str:
    draw = random.Random(size)
    messages = [message for n in range(size // 2) for message in step(n, draw)]
    tracemalloc.start()
    ledger, work = Ledger(), WorkRecord()
    for message in messages:
        ledger.add(message)
        work.add(message)
    held_mb = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    sources = Sources(
        ledger, work, frozenset(range(size - TAIL)), lambda numbers: [messages[number] for number in numbers]
    )
    task = JournalTask(sources, Journal(), LEAVING, JOURNAL_TOKENS, RATION_TOKENS)
    append_ms = timed_ms(lambda: appended(task))
    rewrite_ms = timed_ms(lambda: rewritten(task, JOURNAL_TOKENS, ""))
    note_ms = timed_ms(lambda: recollect(sources, messages[-TAIL:], NOTE_TOKENS))
    new = iter([message for n in range(50) for message in step(size + n, draw)])

    def add_step() -> None:
        message = next(new)
        ledger.add(message)
        work.add(message)

    step_ms = 2 * timed_ms(add_step, times=40)
    return (
        f"a new step {step_ms:.2f} ms, a journal appended to {append_ms:.1f} ms, written anew {rewrite_ms:.1f} ms, "
        f"lines that come back {note_ms:.1f} ms, "
        f"{len(ledger.details):,} names in {held_mb:.1f} MB"
    )


def main() -> None:
    print_table([(f"{size:,} messages", figures(size)) for size in SIZES])
