"""Makes the README's pictures and film: `uv run python -m tests.demo`."""

import asyncio
import dataclasses
import os
import tempfile
import threading
from pathlib import Path
from unittest import mock

from textual.pilot import Pilot

from co_tui.ui.app import CoTui
from co_tui.ui.timeline.timeline_widget import Timeline
from tests.demo.film import Shot, film, picture
from tests.demo.frame import rows_of
from tests.demo.talk import STEPS, UNSEEN, Step, prepare
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, until

ASSETS = Path(__file__).parents[2] / "assets"
SIZE = (116, 32)


class Camera:
    """Takes pictures of a running app."""

    def __init__(self, app: CoTui, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self.shots: list[Shot] = []

    async def shoot(self, seconds: float, caption: str = "") -> Shot:
        await self.pilot.pause()
        shot = Shot(rows_of(self.app), seconds, caption)
        self.shots.append(shot)
        return shot

    async def type(self, text: str, caption: str) -> None:
        """Type it, some letters at a time."""
        for end in range(0, len(text) + 1, 6):
            self.app.chat.prompt.text = text[:end]
            await self.shoot(0.15, caption)
        self.app.chat.prompt.text = ""


async def record(camera: Camera, provider: Provider) -> Shot:
    """The whole film; returns the picture for the top."""
    app, pilot = camera.app, camera.pilot
    app.chat.prompt.cursor_blink = False
    summary_may_come = threading.Event()
    provider.summaries = [dataclasses.replace(provider.summary, until=summary_may_come)]
    await camera.shoot(1.5, "Work with agents in the terminal. See the context window; lose nothing")
    first, second, third, fourth = STEPS
    await camera.type(first.prompt, "Ask about your folder")
    await _turn(camera, provider, first)
    await camera.shoot(2.5, "The agent reads files and answers. The gauge shows the tokens")
    await _turn(camera, provider, second)
    await camera.shoot(2, "The timeline lists every turn")
    for step in (*UNSEEN, third):
        await _turn(camera, provider, step)
    await until(pilot, lambda: "summarising" in screen_text(app))
    await camera.shoot(3, "At the threshold, older messages are summarised in the background")
    summary_may_come.set()
    await _turn(camera, provider, fourth)
    await until(pilot, lambda: "◆" in screen_text(app))
    top = await camera.shoot(3, "Compacted before the next request: there is room again")
    await pilot.press("ctrl+l")
    timeline = app.chat.query_one(Timeline)
    await until(pilot, lambda: app.focused is timeline)
    newest = max(n for n, option in enumerate(timeline.options) if "◆" in str(option.prompt))
    while timeline.highlighted != newest:
        await pilot.press("up" if (timeline.highlighted or 0) > newest else "down")
    await camera.shoot(1.5, "Ctrl+L: go to the timeline")
    await pilot.press("enter")
    await until(pilot, lambda: "Replaced" in screen_text(app))
    await camera.shoot(3, "Enter: open the compaction. This is the summary the model sees")
    await pilot.press("2")
    await camera.shoot(3, "2: every message it replaced. u: undo it")
    await pilot.press("escape")
    await until(pilot, lambda: app.screen is app.chat)
    await pilot.press("f3")
    await until(pilot, lambda: "· kept" in screen_text(app))  # lines come back only when the summary came in a turn
    await camera.shoot(3.5, "F3, the lens: the next request, message by message")
    await pilot.press("tab")
    await until(pilot, lambda: "co-cli" in screen_text(app))
    await asyncio.sleep(2)
    await camera.shoot(3.5, "Tab: what each other policy would send")
    return top


async def _turn(camera: Camera, provider: Provider, step: Step) -> None:
    provider.script = list(step.replies)
    await ask(camera.app, camera.pilot, step.prompt)


async def main() -> None:
    with tempfile.TemporaryDirectory() as home, Provider().serving() as provider:
        folder = Path(home) / "shop"
        prepare(folder, provider)
        pictures: dict[bool, str] = {}
        with mock.patch.dict(os.environ, {"HOME": home}):
            for dark in (True, False):
                environ = {"CO_TUI_MODEL": "openai-chat:qwen3-coder"}
                launch = launch_for(folder / ".co-tui", provider, environ=environ)
                async with running(launch, SIZE, dark=dark) as (app, pilot):
                    camera = Camera(app, pilot)
                    ground = app.current_theme.background or "#000000"
                    top = await record(camera, provider)
                    pictures[dark] = picture(top, SIZE, ground)
                    if dark:
                        (ASSETS / "demo.svg").write_text(film(camera.shots, SIZE, ground, "#aeb6c8"))
        (ASSETS / "co-tui-dark.svg").write_text(pictures[True])
        (ASSETS / "co-tui-light.svg").write_text(pictures[False])


if __name__ == "__main__":
    asyncio.run(main())
