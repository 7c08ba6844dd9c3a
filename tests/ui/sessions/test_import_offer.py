"""The first start on a machine where other programs have sessions."""

import threading
from pathlib import Path
from typing import Any

import pytest

from co_tui.exchange.intake import import_files
from co_tui.ui.approvals.question_bar import QuestionPanel
from tests.support.foreign import claude_row, write_lines
from tests.support.provider import Provider
from tests.support.screen import answer, launch_for, running, screen_text, transcript_text, until
from tests.support.stores import listed


@pytest.fixture
def user_home(tmp_path: Path) -> Path:
    folder = tmp_path / "user" / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    for number in range(3):
        write_lines(folder / f"{number}.jsonl", [claude_row("user", f"talk {number}", sessionId=f"s{number}")])
    return tmp_path / "user"


def other_programs_in(user_home: Path) -> dict[str, Any]:
    return {"environ": {"HOME": str(user_home)}}


async def test_sessions_of_other_programs_are_offered_once_and_imported_in_the_background(
    home: Path, user_home: Path, provider: Provider
) -> None:
    async with running(launch_for(home, provider, **other_programs_in(user_home)), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "3 Claude Code sessions on this machine" in screen_text(app))
        await answer(app, pilot, "i")
        await until(pilot, lambda: "3 sessions imported. F2 shows all sessions." in transcript_text(app))
        assert "on this machine" not in screen_text(app) and len(listed(home)) == 3
        app.run_command("import", "")
        await until(pilot, lambda: "3 Claude Code sessions on this machine" in screen_text(app))
        await answer(app, pilot, "i")
        await until(pilot, lambda: "0 sessions imported, 3 already imported." in transcript_text(app))


async def test_not_now_is_remembered_and_the_command_still_asks(
    home: Path, user_home: Path, provider: Provider
) -> None:
    launch = other_programs_in(user_home)
    async with running(launch_for(home, provider, **launch)) as (app, pilot):
        await answer(app, pilot, "escape")
        await until(pilot, lambda: "Import them later with /import." in transcript_text(app))
    assert "import-offered" in (home / "state" / "hints.json").read_text() and listed(home) == []
    async with running(launch_for(home, provider, **launch)) as (app, pilot):
        app.run_command("import", "")
        await until(pilot, lambda: "3 Claude Code sessions" in screen_text(app))


async def test_esc_stops_the_import_after_the_present_file(
    home: Path, user_home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, second = threading.Event(), threading.Event()
    load = import_files.load

    def held(file: Path) -> Any:
        if file.name == "1.jsonl":
            second.set()
            goes_on.wait(60)
        return load(file)

    monkeypatch.setattr(import_files, "load", held)
    async with running(launch_for(home, provider, **other_programs_in(user_home)), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "3 Claude Code sessions" in screen_text(app))
        await answer(app, pilot, "i")
        await until(pilot, lambda: second.is_set() and "1 of 3 files   1 session imported" in screen_text(app))
        app.chat.query_one(QuestionPanel).focus()
        await pilot.press("escape")
        await until(pilot, lambda: "Stopping after this file." in screen_text(app))
        goes_on.set()
        await until(pilot, lambda: "Stopped after 2 of 3 files: 2 sessions imported." in transcript_text(app))


async def test_a_machine_without_other_programs_is_not_asked(home: Path, tmp_path: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider, **other_programs_in(tmp_path / "nobody"))) as (app, pilot):
        app.run_command("import", "")
        await until(pilot, lambda: "No sessions of other programs found on this machine." in transcript_text(app))


async def test_the_user_s_own_files_for_claude_code_are_offered_once(
    home: Path, tmp_path: Path, provider: Provider
) -> None:
    commands = tmp_path / "user" / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "say-it.md").write_text("Say it.")
    launch = other_programs_in(tmp_path / "user")
    async with running(launch_for(home, provider, **launch), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "You have files for Claude Code or Codex" in screen_text(app))
        await answer(app, pilot, "u")
        await until(pilot, lambda: app.launch.settings.files_of_other_agents == "on")
    assert 'files_of_other_agents = "on"' in (home / "config" / "config.toml").read_text()
