"""The context lens in the app: what the next request contains, by keyboard."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot

from co_tui.events import CompactionComplete
from co_tui.session.lens.snapshot import read_lens
from co_tui.settings import policy_description
from co_tui.ui.app import CoTui
from co_tui.ui.chat.title_line import TitleLine
from co_tui.ui.gauge.gauge_widget import Gauge
from co_tui.ui.lens import lens_screen
from co_tui.ui.lens.lens_screen import LensScreen
from co_tui.ui.timeline.detail_screen import SummaryTextScreen, TextScreen
from co_tui.ui.widgets.line_list import LineList
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, until
from tests.support.waiting import PATIENCE_S

LONG = Reply(text="The capital is Paris, as atlas/europe.md tells. " * 12, prompt_tokens=-1, completion_tokens=-1)
ODD = "question 2 \x1b[31mred\x1b[0m \x1b]52;c;eA==\x07 [b]bold[/b] 漢字 \u202egnp"


@asynccontextmanager
async def looking(
    home: Path, provider: Provider, size: tuple[int, int] = (110, 30), **options: Any
) -> AsyncIterator[tuple[CoTui, Pilot[Any]]]:
    provider.default, provider.window = LONG, 12_000
    provider.summary = Reply(
        text="Title: Cities\n## Decisions and outcomes\n- Paris, says atlas/europe.md, the capital"
    )
    async with running(launch_for(home, provider, environ={"CO_TUI_TOOLS": "none"}), size, **options) as (app, pilot):
        for n in range(5):
            await ask(app, pilot, ODD if n == 2 else f"question {n} about the capital " + "words " * 60)
        await opened(app, pilot)
        yield app, pilot


async def opened(app: CoTui, pilot: Pilot[Any]) -> None:
    await pilot.press("f3")
    await until(pilot, lambda: isinstance(app.screen, LensScreen) and len(app.screen.query_one(LineList)) > 0)


def why(app: CoTui) -> str:
    return str(app.screen.query_one("#why").render())


async def test_a_look_a_pin_other_policies_and_a_compaction_up_to_here(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(home, provider) as (app, pilot):
        session, usage = app.controller.session, app.controller.state.usage
        assert session is not None and usage is not None
        seen = screen_text(app)
        lines = app.screen.query_one(LineList)
        assert len(lines) == 11 and "Request (11)" in seen and "policy balanced" in seen
        gauge = app.chat.query_one(Gauge).reading
        assert gauge.percent in seen and gauge.amount in seen
        assert "\x1b" not in seen and "\x07" not in seen and "[b]bold[/b]" in seen and "␛[31mred" in seen
        assert lines.chosen == 10 and "newest messages" in why(app), "the newest is chosen"

        await pilot.press("up", "up", "up", "p")
        await until(pilot, lambda: "◉ pinned" in screen_text(app))
        assert "p Unpin" in screen_text(app) and "s Compact up to here" in screen_text(app)
        ref = session.state.history[6].ref
        assert session.state.pins == {ref} and lines.chosen == 7, "the place is kept"
        await pilot.press("p")
        await until(pilot, lambda: not session.state.pins)

        await pilot.press("space")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        assert "question 3 about the capital" in screen_text(app)
        await pilot.press("escape")

        await pilot.press("left", "left")  # the same as Tab
        await until(pilot, lambda: "● balanced" in screen_text(app) and "computing" not in screen_text(app))
        assert screen_text(app).count(f"{usage.current_tokens:,}") == 12, "all but inkeep, which brings a tool"
        assert policy_description("balanced", app.launch.paths)[:40] in why(app), "what the chosen one does"
        await pilot.press("home", *["down"] * 4, "m")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        assert "Where inkeep compacts, by model" in screen_text(app) and "50 %  500,000" in screen_text(app)
        await pilot.press("escape", "home", *["down"] * 5, "enter")
        await until(pilot, lambda: "under policy off" in screen_text(app))
        assert "p Pin" not in screen_text(app) and "Esc Back to your policy" in screen_text(app)
        await until(pilot, lambda: "to be summarised" not in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "policy balanced" in screen_text(app) and "to be summarised" in screen_text(app))

        await pilot.press("home", *["down"] * 5, "s")
        await until(pilot, lambda: session.state.compactions and app.controller.idle)
        fact = session.state.compactions[0].fact
        assert isinstance(fact, CompactionComplete) and len(fact.replaced) == 4, "what stood before the message"
        assert app.screen is app.chat

        await opened(app, pilot)
        assert "Removed (4)" in screen_text(app)
        await pilot.press("f3")
        await until(pilot, lambda: app.screen is app.chat)
        await opened(app, pilot)  # they were counted, but not looked at
        await pilot.press("shift+tab")
        seen = screen_text(app)
        assert "Removed (4)" in seen and seen.count("summarised") == 4 and "checkpoint 1, event" in seen
        assert "Removed since you last looked," in seen and "4 messages" in seen
        await pilot.press("f3")
        await until(pilot, lambda: app.screen is app.chat)
        await opened(app, pilot)
        await pilot.press("home")
        assert "p Pin" not in screen_text(app), "instructions stay anyway"
        await pilot.press("down", "space")
        await until(pilot, lambda: isinstance(app.screen, SummaryTextScreen))
        assert "[Earlier conversation, summarised]" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LensScreen))
        lines = app.screen.query_one(LineList)
        count, chosen = len(lines), lines.chosen
        await session.submit("and one more question")
        await until(pilot, lambda: len(lines) == count + 2)
        assert lines.chosen == chosen, "it follows a turn without jumping"
        await pilot.press("shift+tab")
        assert "Removed (0)" in screen_text(app) and "Nothing was removed since you last looked" in why(app)
        await pilot.press("f3")
        await until(pilot, lambda: app.screen is app.chat)

        may_look = threading.Event()
        monkeypatch.setattr(lens_screen, "read_lens", lambda *of: may_look.wait(PATIENCE_S) and read_lens(*of))
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LensScreen))
        seen, gauge = screen_text(app), app.chat.query_one(Gauge).reading
        assert gauge.percent in seen and gauge.amount in seen and "conversation" in seen, "before anything is looked at"
        await pilot.press("tab")
        await until(pilot, lambda: "● balanced" in screen_text(app))  # keys are answered meanwhile
        await pilot.press("shift+tab", "escape")
        await until(pilot, lambda: app.screen is app.chat)
        may_look.set()
        assert not [each.message for each in app._notifications if each.severity == "error"]


@only_in_a_long_run
async def test_it_follows_a_turn_without_jumping_and_fits_a_small_screen(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(home, provider, (60, 16), dark=False) as (app, pilot):
        lines = app.screen.query_one(LineList)
        await pilot.press("home", "down", "down")
        seen = screen_text(app)
        assert max(map(len, seen.splitlines())) <= 60 and "next to go" in seen and "Esc Back" in seen
        session = app.controller.session
        assert session is not None
        before = lines.scroll_offset
        await session.submit("and one more question")
        await until(pilot, lambda: len(lines) == 13)
        assert lines.chosen == 2 and lines.scroll_offset == before
        await pilot.press("end")
        await session.submit("and the last one")
        await until(pilot, lambda: len(lines) == 15)
        assert lines.chosen == 14, "who looks at the end stays there"
        looks, may_look = [], threading.Event()
        monkeypatch.setattr(
            lens_screen, "read_lens", lambda *of: looks.append(of) or (may_look.wait(PATIENCE_S) and read_lens(*of))
        )
        await session.submit("while it is slow")
        await until(pilot, lambda: looks)
        await session.submit("and still")
        assert isinstance(app.screen, LensScreen)
        app.screen._follow()
        await pilot.pause()
        assert len(looks) == 1, "one look after the other"
        may_look.set()
        await until(pilot, lambda: len(lines) == 19)
        await pilot.resize_terminal(200, 60)
        assert "to be summarised" in screen_text(app)
        await pilot.press("p", "escape")
        title = app.chat.query_one(TitleLine)
        assert title.get_content_height(app.size, app.size, 40) == 1, "it is laid out below a dialog as it was before"
        asked = len(provider.requests)
        for key, character in (("f3", None), ("p", "p"), ("enter", "\r"), ("escape", None)):  # in one burst
            app.post_message(Key(key, character))
        await until(pilot, lambda: app.screen is app.chat and app.controller.idle)
        assert app.chat.prompt.text == "" and len(provider.requests) == asked, "they were for the lens"
        assert not [each.message for each in app._notifications if each.severity == "error"]


async def test_ten_thousand_lines_cost_what_is_in_view() -> None:
    """Only lines that are seen are made."""
    from rich.text import Text
    from textual.app import App, ComposeResult

    made: list[int] = []

    class Lines(App[None]):
        def compose(self) -> ComposeResult:
            yield LineList()

    def line(place: int, width: int) -> Text:
        made.append(place)
        return Text(f"line {place}")

    app = Lines()
    async with app.run_test(size=(60, 16)) as pilot:
        lines = app.query_one(LineList)
        lines.show(10_000, line, lambda place: place)
        await pilot.pause()
        assert lines.chosen == 9_999, "the newest"
        await pilot.press("end", "pageup")
        assert lines.chosen == 9_999 - (lines.scrollable_content_region.height - 1), "a page, less the line it was on"
        await pilot.press("home")
        assert len(set(made)) < 100 and lines.chosen == 0
