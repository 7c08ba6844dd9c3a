"""The session browser with few and with many sessions: its first paint, a key in the filter, the end of the list.

The best of several, in time of the processor: what else runs on the machine counts little then.
"""

import asyncio
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from co_tui.events import Event, Message, SessionStart
from co_tui.paths import path_text
from co_tui.session.launch import Launch
from co_tui.ui.app import CoTui
from co_tui.ui.sessions.sessions_screen import SessionsScreen
from tests.benchmarks.figures import print_table
from tests.benchmarks.latency import SCREEN, frame
from tests.support.screen import launch_for

FEW, MANY = 10, 10_000
REPEATS = 15
TARGET = 1.2
TOPICS = ("fix the flaky login", "payment webhooks", "explain context windows", "上传文件失败", "upgrade everything")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        homes = {size: _stored(Path(folder) / f"{size}" / "home", size) for size in (FEW, MANY)}
        few, many = (asyncio.run(_measured(home)) for home in homes.values())
    rows = [(name, f"{few[name]:.1f} ms · {many[name]:.1f} ms ({many[name] / few[name]:.2f}×)") for name in few]
    print_table([("", f"{FEW:,} sessions · {MANY:,} sessions (first paint: target {TARGET}×)"), *rows])


def _stored(home: Path, sessions: int) -> Path:
    home.parent.mkdir(parents=True)
    launch = launch_for(home)
    writer, newest = launch.store.writing(), datetime.now(UTC)
    done = [writer.import_log(_session(n, newest - timedelta(hours=n), launch)) for n in range(sessions)]
    for each in done:
        each.result()
    launch.store.close()
    return home


def _session(number: int, when: datetime, launch: Launch) -> list[Event]:
    cwd = path_text(launch.cwd) if number % 3 else "/elsewhere"
    said = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"{TOPICS[number % 5]} {number}"}]}
    facts = (SessionStart(model="openai-chat:scripted", cwd=cwd), Message(turn=1, message=said))
    return [
        Event(session_id=f"s-{number:05}", seq=seq, timestamp=when.isoformat(), fact=fact)
        for seq, fact in enumerate(facts, 1)
    ]


async def _measured(home: Path) -> dict[str, float]:
    app = CoTui(launch_for(home))
    app.load_engine = lambda: None
    async with app.run_test(size=SCREEN) as pilot:
        await pilot.pause()
        figures = {"first paint": min([await _opened(app) for _ in range(REPEATS)])}
        screen = _screen(app)
        app.push_screen(screen)
        await frame(app)
        figures["a key in the filter"] = min([await _typed(screen, app, each) for each in "flaky login 77"])
        screen.filter.value = ""
        await frame(app)
        figures["to the end of the list"] = await _moved_to_end(screen, app)
    return figures


def _screen(app: CoTui) -> SessionsScreen:
    return SessionsScreen(app.launch.store, path_text(app.launch.cwd), "", editor=app.controller.stored)


async def _opened(app: CoTui) -> float:
    start = time.process_time()
    await app.push_screen(_screen(app))
    await frame(app)
    taken = (time.process_time() - start) * 1000
    await app.pop_screen()
    return taken


async def _typed(screen: SessionsScreen, app: CoTui, key: str) -> float:
    start = time.process_time()
    screen.filter.insert_text_at_cursor(key)
    await frame(app)
    return (time.process_time() - start) * 1000


async def _moved_to_end(screen: SessionsScreen, app: CoTui) -> float:
    start = time.process_time()
    screen.action_end()
    await frame(app)
    return (time.process_time() - start) * 1000
