"""`uv run python -m tests.benchmarks [NAME …]`: prints the figures as tables."""

import sys

from tests.benchmarks import (
    app,
    approvals,
    browser,
    compaction,
    counting,
    day,
    foundation,
    growth,
    lab,
    latency,
    ledger,
    memory,
    pipeline,
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
    "work": work.main,
    "day": day.main,
    "ledger": ledger.main,
    "growth": growth.main,
    "lab": lab.main,
    "sessions": sessions.main,
    "small_windows": small_windows.main,
    "approvals": approvals.main,
    "snapshots": snapshots.main,
    "streaming": streaming.main,
}


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        if name not in BENCHMARKS:
            sys.exit(f"There is no benchmark {name!r}; one of {', '.join(BENCHMARKS)}.")
        print(f"## {name}\n")
        BENCHMARKS[name]()
        print()


if __name__ == "__main__":
    main()
