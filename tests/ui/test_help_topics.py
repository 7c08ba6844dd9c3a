"""Topics in the app: found in F1 by what people want to do, opened there or by `/help TOPIC`."""

from pathlib import Path

import pytest

from co_tui.ui.dialogs.text_screen import PagerScreen
from co_tui.ui.help.found_topics import found_topics
from co_tui.ui.help.help_screen import HelpScreen
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, type_text, until

WANTED = {
    "undo a compaction": ("compaction", "/undo"),
    "let it run pytest without asking": ("approvals", "always in this project"),
    "carry sessions to my laptop": ("machines", "co-tui backup"),
    "sandbox": ("approvals", "auto"),
    "key": ("keys", "Ctrl+P"),
}
"""What people type, the topic that comes first, and a word of the answer."""


@pytest.mark.parametrize("typed", WANTED)
def test_a_topic_is_found_by_what_people_want_to_do(typed: str) -> None:
    name, meaning = found_topics(typed.split())[0][0]
    topic, answer = WANTED[typed]
    assert name == topic and answer in meaning


async def test_f1_finds_a_topic_and_opens_it(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(90, 30)) as (app, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen) and "Enter Open topic" in screen_text(app))
        await type_text(pilot, "pytest without")
        await until(pilot, lambda: "let it run pytest without asking" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PagerScreen) and "Help: approvals" in screen_text(app))
        assert "| to |" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("ctrl+u", "tab", "tab", "tab", "shift+tab", "enter")
        await until(pilot, lambda: "Help: keys" in screen_text(app))


async def test_help_with_a_topic_opens_its_page_or_names_the_nearest(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(90, 30)) as (app, pilot):
        await type_text(pilot, "/help gauge")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PagerScreen) and "Help: context" in screen_text(app))
        await pilot.press("escape")
        await type_text(pilot, "/help sandbx")
        await pilot.press("enter")
        await until(pilot, lambda: "No help about 'sandbx'. Did you mean sandbox?" in screen_text(app))
