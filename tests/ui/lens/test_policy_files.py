"""Policies as files in the running app: the picker's groups, and a file that goes."""

from pathlib import Path

from co_tui.ui.lens.policy_screen import PolicyScreen
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, type_text, until


@only_in_a_long_run
async def test_the_picker_has_other_programs_in_a_second_group(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/policy\n")
        await until(pilot, lambda: isinstance(app.screen, PolicyScreen))
        assert "As other programs do" in screen_text(app)
        await pilot.press(*["down"] * 7, "up", "down")  # five of ours below the first, then past the heading
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.launch.settings.policy == "cline")
        await until(pilot, lambda: "Policy is now cline" in screen_text(app))


async def test_a_policy_whose_file_is_gone_gives_way_with_a_notice(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    file = launch.paths.policies / "mine.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[settings]\nfew_turns = 3\n")
    async with running(launch) as (app, pilot):
        await type_text(pilot, "/policy mine\n")
        await until(pilot, lambda: app.controller.launch.settings.policy == "mine")
        await type_text(pilot, "hello\n")
        await until(pilot, lambda: app.controller.state.policy == "mine" and app.controller.state.usage is not None)
        file.unlink()
        await type_text(pilot, "/config reduced_motion on\n")
        await until(pilot, lambda: app.controller.launch.settings.policy == "balanced")
        await until(pilot, lambda: "policy = 'mine'" in screen_text(app) and "is not allowed" in screen_text(app))
        await type_text(pilot, "/config max_retries 3\n")
        await until(pilot, lambda: app.controller.state.policy == "balanced")


@only_in_a_long_run
async def test_a_file_named_on_the_command_line_is_among_the_policies(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    file = launch.cwd / "mine.py"
    file.write_text('"""Mine, by its path."""\n\ndef decide(context):\n    return None\n')
    loaded = launch.reloaded(policy=str(file))
    async with running(launch.but(loaded=loaded, policy_path=str(file))) as (app, pilot):
        await until(pilot, lambda: "mine.py" in screen_text(app))
        await type_text(pilot, "/policy\n")
        await until(pilot, lambda: "● mine.py     Mine, by its path." in screen_text(app))
        await pilot.press("escape")
        await type_text(pilot, "/policy codex\n")
        await until(pilot, lambda: app.controller.launch.settings.policy == "codex")
        await type_text(pilot, f"/policy {file}\n")
        await until(pilot, lambda: app.controller.launch.settings.policy == str(file))
        await type_text(pilot, "/policy ./other.py\n")
        await until(pilot, lambda: "was not named at the start" in screen_text(app))
