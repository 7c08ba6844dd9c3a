"""Our figures against providers that count otherwise than we do, and against what real ones reported (G5, G8, I6)."""

import asyncio
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.figures import print_table
from tests.lab.test_lab import errors_on_real_counts
from tests.support.counted import WINDOW_TOKENS, Talk, everything, freed
from tests.support.counts import Counts
from tests.support.provider import Provider
from tests.support.shared import DATA

RATIOS, HIDDEN_TOKENS = (0.5, 1.0, 1.7, 2.5), (0, 900)
LEARNT_AFTER = 2


class Way(NamedTuple):
    counts: Counts
    resumes: bool

    @property
    def name(self) -> str:
        how = "another process each turn" if self.resumes else "one process"
        return f"{self.counts.ratio} times, {self.counts.hidden_tokens} hidden, {how}"


async def row(way: Way) -> str:
    with tempfile.TemporaryDirectory() as folder, Provider().serving() as provider:
        talk = Talk(Path(folder), provider, way.counts, resumes=way.resumes)
        try:
            await everything(talk)
        finally:
            await talk.close()
        longest = max(provider.counted)
    with tempfile.TemporaryDirectory() as folder, Provider().serving() as provider:
        other = Talk(Path(folder), provider, way.counts)
        try:
            said, true = await freed(other)
        finally:
            await other.close()
    known = talk.seen[LEARNT_AFTER:]
    errors, system = [each.error for each in known], [each.system_tokens for each in known]
    done = sum(each.success for each in talk.compactions)
    return (
        f"{len(known)} requests {min(errors):+.1%} to {max(errors):+.1%}, system {min(system):,} to {max(system):,}, "
        f"longest {longest / WINDOW_TOKENS:.0%}, compactions {done} of {len(talk.compactions)}, "
        f"freed {said / true - 1:+.1%} of what is true"
    )


def main() -> None:
    print(
        f"  What each request was measured at before it was sent, against what its provider then said, after "
        f"{LEARNT_AFTER} replies:\n  short turns, pastes, tool loops, rewind, undo, clear, compactions; window "
        f"{WINDOW_TOKENS:,}. Targets: within 5 %, system constant\n  within 10 %, nothing over the window, freed "
        "within 10 %.\n"
    )
    ways = [Way(Counts(ratio, hidden), resumes)
            for ratio in RATIOS for hidden in HIDDEN_TOKENS for resumes in (False, True)]  # fmt: skip
    rows = [(way.name, asyncio.run(row(way))) for way in ways]
    if DATA.is_dir():
        errors = errors_on_real_counts()
        middle = sorted(map(abs, errors))[len(errors) // 2]
        told = f"{len(errors)} requests, median {middle:.2%}, worst {min(errors):+.1%} to {max(errors):+.1%}"
        rows.append(("what real providers reported", told))
    print_table(rows)
