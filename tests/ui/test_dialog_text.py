"""What is written or selected in a dialog is neither lost nor stops a turn."""

from pathlib import Path
from typing import Any

from textual.widgets import Input, TextArea

from co_tui.paths import locate
from co_tui.ui.app import CoTui
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.dialogs.simple_dialogs import AskScreen, EditScreen
from co_tui.ui.leaving import UNSAVED_TEXT
from co_tui.ui.models.login_screen import KeyScreen
from co_tui.ui.settings.settings_screen import SettingsScreen
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, type_text, until
from tests.support.waiting import HANGING_S


def told(app: CoTui) -> str:
    return " ".join(each.message for each in app._notifications)


async def never(_: str) -> Any:
    raise AssertionError


async def test_ctrl_c_copies_what_is_selected_in_a_dialog_and_stops_no_turn(home: Path, provider: Provider) -> None:
    provider.default = Reply(wait_s=HANGING_S)
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("go")
        await until(pilot, lambda: app.controller.busy)
        for screen, copied in (
            (EditScreen("Edit", "some words"), "some words"),
            (AskScreen("Ask", "a name"), "a name"),
            (KeyScreen("openai", "api.openai.com", never), ""),
        ):
            app.copy_to_clipboard("")
            app.push_screen(screen)
            await until(pilot, lambda: isinstance(app.focused, Input | TextArea))
            if not copied:
                await type_text(pilot, "sk-secret")
            await pilot.press("home", "shift+end")
            assert app.focused is not None and app.focused.selected_text in ("some words", "a name", "sk-secret")
            await pilot.press("ctrl+c")
            await until(pilot, lambda copied=copied: app.clipboard == copied)
            assert app.controller.busy and app.screen is screen and "sk-secret" not in app.clipboard
            screen.withdraw()
            await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("escape")
        await until(pilot, lambda: app.controller.idle)


async def test_a_text_that_is_written_in_a_dialog_counts_as_unsaved(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        screen = EditScreen("Edit", "some words")
        app.push_screen(screen)
        await until(pilot, lambda: isinstance(app.focused, TextArea))
        await pilot.press("x", "ctrl+c")
        await until(pilot, lambda: UNSAVED_TEXT in told(app))
        assert "Everything is saved" not in told(app) and app.is_running
        app.clear_notifications()
        await pilot.press("backspace")
        await pilot.press("delete" if screen.query_one(TextArea).text != "some words" else "ctrl+c")
        await until(pilot, lambda: "Everything is saved" in told(app))
        screen.withdraw()
        await until(pilot, lambda: app.screen is app.chat)


async def test_no_key_in_the_settings_removes_all_permission_rules(home: Path, provider: Provider) -> None:
    file = locate({"CO_TUI_HOME": str(home)}).config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    written = '[permissions]\ndeny = ["Bash(curl:*)"]\n\n[[hooks]]\non = "session_start"\nrun = "true"\n'
    file.write_text(written)
    async with running(launch_for(home, provider), ready=False) as (app, pilot):
        for name in ("permissions", "hooks", "after_edit", "mcp_servers"):
            app.run_command("settings", name)
            await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
            await until(pilot, lambda name=name: (row := app.screen._highlighted()) is not None and row.name == name)
            await pilot.press("backspace")
            await until(pilot, lambda: "are edited in" in screen_text(app))
            assert file.read_text() == written
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chat)
            assert not isinstance(app.screen, Dialog)
