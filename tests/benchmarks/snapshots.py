"""Snapshots of a folder with 10,000 files: how long each takes, and how long a key would wait meanwhile."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from co_tui.session.snapshots.folder_snapshots import SETTLED_NS, FolderSnapshots
from co_tui.session.snapshots.storage import size_of
from co_tui.ui.heavy_imports import collect_rarely
from tests.benchmarks.figures import print_table
from tests.support.kept_folders import PATH

FILES, IN_A_FOLDER = 10_000, 20
SETTLED_S = SETTLED_NS / 1e9 + 0.1
"""How long a file must be unchanged to count as settled."""


def _fill(folder: Path) -> None:
    for number in range(FILES):
        file = folder / f"d{number // 500}" / f"e{number // IN_A_FOLDER}" / f"f{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"line {number}\n" * 60)


async def _waits(stop: asyncio.Event) -> list[float]:
    """How much later than asked for the loop runs, as a key would feel it."""
    late = []
    while not stop.is_set():
        due = time.perf_counter() + 0.002
        await asyncio.sleep(0.002)
        late.append((time.perf_counter() - due) * 1000)
    return late


async def _timed(work: Callable[[], object]) -> tuple[float, list[float]]:
    stop = asyncio.Event()
    waiting = asyncio.create_task(_waits(stop))
    began = time.perf_counter()
    await asyncio.to_thread(work)
    took = (time.perf_counter() - began) * 1000
    stop.set()
    return took, await waiting


async def _measure(place: Path, path: str) -> list[tuple[str, str]]:
    folder = place / "folder"
    snapshots = FolderSnapshots(place / "kept", folder, path, ())
    fresh = FolderSnapshots(place / "kept", folder, path, ())
    steps: list[tuple[str, Callable[[], object]]] = [
        ("first", snapshots.take),
        ("unchanged", snapshots.take),
        ("one change", lambda: [(folder / "d0/e0/f0.py").write_text("changed\n"), snapshots.take()]),
        ("unchanged, in a new process", lambda: fresh.take(snapshots.last.id if snapshots.last else "")),
    ]
    rows = []
    for name, step in steps:
        took, late = await _timed(step)
        usual, worst = sorted(late)[len(late) * 99 // 100], max(late)
        rows.append(
            (name, f"{took:,.0f} ms; 99 of 100 keys wait less than {max(usual, 1):.0f} ms, all than {worst:.0f} ms")
        )
    return [*rows, ("on disk", f"{size_of(place / 'kept') / 1e6:.1f} MB")]


def main() -> None:
    collect_rarely()  # as in the app
    for name, path in (("with git", PATH), ("without git", "/nonexistent")):
        with tempfile.TemporaryDirectory() as place:
            _fill(Path(place, "folder"))
            time.sleep(SETTLED_S)
            print(f"{FILES:,} files, {name}\n")
            print_table(asyncio.run(_measure(Path(place), path)))
            print()
