"""The values of a command are completed in the prompt."""

from pathlib import Path

import pytest

from co_tui.exchange.exporters import EXPORTERS
from co_tui.settings import policy_names
from co_tui.settings.rules import MODES
from co_tui.ui.chat.chat_screen import command_values
from co_tui.ui.prompt.completion import CompletionOffer
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, type_text, until


def offered(text: str, home: Path) -> list[str]:
    launch, offer = launch_for(home), CompletionOffer()
    offer.values_of = lambda name: command_values(name, launch)
    offer.update(text, text)
    return [choice.name for choice in offer.found]


def test_a_command_with_certain_values_offers_them(home: Path) -> None:
    assert offered("/policy ", home) == list(policy_names(launch_for(home).paths))
    assert offered("/mode ", home) == list(MODES)
    assert set(offered("/export ", home)) == set(EXPORTERS)
    assert offered("/context ", home) == ["instructions", "clear"]
    assert offered("/compact ", home) == offered("/compact --d", home) == ["--deep"]
    assert offered("/subconscious u", home) == ["undo"] and offered("/help comp", home) == ["compaction"]
    assert "anthropic:" in offered("/model ", home) and offered("/model an", home) == ["anthropic:"]
    assert "max_retries" in offered("/config max", home) and "nord" in offered("/theme n", home)


@pytest.mark.parametrize(
    "text", ["/compact focus ", "/policy balanced", "/policy x", "/policy balanced ", "/nothing ", "no "]
)
def test_nothing_is_offered_where_anything_may_follow_or_all_is_typed(text: str, home: Path) -> None:
    assert offered(text, home) == []


@pytest.mark.parametrize(
    ("text", "moves", "runs"),
    [
        ("/policy ", 0, False),
        ("/policy ", 1, True),
        ("/policy b", 0, True),
        ("/model anth", 0, False),
        ("/pi", 0, True),
    ],
)
def test_enter_takes_a_value_that_was_begun_or_moved_to(text: str, moves: int, runs: bool, home: Path) -> None:
    launch, offer = launch_for(home), CompletionOffer()
    offer.values_of = lambda name: command_values(name, launch)
    offer.update(text, text)
    for _ in range(moves):
        offer.move(1)
    assert offer.runs_on_enter == runs


async def test_a_value_is_completed_and_run_by_keyboard(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/policy ink")
        await until(pilot, lambda: "Enter runs it" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.launch.settings.policy == "inkeep")
        await type_text(pilot, "/export ")
        await until(pilot, lambda: "one page to share" in screen_text(app))
        await pilot.press("down", "tab")
        assert app.chat.prompt.text == "/export html"
