"""Keys that are read at once act in the order they were typed: a dialog answers a burst as it answers slow typing."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, OptionList, TextArea

from co_tui.store.notes.memory_text import MemoryEntry
from co_tui.ui.app import CoTui
from co_tui.ui.dialogs.choose_message import ChooseMessageScreen, Row
from co_tui.ui.dialogs.simple_dialogs import EditScreen
from co_tui.ui.memory.memory_screen import MemoryScreen
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
