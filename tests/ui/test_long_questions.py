"""Questions with a long text on a small screen: the text scrolls, and the choices stay in sight."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen
from textual.widgets import Input

from co_tui.ui.app import CoTui
from co_tui.ui.commands.mcp_editor import McpEditor
from co_tui.ui.dialogs.simple_dialogs import ConfirmScreen
from co_tui.ui.settings.mcp_screen import AddServerScreen
from tests.support.long_run import also_in_a_long_run
from tests.support.screen import launch_for, running, screen_text, until

WORDS = " ".join(f"--option-{n}=value" for n in range(60)) + " the-very-end"


def confirming(_: CoTui) -> Screen[bool]:
    return ConfirmScreen(WORDS)


def adding(app: CoTui) -> Screen[str]:
    return AddServerScreen(McpEditor(app._commands))


@pytest.mark.parametrize(
    ("make", "choices", "size"),
    also_in_a_long_run(
        [(confirming, ("y Yes", "n No"), (60, 16))],
        [(adding, ("Add and", "Do not add", "Esc Back"), (43, 16))],
    ),
)
async def test_the_text_scrolls_and_the_choices_stay_in_sight(
    home: Path, make: Callable[[CoTui], Screen[Any]], choices: tuple[str, ...], size: tuple[int, int]
) -> None:
    async with running(launch_for(home), size, ready=False) as (app, pilot):
        app.push_screen(make(app))
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen | AddServerScreen))
        for written in ("odd", f"sh {WORDS}") if make is adding else ():
            app.screen.query_one(Input).value = written
            await pilot.press("enter")
        await until(
            pilot, lambda: all(each in screen_text(app) for each in choices) and "option-3=" in screen_text(app)
        )
        assert "the-very-end" not in screen_text(app)
        for there, back in (("end", "home"), ("pagedown", "pageup")):
            await pilot.press(*[there] * 12)
            await until(pilot, lambda: "the-very-end" in screen_text(app))
            assert all(each in screen_text(app) for each in choices)
            await pilot.press(*[back] * 12)
            await until(pilot, lambda: "option-3=" in screen_text(app))
        if make is confirming:
            await pilot.press(*["down"] * 60)
            await until(pilot, lambda: "the-very-end" in screen_text(app))
        await pilot.press("escape")
