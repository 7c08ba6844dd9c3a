"""The model's commands on the screen: their output, the list of background commands, and what is allowed."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, until
from tests.ui.chat.test_working import asked, call


@pytest.fixture
def folder(home: Path, provider: Provider) -> Path:
    """The folder the app is started in."""
    provider.window = 60_000
    return home.parent


async def test_what_a_command_says_is_seen_while_it_runs_and_is_inert(
    home: Path, provider: Provider, folder: Path
) -> None:
    said = "printf 'one\\n\\033[2Jtwo\\n'; until test -e go; do sleep 0.01; done; echo three"
    provider.script = [call("run_command", command=said), Reply(text="It went well.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("try it")
        await asked(app, pilot, "Run this command?")
        await pilot.press("y")
        await until(pilot, lambda: "… ␛[2Jtwo" in screen_text(app))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: has_line(app, "one") and has_line(app, "␛[2Jtwo"))
        (folder / "go").touch()
        await until(pilot, lambda: "It went well." in screen_text(app))
        assert has_line(app, "three") and "… ␛" not in screen_text(app)


@only_in_a_long_run
async def test_output_of_a_delegates_command_is_shown_in_its_delegation(
    home: Path, provider: Provider, folder: Path
) -> None:
    said = "printf 'one\\n\\033[2Jtwo\\n'; until test -e go; do sleep 0.01; done; echo three"
    provider.script = [
        call("delegate_task", agent_name="self", task="Try it"),
        call("run_command", command=said),
        Reply(text="It went well."),
    ]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("have it tried")
        await asked(app, pilot, "self 1: Run this command?")
        await pilot.press("y")
        await until(pilot, lambda: re.search(r"agent .* … ␛\[2Jtwo", screen_text(app)))
        (folder / "go").touch()
        await until(pilot, lambda: app.controller.idle and re.search(r"done · fresh · 1 call", screen_text(app)))
        assert "… ␛" not in screen_text(app)


@only_in_a_long_run
async def test_where_a_command_runs_is_seen_however_long_it_is(home: Path, provider: Provider, folder: Path) -> None:
    provider.script = [call("run_command", command="\n".join(f"touch {n}" for n in range(30)))]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("go")
        seen = await asked(app, pilot, "Run this command?")
        assert "touch 0" in seen and "more lines" in seen and "not sandboxed" in seen and folder.name in seen
        await pilot.press("n")
        await until(pilot, lambda: app.controller.idle)


def has_line(app: Any, words: str) -> bool:
    """Whether a line of the screen, or of a box on it, consists of exactly these words."""
    return re.search(rf"^[\s│┃▌▏]*{re.escape(words)}(\s\s|\s*$)", screen_text(app), re.MULTILINE) is not None


@only_in_a_long_run
async def test_background_commands_are_listed_with_what_they_say_and_ended(
    home: Path, provider: Provider, folder: Path
) -> None:
    provider.script = [call("start_command", command="echo ready; exec sleep 600"), Reply(text="It serves.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.run_command("commands", "")
        await until(pilot, lambda: "No session yet" in screen_text(app))
        app.send("serve")
        await asked(app, pilot, "Start this command in the background?")
        await pilot.press("y")
        await until(pilot, lambda: "It serves." in screen_text(app) and app.controller.idle)
        app.run_command("commands", "")
        await until(pilot, lambda: "Tasks" in screen_text(app))
        await until(
            pilot, lambda: re.search(r"running \d+ s +run +echo ready", screen_text(app)) and has_line(app, "ready")
        )
        await pilot.press("x")
        await until(pilot, lambda: "exit code 143" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Tasks" not in screen_text(app))
