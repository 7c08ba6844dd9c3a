"""Measuring and printing."""

import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

MOST_REPEATS = 1_000_000


def repeats(usual: int) -> int:
    """How often something is measured: once or twice where it only has to run."""
    return min(usual, MOST_REPEATS)


def times_ms(work: Callable[[], object], repeat: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    taken = []
    for _ in range(repeats(repeat)):
        start = clock()
        work()
        taken.append((clock() - start) * 1000)
    return taken


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def command_ms(command: Sequence[str], repeat: int, cwd: Path | None = None) -> float:
    """Median wall time of a whole process, after one run to warm the caches."""

    def run() -> None:
        subprocess.run(command, check=True, capture_output=True, cwd=cwd)

    run()
    return median(times_ms(run, repeat))


def print_table(rows: Sequence[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    for name, figure in rows:
        print(f"  {name.ljust(width)}  {figure}")
