"""200 turns in windows of 8k, 16k and 32k, with providers that count 1 and 2.5 times our estimate (C15).

`CO_TUI_TURNS=20` makes it a small run.
"""

import asyncio
import os
import tempfile
from itertools import pairwise
from pathlib import Path

from co_tui.events import CompactionComplete, UsageInfo
from tests.support.small_windows import (
    PRICE_CACHED,
    PRICE_INPUT,
    PRICE_OUTPUT,
    SmallWindowTalk,
    small_window_talk,
)

TURNS = int(os.environ.get("CO_TUI_TURNS", "200"))
WINDOWS, RATIOS = (8_000, 16_000, 32_000), (1.0, 2.5)
HEADER = (
    "window", "counts", "compactions", "below 0.8", "two in a row", "unused", "waits", "truncated", "failed turns",
    "notices", "summary tokens", "price", "saved tokens", "price", "cache lost", "really",
)  # fmt: skip


def figures(talk: SmallWindowTalk, ratio: float) -> tuple[str, ...]:
    successes, above = talk.successes, talk.above
    input_tokens = sum(done.usage.get("input_tokens", 0) for done in talk.compactions)
    output_tokens = sum(done.usage.get("output_tokens", 0) for done in talk.compactions)
    summaries = (input_tokens * PRICE_INPUT + output_tokens * PRICE_OUTPUT) / 1e6
    saved = saved_tokens(talk)
    lost = sum(done.cache_lost_tokens for done in successes)
    return (
        f"{talk.window_tokens:,}",
        f"{ratio:g}x",
        str(len(successes)),
        f"{len(above) - sum(above)}",
        f"{sum(a and b for a, b in pairwise(above))}",
        str(talk.thrown_away),
        str(talk.waits),
        str(talk.truncations),
        str(talk.failed_turns),
        str(len(talk.notices)),
        f"{input_tokens + output_tokens:,}",
        f"${summaries:.2f}",
        f"{saved:,}",
        f"${saved * PRICE_CACHED / 1e6:.2f}",
        f"{lost:,}",
        f"{really_lost(talk):,}",
    )


def saved_tokens(talk: SmallWindowTalk) -> int:
    """What later requests did not have to carry: each success, for as many requests as came until the next one."""
    total = held = 0
    for event in talk.events:
        fact = event.fact
        if isinstance(fact, CompactionComplete) and fact.success:
            held = fact.tokens_removed
        elif isinstance(fact, UsageInfo) and fact.input_tokens:
            total += held
    return total


def really_lost(talk: SmallWindowTalk) -> int:
    """What the provider read less from its cache for the first request after a compaction than for the one before."""
    total = before = 0
    is_rewritten = False
    for event in talk.events:
        fact = event.fact
        if isinstance(fact, CompactionComplete) and fact.success:
            is_rewritten = True
        elif isinstance(fact, UsageInfo) and fact.input_tokens:
            read = fact.cached_tokens or 0
            total += max(0, before - read) if is_rewritten else 0
            before, is_rewritten = read, False
    return total


async def rows() -> list[tuple[str, ...]]:
    found = []
    for window in WINDOWS:
        for ratio in RATIOS:
            with tempfile.TemporaryDirectory() as folder:
                found.append(figures(await small_window_talk(Path(folder), window, ratio, TURNS), ratio))
                print("  …", " ".join(found[-1]), flush=True)
    return found


def main() -> None:
    table = [HEADER, *asyncio.run(rows())]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADER))]
    for row in table:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
