"""How long the screen takes for what people do, in sessions of three lengths: the figures should be the same.

`ACTIONS` is the list of what is measured; a screen that is opened by a command is one row in `OPENED`.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from textual import events
from textual.geometry import Size

from co_tui.events import Message, SessionStart
from co_tui.session.slash import typed_command
from co_tui.store.port import Writing
from co_tui.ui.app import CoTui
from co_tui.ui.heavy_imports import collect_rarely, freeze_loaded
from co_tui.ui.lens.lens_screen import LensScreen
from co_tui.ui.widgets.line_list import LineList
from tests.benchmarks.figures import median, percentile, repeats
from tests.support.provider import Provider
from tests.support.screen import launch_for, until

SIZES = (10, 1_000, 10_000)
SCREEN = (120, 40)
OPENED = ("lens", "sessions", "settings", "help", "pin")
MIXED = "## A heading\n\nSome **bold** words and `code` in a paragraph that wraps over the line.\n\n- one\n- two\n\n"


class Taken(NamedTuple):
    """How long something took: until it was seen, and of that the work of this process (other programs may be busy)."""

    seen_ms: float
    worked_ms: float


class Stopwatch:
    def __init__(self) -> None:
        self._seen, self._worked = time.perf_counter(), time.process_time()

    def taken(self) -> Taken:
        return Taken((time.perf_counter() - self._seen) * 1000, (time.process_time() - self._worked) * 1000)


Action = Callable[[CoTui], Awaitable[list[Taken]]]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Provider().serving() as provider:
        columns = [asyncio.run(_measured(stored(Path(folder) / f"home{size}", size), provider)) for size in SIZES]
    print("p50 / p95 in ms until it is seen; in brackets the same for the work of this process alone\n")
    print("  " + "messages".ljust(18) + "".join(f"{size:>28,}" for size in SIZES))
    for name in ACTIONS:
        print("  " + name.ljust(18) + "".join(f"{column.get(name, '–'):>28}" for column in columns))


def stored(home: Path, messages: int) -> Path:
    """A home with one session of that many messages."""
    launch = launch_for(home)
    store_talk(launch.store.writing(), "runtime", "openai-chat:scripted", launch.cwd, messages)
    launch.store.close()
    return home


def store_talk(writer: Writing, session_id: str, model: str, cwd: Path, messages: int) -> None:
    writer.append(session_id, [SessionStart(model=model, cwd=str(cwd))]).result()
    facts = []
    for n in range(messages // 2):
        asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"Question {n}? " * (1 + n % 9)}]}
        reply = {"kind": "response", "parts": [{"part_kind": "text", "content": MIXED * (1 + n % 4)}]}
        facts += [Message(turn=n + 1, message=asked), Message(turn=n + 1, message=reply)]
    writer.append(session_id, facts).result()


async def _measured(home: Path, provider: Provider) -> dict[str, str]:
    """The session opened as a user does, with its engine; what is missing in this version is left out."""
    app = CoTui(launch_for(home, provider, session_id="runtime"))
    collect_rarely()
    figures = {}
    async with app.run_test(size=SCREEN) as pilot:
        await until(pilot, lambda: app.controller.idle and not app.controller.opening, seconds=120)
        freeze_loaded()
        for name, action in ACTIONS.items():
            if taken := await action(app):
                figures[name] = f"{_spread([each.seen_ms for each in taken])} ({_spread([e.worked_ms for e in taken])})"
        await app.action_quit()
    return figures


def _spread(values: list[float]) -> str:
    return f"{median(values):.0f} / {percentile(values, 0.95):.0f}"


async def frame(app: CoTui) -> None:
    """Until what is due to be drawn has been drawn."""
    drawn = asyncio.Event()
    app.screen.call_after_refresh(drawn.set)
    await drawn.wait()


async def keys(app: CoTui, count: int = 60, pause_s: float = 0.0) -> list[Taken]:
    """From a key's arrival in the app to the frame that shows it."""
    taken = []
    for n in range(repeats(count)):
        await asyncio.sleep(pause_s)
        length = len(app.chat.prompt.text)
        watch = Stopwatch()
        app.post_message(events.Key("x", "x"))
        while len(app.chat.prompt.text) == length:
            await asyncio.sleep(0)
        await frame(app)
        taken.append(watch.taken())
        if n % 20 == 19:
            app.chat.prompt.text = ""
            await frame(app)
    return taken


async def _pages(app: CoTui) -> list[Taken]:
    taken = []
    for _ in range(repeats(60)):
        if app.chat.transcript.scroll_y <= 0:
            app.chat.transcript.follow_end()
            await frame(app)
        watch = Stopwatch()
        app.chat.action_page(-1)
        await frame(app)
        taken.append(watch.taken())
    app.chat.transcript.follow_end()
    await frame(app)
    return taken


async def _resizes(app: CoTui) -> list[Taken]:
    """The width changes by a column or by a half, as when a window is dragged or a pane opens."""
    taken = []
    for width, height in [(119, 40), (80, 30), (200, 60), SCREEN] * 5:
        watch = Stopwatch()
        driver = app._driver
        assert driver is not None
        driver._size = (width, height)
        app.post_message(events.Resize(Size(width, height), Size(width, height)))
        while app.chat.prompt.outer_size.width != width:
            await asyncio.sleep(0)
        await frame(app)
        taken.append(watch.taken())
    return taken


def _opening(name: str) -> Action:
    """From a command to the first frame of the screen it opens."""

    async def opening(app: CoTui) -> list[Taken]:
        taken: list[Taken] = []
        for _ in range(repeats(5) if typed_command.find(name) is not None else 0):
            watch = Stopwatch()
            app.run_command(name, "")
            while app.screen is app.chat:
                await asyncio.sleep(0)
            await frame(app)
            taken.append(watch.taken())
            app.pop_screen()
            await frame(app)
        return taken

    return opening


async def _keys_beside(app: CoTui) -> list[Taken]:
    """A key in the lens while it works out what each policy would send."""
    app.run_command("lens", "")
    while not isinstance(app.screen, LensScreen):
        await asyncio.sleep(0)
    lens = app.screen
    while not lens.is_mounted:
        await asyncio.sleep(0)
    lines = lens.query_one(LineList)
    while not len(lines):
        await asyncio.sleep(0.01)
    lens.action_turn(1)
    taken = []
    for _ in range(repeats(30)):
        chosen = lines.chosen
        watch = Stopwatch()
        app.post_message(events.Key("up" if chosen else "down", None))
        while lines.chosen == chosen:
            await asyncio.sleep(0)
        await frame(app)
        taken.append(watch.taken())
    app.pop_screen()
    await frame(app)
    return taken


ACTIONS: dict[str, Action] = {
    "key to frame": keys,
    "page up": _pages,
    "resize": _resizes,
    **{f"open /{name}": _opening(name) for name in OPENED},
    "key, lens at work": _keys_beside,
}
