"""Keys that are read at once act in the order they were typed: a dialog answers a burst as it answers slow typing."""

from pathlib import Path
from typing import Any

from textual import events
from textual.widgets import TextArea

from co_tui.ui.app import CoTui
from co_tui.ui.dialogs.simple_dialogs import EditScreen
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, until


async def burst(app: CoTui, keys: list[str]) -> None:
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def test_edit(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), ready=False) as (app, pilot):
        got: list[Any] = []
        app.push_screen(EditScreen("t", ""), got.append)
        await until(pilot, lambda: isinstance(app.focused, TextArea))
        await burst(app, [*"hello", "ctrl+s"])
        await until(pilot, lambda: got)
        assert got == ["hello"]
