"""`!command` on the screen: shown as it speaks, inert, stopped by Esc, and the same when it is read again."""

import json
import os
from pathlib import Path

from textual.color import Color

from co_tui.events.storable import dump
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, contrast, palette_of
from co_tui.ui.transcript.block import RAN, Block
from co_tui.ui.transcript.block_lines import BODIES
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, until

LOOK = TextRenderer(palette_of(DARK))
PATH = {"PATH": os.environ["PATH"]}


async def test_a_command_shows_what_it_says_and_the_model_sees_it_next(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider, environ=PATH)) as (app, pilot):
        app.chat.prompt.insert("!printf 'one\\033[2Jtwo\\n'; exit 4 # @gone.md")
        await pilot.press("enter")
        await until(pilot, lambda: "one␛[2Jtwo" in screen_text(app) and "exit 4 · " in screen_text(app))
        assert "▾ you ran" in screen_text(app) and not provider.requests
        await until(pilot, lambda: app.controller.idle)
        await ask(app, pilot, "why?")
        sent = [message["content"] for message in provider.requests[0]["messages"] if message["role"] == "user"]
        assert "one\x1b[2Jtwo" in sent[0] and sent[1] == "why?"
        assert app.controller.state.title == "why?"
        session_id, shown = app.controller.session_id, transcript_text(app)
    async with running(launch_for(home, provider, session_id=session_id)) as (app, _):
        assert transcript_text(app) == shown


async def test_colours_are_shown_and_the_model_gets_the_last_state_without_them(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    command = r"printf '\033[31mred\033[0m, 10%%\r\033[32mgreen\033[0m 100%%\n'"
    arguments = json.dumps({"command": command})
    provider.script = [Reply(tool=("run_command", arguments)), Reply(text="Seen.")]
    async with running(launch_for(home, provider, environ=PATH)) as (app, pilot):
        app.chat.prompt.insert(f"!{command}")
        await pilot.press("enter")
        await until(pilot, lambda: "green 100%" in transcript_text(app) and app.controller.idle)
        await ask(app, pilot, "and you?")
        *_, own, _ = (each["content"] for each in provider.requests[0]["messages"] if each["role"] == "user")
        result = provider.requests[1]["messages"][-1]["content"]
        assert "\ngreen 100%\n" in own and "green 100%" in result and not set(own + result) & set("\x1b\r")
        blocks = [block for block in app.chat.transcript.blocks if block.colours]
        assert [block.result.count("green 100%") for block in blocks] == [1, 1]
        for block in blocks:
            block.folded = False
            segments = [each for line in BODIES["tool"](block, LOOK, 80) for each in line]
            (green,) = (each for each in segments if each.text == "green")
            colour = green.style.color.triplet
            assert colour.green > max(colour.red, colour.blue)
        logged = dump([entry.message for entry in app.controller.state.transcript])
        assert logged.count("[31mred") >= 2, "the log has what was printed"


def test_no_colour_hides_text() -> None:
    block = Block("tool", "", tool_name=RAN)
    block.show_printed("\x1b[8;30;40mhidden\x1b[38;2;1;2;3m text")
    segments = [each for line in BODIES["tool"](block, LOOK, 80) for each in line if each.text.strip(" ▾")]
    ground = Color.parse(LOOK.palette.background)
    for each in [each for each in segments if "hidden" in each.text or "text" in each.text]:
        assert each.style.bgcolor is None and contrast(Color.from_rich_color(each.style.color), ground) >= 4.5


async def test_a_sign_without_a_command_says_how_to_use_it(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.chat.prompt.insert("! ")
        await pilot.press("enter")
        await until(pilot, lambda: "for example `!git status`" in transcript_text(app))
        assert app.chat.prompt.text == "" and app.controller.session is None, "what is written next is not a command"


async def test_esc_stops_it_while_it_speaks(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider, environ=PATH)) as (app, pilot):
        app.chat.prompt.insert("!echo begun; sleep 600")
        await pilot.press("enter")
        await until(pilot, lambda: "begun\n" in transcript_text(app) + "\n" and "! echo begun" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "was stopped by the user" in screen_text(app) and app.controller.idle)
        assert transcript_text(app).count("you ran") == 1


@only_in_a_long_run
async def test_it_waits_its_turn_behind_the_turn_that_runs(home: Path, provider: Provider) -> None:
    provider.script = [Reply(text="slow words " * 20, delay_s=0.02)]
    async with running(launch_for(home, provider, environ=PATH)) as (app, pilot):
        app.chat.prompt.insert("talk")
        await pilot.press("enter")
        await until(pilot, lambda: "slow" in transcript_text(app))
        app.chat.prompt.insert("!echo after")
        await pilot.press("enter")
        await until(pilot, lambda: "you ran echo after\nafter" in transcript_text(app))
        kinds = [entry.message["kind"] for entry in app.controller.state.transcript]
        assert kinds == ["request", "response", "request"] and app.controller.state.turn == 1
