"""How long the screen is blocked by a server over a slow network: the longest pause of the event loop in each action.

A pause is also Python's own work, and what else runs on the machine: SQLite shows how much that is. Waits for the
server in the thread that answers keys are counted; none is right.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from textual import events

from co_tui.session.launch import Launch
from co_tui.store.port import Store
from co_tui.store.sqlite.store import SqliteStore
from co_tui.ui.app import CoTui
from co_tui.ui.heavy_imports import collect_rarely, freeze_loaded
from co_tui.ui.sessions.sessions_screen import SessionsScreen
from tests.benchmarks.figures import median, percentile, print_table, repeats
from tests.benchmarks.latency import SCREEN, frame, keys, store_talk
from tests.support.delayed_connections import delayed_connections
from tests.support.network_waits import recorded_network_waits
from tests.support.postgres import postgres_server, synced_store
from tests.support.provider import Provider
from tests.support.screen import launch_for
from tests.support.waiting import until

ONE_WAY_MS = (0, 100, 500)
MESSAGES = 1_000
BEAT_S = 0.002
ROUNDS = 2


class Pauses:
    """The longest time between two turns of the event loop."""

    def __init__(self) -> None:
        self.longest_ms = 0.0

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        self.longest_ms, beating = 0.0, asyncio.create_task(self._beat())
        try:
            yield
            await asyncio.sleep(0)
        finally:
            beating.cancel()

    async def _beat(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(BEAT_S)
            now = time.perf_counter()
            self.longest_ms, last = max(self.longest_ms, (now - last - BEAT_S) * 1000), now


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Provider().serving() as provider:
        launch = launch_for(Path(folder) / "sqlite" / "home", provider)
        columns = {"no server": asyncio.run(_measured(_stored(launch, partial(SqliteStore, launch.paths))))}
        server = postgres_server()
        with delayed_connections(server.socket) as way:
            for milliseconds in ONE_WAY_MS:
                way.delay_s = 0
                launch = launch_for(Path(folder) / f"{milliseconds}" / "home", provider)
                url = way.url(server.new_database().split("?")[0].rpartition("/")[2])
                opened = partial(synced_store, Path(folder) / f"{milliseconds}" / "home", url)
                launch = _stored(launch.but(store=opened()), opened)
                way.delay_s = milliseconds / 1000
                columns[f"{milliseconds} ms each way"] = asyncio.run(_measured(launch))
    for name, figures in columns.items():
        print(f"\n{name}: longest pause of the event loop in ms; for typing p50 / p95 from key to frame")
        print_table(list(figures.items()))


def _stored(launch: Launch, opened: Callable[[], Store]) -> Launch:
    """Three sessions, one of them long."""
    for session_id, messages in (("long", MESSAGES), ("short", 2), ("other", 2)):
        store_talk(launch.store.writing(), session_id, "openai-chat:scripted", launch.cwd, messages)
    launch.store.close()
    return launch.but(store=opened(), session_id="long")


async def _measured(launch: Launch) -> dict[str, str]:
    app, pauses = CoTui(launch), Pauses()
    collect_rarely()
    figures: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        waits = recorded_network_waits(patch)
        await _measure(app, pauses, figures)
    figures["waits for the server in the screen's thread"] = f"{len(waits)}"
    return figures


async def _measure(app: CoTui, pauses: Pauses, figures: dict[str, str]) -> None:
    async with app.run_test(size=SCREEN):
        async with pauses.watched():
            await until(lambda: app.controller.session is not None and not app.controller.opening)
        figures["start with a session"] = f"{pauses.longest_ms:.0f}"
        freeze_loaded()
        taken = [each.seen_ms for each in await keys(app)]
        figures["typing"] = f"{median(taken):.0f} / {percentile(taken, 0.95):.0f}"
        for name, action in ACTIONS.items():
            longest = []
            for _ in range(repeats(ROUNDS)):
                async with pauses.watched():
                    await action(app)
                longest.append(pauses.longest_ms)
            figures[name] = f"{median(longest):.0f}"
        async with pauses.watched():
            await app.action_quit()
        figures["quit"] = f"{pauses.longest_ms:.0f}"


def _browser(app: CoTui) -> SessionsScreen:
    assert isinstance(app.screen, SessionsScreen)
    return app.screen


async def _open_browser(app: CoTui) -> None:
    app.run_command("sessions", "")
    await until(lambda: isinstance(app.screen, SessionsScreen) and app.screen.is_mounted)
    await until(lambda: _browser(app).sessions.row is not None)


async def _browse(app: CoTui) -> None:
    await _open_browser(app)
    app.screen.post_message(events.Key("escape", None))
    await until(lambda: app.screen is app.chat)


async def _move(app: CoTui) -> None:
    await _open_browser(app)
    for step in (1, 1, -1, -1):
        _browser(app).action_move(step)
        await asyncio.sleep(0.1)
    _browser(app).action_leave()
    await until(lambda: app.screen is app.chat)


async def _search(app: CoTui) -> None:
    await _open_browser(app)
    for letter in "question":
        _browser(app).filter.insert_text_at_cursor(letter)
        await frame(app)
    await until(lambda: _browser(app)._query.found is not None)
    _browser(app).action_leave()
    await until(lambda: app.screen is app.chat)


async def _resume(app: CoTui) -> None:
    for session_id in ("short", "long"):
        app.run_command("resume", session_id)
        await until(lambda wanted=session_id: app.controller.session and app.controller.session.id == wanted)
        await frame(app)


async def _fork(app: CoTui) -> None:
    before = app.controller.session_id
    app.run_command("fork", "")
    await until(lambda: app.controller.session and app.controller.session.id != before)
    app.run_command("resume", "long")
    await until(lambda: app.controller.session and app.controller.session.id == "long")


ACTIONS: dict[str, Callable[[CoTui], Awaitable[None]]] = {
    "open the browser": _browse,
    "move in it": _move,
    "filter and search": _search,
    "resume two sessions": _resume,
    "fork": _fork,
}
