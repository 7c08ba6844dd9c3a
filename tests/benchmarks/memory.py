"""What compacting for want of memory lets go of: the memory of the process before and after."""

import asyncio
import random
import tempfile
from pathlib import Path

from co_tui.session.memory_relief import give_back, resident_mb
from co_tui.session.session import Session
from tests.benchmarks.figures import print_table
from tests.support.environments import ScriptedModel, environment_for, says

TURNS = 150
WORDS = 30_000
"""In each prompt: about 200,000 characters."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        empty, full, left, said = asyncio.run(_figures(Path(folder)))
    print_table(
        [
            ("said", f"{said / 1e6:.0f} million characters in {TURNS} turns"),
            ("a session with one short turn", f"{empty:.0f} MB"),
            ("with all that was said", f"{full:.0f} MB"),
            ("after compacting for want of memory", f"{left:.0f} MB"),
            ("of what the conversation took, let go", f"{(full - left) / max(1.0, full - empty):.0%}"),
        ]
    )


async def _figures(home: Path) -> tuple[float, float, float, int]:
    chance = random.Random(11)
    vocabulary = [f"name_{n:x}" for n in range(5_000)]
    environment = environment_for(
        home, ScriptedModel(says("An answer."), window=1_000_000_000), memory_limit_mb=0, compaction="background"
    )
    session = await Session.start(environment, "scripted")
    for _ in range(2):
        await session.submit(" ".join(vocabulary))
    await session.compact()  # what only loads once is not the conversation's
    give_back()
    empty = resident_mb()
    said = 0
    for _ in range(TURNS):
        prompt = " ".join(chance.choices(vocabulary, k=WORDS))
        said += len(prompt)
        await session.submit(prompt)
    give_back()
    full = resident_mb()
    await session.switcher.apply_settings(session.settings.but(memory_limit_mb=1))
    await session.submit("and now?")
    left = resident_mb()
    await session.close()
    environment.store.close()
    return empty, full, left, said
