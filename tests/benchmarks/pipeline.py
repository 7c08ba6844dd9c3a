"""The context pipeline: what the first and the next request cost, at growing lengths."""

import time

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.context.count import Scaffold, Window
from co_tui.context.policy import policy_of
from co_tui.context.request import Governor
from co_tui.settings import Settings
from tests.benchmarks.figures import median, print_table

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
    print_table(rows)
