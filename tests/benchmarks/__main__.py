"""`uv run python -m tests.benchmarks [NAME …]`: prints the figures as tables."""

import argparse
import inspect
import sys

from tests.benchmarks import (
    app,
    approvals,
    browser,
    compaction,
    counting,
    database,
    day,
    foundation,
    growth,
    hostile,
    lab,
    latency,
    ledger,
    long_output,
    memory,
    network,
    pipeline,
    resizing,
    sessions,
    small_windows,
    snapshots,
    streaming,
    work,
)

BENCHMARKS = {
    "foundation": foundation.main,
    "app": app.main,
    "browser": browser.main,
    "latency": latency.main,
    "pipeline": pipeline.main,
    "compaction": compaction.main,
    "counting": counting.main,
    "memory": memory.main,
    "long_output": long_output.main,
    "work": work.main,
    "day": day.main,
    "ledger": ledger.main,
    "growth": growth.main,
    "hostile": hostile.main,
    "lab": lab.main,
    "sessions": sessions.main,
    "database": database.main,
    "network": network.main,
    "small_windows": small_windows.main,
    "approvals": approvals.main,
    "snapshots": snapshots.main,
    "streaming": streaming.main,
    "resizing": resizing.main,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME")
    for size in ("sessions", "messages"):
        parser.add_argument(f"--{size}", type=int, default=0, help="for those that take it")
    options = vars(parser.parse_args())
    for name in options.pop("names") or BENCHMARKS:
        if name not in BENCHMARKS:
            sys.exit(f"There is no benchmark {name!r}; one of {', '.join(BENCHMARKS)}.")
        print(f"## {name}\n")
        benchmark = BENCHMARKS[name]
        taken = inspect.signature(benchmark).parameters
        benchmark(**{size: number for size, number in options.items() if size in taken})
        print()


if __name__ == "__main__":
    main()
