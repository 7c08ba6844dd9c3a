"""The mode: named on the prompt's border, switched by a key or a command, kept out of the way of other keys."""

from pathlib import Path
from typing import Any

import pytest
from textual.content import Content

from co_tui.ui.app import CoTui
from co_tui.ui.approvals.modes import SandboxCheck
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until
from tests.ui.chat.test_working import asked, call


@pytest.fixture(autouse=True)
def sandbox(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is wrong with the sandbox: nothing, until a test says something."""
    wrong: list[str] = []

    async def trouble(self: SandboxCheck) -> str:
        return wrong[0] if wrong else ""

    monkeypatch.setattr(SandboxCheck, "trouble", trouble)
    monkeypatch.setattr(SandboxCheck, "begin", lambda self: None)
    return wrong


def border(app: CoTui) -> str:
    """The prompt's lower border."""
    return Content.from_markup(app.chat.prompt.border_subtitle or "").plain


def mode_line(app: CoTui) -> str:
    return Content.from_markup(app.chat.prompt.border_title or "").plain


async def test_shift_tab_goes_through_the_modes(home: Path, provider: Provider, monkeypatch: Any) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        assert border(app) == "ask"
        for mode, line in (
            ("edits", "edits: edits files here without asking; commands ask"),
            ("plan", "plan: changes nothing; the model writes a plan"),
            ("auto (sandbox)", "auto: edits files and runs commands in the sandbox"),
            ("ask", "ask: asks before changes and commands"),
            ("edits", "edits: edits files here without asking; commands ask"),
        ):
            await pilot.press("shift+tab")
            await until(pilot, lambda mode=mode, line=line: border(app) == mode and mode_line(app) == line)
        await ask(app, pilot, "hello")
        assert app.controller.state.mode == "edits" and border(app) == "edits", "it waited for the session"
        await pilot.press("shift+tab")
        await until(pilot, lambda: app.controller.state.mode == "plan" and border(app) == "plan")
        first = app.controller.session_id
        await pilot.press("f7")
        await until(pilot, lambda: not app.controller.session_id and border(app) == "ask")
        await pilot.press("shift+tab")
        await until(pilot, lambda: border(app) == "edits")
        app.run_command("resume", first)
        await until(pilot, lambda: app.controller.session is not None and app.controller.idle)
        assert app.controller.state.mode == border(app) == "plan", "what was chosen for a new session is for no other"


async def test_auto_is_skipped_where_no_sandbox_works(home: Path, provider: Provider, sandbox: list[str]) -> None:
    sandbox.append("bwrap is not installed")
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/mode plan\n")
        await until(pilot, lambda: border(app) == "plan")
        await pilot.press("shift+tab")
        await until(pilot, lambda: border(app) == "ask")
        assert mode_line(app) == "Skipped auto: no sandbox here. Now: ask"
        await type_text(pilot, "/mode auto\n")
        await until(pilot, lambda: "does not start here: bwrap is not installed." in transcript_text(app))
        assert border(app) == "ask"


async def test_what_is_not_offered_in_the_home_folder_is_skipped(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_for(home, provider)
    monkeypatch.setenv("HOME", str(launch.cwd))
    async with running(launch) as (app, pilot):
        await pilot.press("shift+tab")
        await until(pilot, lambda: border(app) == "plan")
        assert mode_line(app) == "Skipped edits: not offered in the home folder or above it. Now: plan"
        await pilot.press("shift+tab")
        await until(pilot, lambda: border(app) == "ask")
        await type_text(pilot, "/mode auto\n")
        await until(pilot, lambda: "Mode auto is not offered in the home folder" in transcript_text(app))
        assert border(app) == "ask"


async def test_mode_as_a_command(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/mode\n")
        await until(pilot, lambda: "○ edits" in transcript_text(app) and "● ask" in transcript_text(app))
        assert "Switch with Shift+Tab or /mode MODE." in transcript_text(app)
        await type_text(pilot, "/mode reckless\n")
        await until(pilot, lambda: "Unknown mode" in transcript_text(app))
        assert "Use one of ask, edits, plan, auto." in transcript_text(app) and border(app) == "ask"
        await type_text(pilot, "/mode edits\n")
        await until(pilot, lambda: border(app) == "edits")


@only_in_a_long_run
async def test_a_file_changes_without_asking_in_edits(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    provider.script = [call("write_file", path="a.txt", content="a"), call("run_command", command="touch b")]
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/mode edits\n")
        await until(pilot, lambda: border(app) == "edits")
        app.send("go")
        seen = await asked(app, pilot, "touch b")
        assert (home.parent / "a.txt").read_text() == "a" and "mode → edits" in seen
        await pilot.press("n")
        await until(pilot, lambda: app.controller.idle)


@only_in_a_long_run
async def test_an_accepted_plan_continues_in_the_mode_that_was_chosen(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    provider.script = [
        call("present_plan", steps=["Write it"], summary="One file."),
        call("write_file", path="a.txt", content="a"),
    ]
    async with running(launch_for(home, provider, environ={"CO_TUI_MODE": "plan"})) as (app, pilot):
        assert border(app) == "plan"
        app.send("go")
        await asked(app, pilot, "Accept this plan?")
        await pilot.press("e")
        await until(pilot, lambda: app.controller.idle)
        assert (home.parent / "a.txt").read_text() == "a" and border(app) == "edits"
        session_id = app.controller.session_id
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        assert border(app) == "ask" and app.controller.state.mode == "ask", "resumed as the settings say"


@only_in_a_long_run
async def test_the_mode_stays_on_the_border_while_a_turn_runs(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    provider.script = [call("run_command", command="touch b")]
    async with running(launch_for(home, provider), size=(60, 16)) as (app, pilot):
        app.send("go")
        await asked(app, pilot, "touch b")
        assert border(app).endswith("ask")
        await pilot.press("shift+tab")
        await until(pilot, lambda: border(app).endswith("edits") and app.controller.state.mode == "edits")
        assert "touch b" in screen_text(app), "the question is still there"
        await pilot.press("n")
        await until(pilot, lambda: app.controller.idle)


@only_in_a_long_run
async def test_elsewhere_shift_tab_means_what_it_meant(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/mo")
        await until(pilot, lambda: app.chat.is_offering)
        await pilot.press("shift+tab")
        await pilot.press("escape")
        app.chat.prompt.text = ""
        app.run_command("settings", "")
        await until(pilot, lambda: app.screen is not app.chat)
        await pilot.press("shift+tab", "escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert border(app) == "ask"


async def test_a_mode_of_the_settings_that_cannot_be_used_is_said(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def trouble(kind: str, *folders: Path) -> str:
        return "bwrap is not installed"

    monkeypatch.setattr("co_tui.session.approvals.modes.sandbox_failure", trouble)
    async with running(launch_for(home, provider, environ={"CO_TUI_MODE": "auto"})) as (app, pilot):
        await ask(app, pilot, "hello")
        assert transcript_text(app).count("does not start here") == 1 and border(app) == "ask"


@only_in_a_long_run
async def test_who_was_asked_about_calls_hears_of_the_modes(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    hint = "Shift+Tab switches the mode"
    asks = [call("run_command", command="touch b"), Reply(text="Done.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.controller.hints.used("folds")
        provider.script = asks
        app.send("go")
        await asked(app, pilot, "touch b")
        await pilot.press("n")
        await until(pilot, lambda: app.controller.idle and hint in transcript_text(app))
        await pilot.press("shift+tab")
        await until(pilot, lambda: hint not in transcript_text(app))


async def test_whether_a_sandbox_works_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    asked_for: list[str] = []

    async def trouble(kind: str, *folders: Path) -> str:
        asked_for.append(kind)
        return "bwrap is not installed"

    monkeypatch.setattr("co_tui.agent.permissions.sandbox.sandbox_failure", trouble)
    check = SandboxCheck()
    check.begin()
    assert [await check.trouble(), await check.trouble()] == ["bwrap is not installed"] * 2
    assert asked_for == ["bwrap"]
