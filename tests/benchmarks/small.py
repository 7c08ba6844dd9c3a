"""How small each benchmark is run in the suite, which shows only that it still runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

SMALL: Final[Mapping[str, Mapping[str, Any]]] = {
    "foundation": {"SESSIONS": 10, "MESSAGES": 10},
    "app": {"LAUNCHES": 1, "SIZES": (10,), "STREAMED_CHARS": 400},
    "browser": {"FEW": 2, "MANY": 5, "REPEATS": 1},
    "latency": {"SIZES": (10,)},
    "pipeline": {"SIZES": (10,)},
    "compaction": {"TURNS": 3, "CANCELS": 1},
    "counting": {"RATIOS": (1.0,), "HIDDEN_TOKENS": (0,), "DATA": Path("nowhere")},
    "memory": {"TURNS": 2, "WORDS": 100},
    "long_output": {"MEGABYTES": 1},
    "work": {"CALLS": 4},
    "day": {"TURNS": 2, "MARKS": (2,)},
    "ledger": {"SIZES": (100,)},
    "growth": {"STEPS": 10, "FIFTH": 2, "WINDOWS": (8_000,)},
    "hostile": {"CHARS": 100, "REPEATS": 1},
    "lab": {"WINDOWS": (8_000,), "MOST": 1, "POLICIES": ("balanced",)},
    "sessions": {"SESSIONS": 20, "MESSAGES_EACH": 8, "FEW": 2},
    "database": {"SESSIONS": 10, "MESSAGES": 100, "ROUND_TRIP_MS": 0},
    "network": {"ONE_WAY_MS": (0,), "MESSAGES": 10, "ROUNDS": 1},
    "small_windows": {"TURNS": 2, "WINDOWS": (8_000,), "RATIOS": (1.0,)},
    "approvals": {"MOST": 1},
    "snapshots": {"FILES": 20, "SETTLED_S": 0.0},
    "streaming": {"chunks": 20, "per_s": 0, "kinds": ("prose",), "loads": (0,), "rounds": 1},
    "resizing": {"resizes": 2, "loads": (0,)},
}
"""By benchmark: constants of its module in capitals, and parameters of its `main`."""
