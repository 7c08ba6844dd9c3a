"""F5 says what a compaction would free; nothing is paid for before Enter, `d` or a second F5."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from co_tui.ui.app import CoTui
from co_tui.ui.compaction import compact_offer
from co_tui.ui.compaction.compact_offer import CompactOffer
from co_tui.ui.compaction.compaction_screen import figures
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until

OFFER = r"Frees about (\S+) of (\S+) · Enter compacts · d deeper, about (\S+) · Esc"

REFUSED = "Nothing to compact: it would not free any room."


@asynccontextmanager
async def offered(home: Path, provider: Provider, turns: int = 4) -> AsyncIterator[tuple[CoTui, Pilot[Any]]]:
    provider.default = Reply(text="An answer of many words. " * 40, prompt_tokens=-1)
    async with running(launch_for(home, provider)) as (app, pilot):
        for n in range(turns):
            await ask(app, pilot, f"question {n} " + "with many words " * 20)
        await pilot.press("f5")
        await until(pilot, lambda: re.search(OFFER, screen_text(app)))
        yield app, pilot


def is_offered(app: CoTui) -> bool:
    return bool(app.chat.query(CompactOffer))


def frees(app: CoTui) -> tuple[float, float]:
    """What it would free, in thousands of tokens, and what a deeper one would."""
    found = re.search(OFFER, screen_text(app))
    assert found is not None
    return float(found[1].rstrip("k")), float(found[3].rstrip("k"))


async def test_it_says_what_it_frees_and_d_compacts_deeper(home: Path, provider: Provider) -> None:
    async with offered(home, provider) as (app, pilot):
        usual, deeper = frees(app)
        assert deeper > usual > 0 and isinstance(app.focused, CompactOffer) and not provider.summary_requests
        await pilot.press("d")
        await until(pilot, lambda: app.controller.state.compactions and not is_offered(app))
        fact: Any = app.controller.state.compactions[-1].fact
        assert fact.success and fact.kept_messages == 1 and app.focused is app.chat.prompt


async def test_enter_compacts_no_held_key_does_and_others_go_to_the_prompt(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with offered(home, provider) as (app, pilot):
        await type_text(pilot, "x")
        await until(pilot, lambda: not is_offered(app) and app.chat.prompt.text == "x")
        for key in ("backspace", "escape"):
            await pilot.press("f5")
            await until(pilot, lambda: is_offered(app) and isinstance(app.focused, CompactOffer))
            await pilot.press(key)
            await until(pilot, lambda: not is_offered(app) and app.focused is app.chat.prompt)
            assert app.chat.prompt.text == ""
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.focused, CompactOffer))
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is not app.chat and not is_offered(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        monkeypatch.setattr(compact_offer, "HELD_S", 1_000.0)
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.focused, CompactOffer))
        await pilot.press("f5", "f5", "f5")
        assert is_offered(app) and not provider.summary_requests and not app.controller.state.compactions
        await pilot.resize_terminal(43, 30)
        await until(pilot, lambda: re.search(r"Frees about \S+ · Enter · d deeper · Esc", screen_text(app)))
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.state.compactions and not is_offered(app))
        fact: Any = app.controller.state.compactions[-1].fact
        assert fact.success and fact.kept_messages > 1 and app.focused is app.chat.prompt


async def test_where_nothing_can_be_gained_it_says_so_at_no_cost(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="Hello", prompt_tokens=-1)
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "hi")
        await pilot.press("f5")
        await until(pilot, lambda: REFUSED in screen_text(app))
        assert not is_offered(app) and app.focused is app.chat.prompt
        await type_text(pilot, "/compact\n")
        await until(pilot, lambda: transcript_text(app).count(REFUSED) == 2)
        assert not provider.summary_requests


@only_in_a_long_run
async def test_the_command_compacts_at_once_and_may_go_deep(home: Path, provider: Provider) -> None:
    async with offered(home, provider) as (app, pilot):
        await pilot.press("escape")
        await type_text(pilot, "/compact --deep the module\n")
        await until(pilot, lambda: app.controller.state.compactions)
        fact: Any = app.controller.state.compactions[-1].fact
        assert fact.success and fact.kept_messages == 1 and fact.focus == "the module"
        assert "the module" in str(provider.summary_requests[-1])
        assert ("focus", "the module") in figures(fact) and "focus: the module" in str(fact.export_entry())
