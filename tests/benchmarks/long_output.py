"""A command that prints a lot: how long it takes, and the most memory of this process meanwhile."""

import asyncio
import tempfile
import time
from pathlib import Path

from co_tui.session.approvals.questions import Unattended
from co_tui.session.memory_relief import give_back, resident_mb
from co_tui.session.session import Session
from tests.benchmarks.figures import print_table
from tests.support.working import Call, Working, working_in

MEGABYTES = 300
LINE = "a line of the output of a command that prints a lot"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(_rows(Path(folder)))
    print_table(rows)


async def _rows(home: Path) -> list[tuple[str, str]]:
    command = f"yes '{LINE}' | head -c {MEGABYTES}000000; echo; echo the NEEDLE"
    model = Working(("run_command", {"command": "echo hello"}))
    (folder := home / "folder").mkdir()
    environment = working_in(folder, home, model, Unattended(yes=True), command_sandbox="off", command_timeout_s=600)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    give_back()
    rows = [("before", f"{resident_mb():.0f} MB resident")]
    steps: list[tuple[str, Call]] = [(f"print {MEGABYTES} MB", ("run_command", {"command": command}))]
    steps += [("search it with recall", ("recall", {"query": "needle"}))]
    for label, step in steps:
        model.steps = [step]
        rows.append((label, await _measured(session)))
    [reference] = [file.stem for file in environment.paths.session(session.id).glob("outputs/main/*.txt")]
    for label, part in (("read a page", {"page": 2}), ("find a line", {"pattern": "needle"})):
        model.steps = [("read_artifact", {"reference": reference, **part})]
        rows.append((label, await _measured(session)))
    await session.close()
    environment.store.close()
    return rows


async def _measured(session: Session) -> str:
    most, began = resident_mb(), time.perf_counter()
    turn = asyncio.create_task(session.submit("go"))
    while not turn.done():
        most = max(most, resident_mb())
        await asyncio.wait({turn}, timeout=0.02)
    return f"{time.perf_counter() - began:.1f} s, at most {most:.0f} MB resident"
