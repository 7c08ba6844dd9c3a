"""Ctrl+P, F1 and /settings find what people look for by the words they have for it."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from co_tui.ui.app import CoTui
from co_tui.ui.approvals.approvals_screen import ApprovalsScreen
from co_tui.ui.help.help_screen import HelpScreen, sections
from co_tui.ui.help.palette import PaletteScreen, found_commands
from co_tui.ui.settings.settings_screen import SettingsScreen
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import launch_for, look_in_one_app, running, screen_text, type_text, until

EXPECTED = {
    "allow": ("/approvals", "permissions"),
    "permission": ("/approvals", "permissions"),
    "pytest": ("/approvals", "permissions"),
    "budget": ("/settings", "max_daily_cost"),
    "spend": ("/context", "max_session_cost"),
    "limit": ("/settings", "max_daily_cost"),
    "cost": ("/context", "max_daily_cost"),
    "rebind": ("/config keys.NAME", "keys"),
}
"""Words, the command that each finds, and the setting."""


def configured(home: Path, text: str) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(text)


@pytest.mark.parametrize("word", [word for word in EXPECTED if word != "rebind"])
def test_the_palette_finds_a_command(word: str) -> None:
    assert EXPECTED[word][0] in {found.command.slash for found in found_commands(word)}


def test_what_has_the_word_itself_comes_first_and_a_command_is_found_by_its_whole_name() -> None:
    found = [each.command.name for each in found_commands("permission")]
    assert found[0] == "approvals" and "mode" in found and "model" not in found


@pytest.mark.parametrize("word", EXPECTED)
def test_help_finds_a_command_or_how_to_do_it(word: str) -> None:
    found = [section.matching([word]) for section in sections([], {})]
    text = "\n".join(f"{each.title} {name} {meaning}" for each in found for name, meaning in each.rows)
    assert EXPECTED[word][0] in text


async def the_palette_finds_settings_and_opens_one(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    for word in also_in_a_long_run(["budget"], [word for word in EXPECTED if word != "budget"]):
        setting = EXPECTED[word][1]
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        await type_text(pilot, word)
        await until(pilot, lambda setting=setting: f"{setting} = " in screen_text(app))
        await pilot.press("escape")
    await pilot.press("ctrl+p")
    await type_text(pilot, "per day")
    await until(pilot, lambda: "Cost limit per day ($)" in screen_text(app) and "no limit" in screen_text(app))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
    await until(pilot, lambda: "1 matching “max_daily_cost”" in screen_text(app))
    await pilot.press("enter", "escape")
    assert isinstance(app.screen, SettingsScreen) and app.screen.values.has_focus, "one Esc leaves the field"
    await pilot.press("escape")
    await until(pilot, lambda: app.screen is app.chat)


async def test_the_palette_finds_a_rule_and_opens_it(home: Path, provider: Provider) -> None:
    configured(home, '[permissions]\nallow = ["Bash(git log:*)", "Bash(pytest:*)"]\n')
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("ctrl+p")
        await type_text(pilot, "pytest")
        await until(pilot, lambda: "Bash(pytest:*)" in screen_text(app))
        rows = [str(option.prompt) for option in app.screen.query_one(OptionList).options]
        assert not any(row.startswith("Bash(git log:*)") for row in rows)
        place = next(n for n, row in enumerate(rows) if row.startswith("Bash(pytest:*)"))
        await pilot.press(*["down"] * place, "enter")
        await until(pilot, lambda: isinstance(app.screen, ApprovalsScreen))
        assert app.screen.query_one(OptionList).highlighted == 1


async def test_settings_finds_by_other_words(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(130, 40)) as (app, pilot):
        await type_text(pilot, "/settings \n")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        for word, (_, setting) in EXPECTED.items():
            app.screen.filter.value = word
            await until(pilot, lambda setting=setting: setting in {row.id for row in app.screen.values.options})


async def help_names_the_actions_that_keys_can_be_set_for(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen))
    await type_text(pilot, "next_mode")
    await until(pilot, lambda: "Switch mode: ask, edits, plan, auto · next_mode" in screen_text(app))


async def test_what_is_searched_for_is_found(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        help_names_the_actions_that_keys_can_be_set_for,
        the_palette_finds_settings_and_opens_one,
    )
