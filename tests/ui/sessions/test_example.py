"""The example session: all that can be tried on it, without a key and without a network."""

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from co_tui.events.model_names import EXAMPLE_MODEL
from co_tui.ui.app import CoTui
from co_tui.ui.compaction.compaction_screen import CompactionScreen
from co_tui.ui.dialogs.simple_dialogs import ConfirmScreen
from co_tui.ui.lens.lens_screen import LensScreen
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.stores import listed


async def opened(app: CoTui, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: app.controller.session is not None and app.controller.state.model == EXAMPLE_MODEL)


async def compacted(app: CoTui, pilot: Pilot[None]) -> None:
    app.run_command("compact", "")
    await until(pilot, lambda: len(app.controller.state.compactions) == 2 and app.controller.idle)


async def test_the_first_screen_is_calm_and_says_what_this_is(home: Path) -> None:
    async with running(launch_for(home)) as (app, pilot):
        await until(pilot, lambda: "Work with agents: see what they see, lose nothing." in screen_text(app))
        *shown, footer = screen_text(app).rstrip("\n").splitlines()
        assert "/example" in "\n".join(shown) and "F1 Help" in footer
        assert len(re.findall(r"[\w/@+’'-]*[A-Za-z][\w/@+’'.-]*", "\n".join(shown))) <= 48
        for size in ((80, 24), (60, 16), (120, 40)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: len(screen_text(app).splitlines()) == size[1])
            assert "Or look around: /example" in screen_text(app) and "lose nothing." in screen_text(app), size
        await pilot.press("?")
        await until(pilot, lambda: "Keys" in screen_text(app))
        await until(pilot, lambda: "Context policy, the default" in screen_text(app))
        assert "Mode: asks before changes and commands" in screen_text(app)


async def test_all_can_be_tried_on_it_offline(home: Path) -> None:
    async with running(launch_for(home)) as (app, pilot):
        await type_text(pilot, "/example \n")
        await opened(app, pilot)
        await until(pilot, lambda: "F5 compacts it" in transcript_text(app))
        assert "76 %" in screen_text(app) and "25k of 33k" in screen_text(app) and app.mode == "ask"
        before = app.controller.state.usage
        assert before is not None

        await compacted(app, pilot)
        done = app.controller.state.compactions[-1]
        assert done.fact.summarised_by == "offline" and not done.fact.note
        assert done.fact.pre_tokens == pytest.approx(before.current_tokens, rel=0.02)
        assert done.fact.post_tokens < 0.67 * done.fact.pre_tokens
        await until(pilot, lambda: "Nothing is lost" in transcript_text(app))
        assert "F5 compacts it" not in transcript_text(app), "it was tried"

        app.open_entry(done)
        await until(pilot, lambda: isinstance(app.screen, CompactionScreen) and "Replaced" in screen_text(app))
        await pilot.press("2")
        await until(pilot, lambda: "My phone should show" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)

        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LensScreen) and "Request (" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)

        app.run_command("undo", "")
        await until(pilot, lambda: app.controller.state.usage and app.controller.state.usage.share > 0.7)
        app.run_command("pin", "last")
        await until(pilot, lambda: app.controller.state.pins)
        app.run_command("rewind", "8")
        await until(pilot, lambda: "Rewound to before turn 8" in transcript_text(app))
        assert app.chat.prompt.text.startswith("Write down in the README")
        app.chat.prompt.text = ""

        await pilot.press("f2")
        await until(pilot, lambda: "Sessions" in screen_text(app))
        app.screen.query_one(Input).value = "decimal comma"
        await until(pilot, lambda: "Example: make the pantry" in screen_text(app))
        app.pop_screen()
        await app.controller.begin_session()
        assert app.chat._model == app.launch.choice.model != EXAMPLE_MODEL, "a new session has the user's own"


async def test_a_prompt_goes_to_the_configured_model(home: Path, provider: Provider) -> None:
    provider.window = 200_000
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/example \n")
        await opened(app, pilot)
        provider.default = Reply(text="With pleasure.")
        await type_text(pilot, "Go on\n")
        await until(pilot, lambda: "With pleasure." in transcript_text(app))
        assert app.controller.state.model == "openai-chat:scripted"
        assert "kitchen display" in str(provider.requests[-1])


@only_in_a_long_run
async def test_a_smaller_window_is_asked_about_and_no_keeps_the_prompt(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/example \n")
        await opened(app, pilot)
        await type_text(pilot, "Go on\n")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen) and "4,096" in screen_text(app))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is app.chat and app.chat.prompt.text == "Go on")
        assert app.controller.state.model == EXAMPLE_MODEL and not provider.requests


@only_in_a_long_run
async def test_it_is_an_ordinary_session_and_a_new_one_has_the_configured_model(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider, first_command="example")) as (app, pilot):
        await opened(app, pilot)
        first = app.controller.session_id
        app.run_command("example", "")
        await until(pilot, lambda: app.controller.session_id != first and app.controller.session is not None)
        app.run_command("new", "")
        await until(pilot, lambda: not app.controller.session_id)
        assert app.chat._model == "openai-chat:scripted"
        await type_text(pilot, "/example \n")
        await opened(app, pilot)
        assert len(listed(home)) == 2, "one with which nothing was done is used again"
        await compacted(app, pilot)
        await app.controller.stored.trash(app.controller.session_id)
        assert len(listed(home)) == 1


async def test_the_prompts_of_its_recording_are_not_among_the_users_own(home: Path, provider: Provider) -> None:
    provider.window = 200_000
    launch = launch_for(home, provider)
    async with running(launch) as (app, pilot):
        await type_text(pilot, "/example \n")
        await opened(app, pilot)
        with launch.store.reading() as reading:
            assert reading.prompts(9) == [] == reading.prompts(9, cwd=str(home.parent))
        provider.default = Reply(text="With pleasure.")
        await type_text(pilot, "Go on\n")
        await until(pilot, lambda: "With pleasure." in transcript_text(app))
        with launch.store.reading() as reading:
            assert reading.prompts(9) == ["Go on"] == reading.prompts(9, cwd=str(home.parent))
            assert reading.prompts(9, search="rye") == []
