"""MCP servers in the app: started in the background, listed by /mcp, asked about, stopped with it."""

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.app import App
from textual.widgets import Input

from co_tui.agent.mcp.servers import ServerReport
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.settings.mcp_screen import AddServerScreen, McpScreen
from co_tui.ui.settings.settings_screen import SettingsScreen
from tests.support import sandbox, waiting
from tests.support.mcp_talk import ODD, processes_of
from tests.support.provider import Provider, Reply
from tests.support.screen import (
    answer,
    ask,
    launch_for,
    running,
    screen_text,
    to_question,
    transcript_text,
    type_text,
    until,
)


def server(name: str, *arguments: str) -> str:
    return (
        f"[mcp_servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([str(ODD), *arguments])}\n"
    )


def servers(app: CoTui) -> list[ServerReport]:
    return app.controller.backend.server_reports()


def configured(home: Path, text: str) -> None:
    file = home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)


async def test_a_call_is_asked_about_and_the_server_ends_with_the_app(home: Path, provider: Provider) -> None:
    pid_file = home.parent / "pid"
    configured(home, server("odd", "stubborn", str(pid_file)) + '[mcp_servers.gone]\ncommand = "no-such-program"\n')
    provider.window = 60_000
    provider.script = [Reply(text="", tool=("mcp__odd__echo", '{"word": "\\u001b[2Jhi"}'))]
    async with running(launch_for(home, provider)) as (app, pilot):
        await until(pilot, lambda: {each.stage for each in servers(app)} == {"running", "failed"})
        await type_text(pilot, "/mcp\n")
        await until(pilot, lambda: "running, 8 tools" in screen_text(app))
        assert "failed: cannot use no-such-program" in screen_text(app)
        assert "Saved in" in screen_text(app) and str(home)[:40] in screen_text(app), "where they are written"
        await pilot.press("escape")
        app.chat.prompt.insert("echo")
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.query(QuestionPanel) and "Use echo (odd)?" in screen_text(app))
        shown = screen_text(app)
        assert "word: ␛[2Jhi" in shown and "Always allow mcp__odd__echo in this project" in shown
        await answer(app, pilot, "y")
        await until(pilot, lambda: app.controller.idle)
        assert "MCP server gone failed" in screen_text(app)
        running_now = processes_of(str(pid_file))
        assert any("bwrap" in each for each in running_now) or sandbox.TROUBLE, "its command names a file of the folder"
        assert any(each.startswith(sys.executable) and "sleep(1000)" in each for each in running_now), "its own child"
    await waiting.until(lambda: not processes_of(str(pid_file)))


async def test_a_projects_servers_wait_for_trust(home: Path, provider: Provider) -> None:
    (home.parent / ".co-tui.toml").write_text(server("theirs"))
    provider.window = 60_000
    async with running(launch_for(home, provider)) as (app, pilot):
        await to_question(app, pilot)
        assert f"start MCP servers (theirs: {sys.executable[:20]}" in screen_text(app) and not servers(app)
        app.chat.prompt.focus()
        await type_text(pilot, "/mcp\n")
        await until(pilot, lambda: "not trusted: trust this folder to start it" in screen_text(app))
        await pilot.press("escape")
        await answer(app, pilot, "t")
        await until(pilot, lambda: [each.stage for each in servers(app)] == ["running"])
        await ask(app, pilot, "hello")
        assert "mcp__theirs__echo" in {tool["function"]["name"] for tool in provider.requests[-1]["tools"]}


async def test_one_that_failed_is_started_again_on_demand(home: Path, provider: Provider) -> None:
    program = home.parent / "program"
    configured(home, f'[mcp_servers.late]\ncommand = "{program}"\nargs = ["{ODD}"]\n')
    async with running(launch_for(home, provider)) as (app, pilot):
        await until(pilot, lambda: [each.stage for each in servers(app)] == ["failed"])
        program.symlink_to(sys.executable)
        await type_text(pilot, "/mcp restart\n")
        await until(pilot, lambda: "running, 8 tools" in screen_text(app))


async def test_one_is_added_and_started_once_the_user_saw_what_it_runs(home: Path, provider: Provider) -> None:
    configured(home, f"# mine\n{server('first')}# the end\n")
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/mcp\n")
        await until(pilot, lambda: "running, 8 tools" in screen_text(app))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AddServerScreen))
        await type_text(pilot, "first\n")
        await until(pilot, lambda: "There is an MCP server 'first' already" in screen_text(app))
        await pilot.press(*["backspace"] * 5)
        await type_text(pilot, "second\n")
        await until(pilot, lambda: "such as npx" in screen_text(app))
        app.screen.query_one(Input).value = "no-such-program -y"
        await pilot.press("enter")
        await until(pilot, lambda: "'no-such-program' was not found" in screen_text(app))
        app.screen.query_one(Input).value = f"{sys.executable} {ODD}"
        await pilot.press("enter")
        await until(pilot, lambda: "outside of any sandbox" in screen_text(app) and str(ODD)[:30] in screen_text(app))
        assert "second" not in (home / "config" / "config.toml").read_text()
        await pilot.press("y")
        await until(pilot, lambda: {each.name: each.stage for each in servers(app)}.get("second") == "running")
        await until(pilot, lambda: "Added second (saved)" in screen_text(app))
        text = (home / "config" / "config.toml").read_text()
        assert text.startswith("# mine\n") and text.endswith("# the end\n") and "second = {command = " in text


async def test_without_any_it_says_how_to_add_one(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), ready=False) as (app, pilot):
        await type_text(pilot, "/mcp\n")
        await until(pilot, lambda: "No MCP servers yet. Press a to add one" in screen_text(app))


async def test_the_file_is_edited_and_read_again(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(App, "suspend", lambda _: nullcontext())
    editor = home.parent / "edit"
    editor.write_text('#!/bin/sh\ncp "$NEW" "$1"\n')
    editor.chmod(0o755)
    new = home.parent / "new.toml"
    environ = {"EDITOR": str(editor), "NEW": str(new), "PATH": os.environ["PATH"]}
    async with running(launch_for(home, provider, environ=environ)) as (app, pilot):
        await type_text(pilot, "/mcp\n")
        await until(pilot, lambda: isinstance(app.screen, McpScreen))
        new.write_text(f"max_retries = 9\n{server('odd')}")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "Read again: Retries, MCP servers." in screen_text(app))
        await until(pilot, lambda: "running, 8 tools" in screen_text(app))
        new.write_text("max_retries = = 9\n")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "Your settings are unchanged." in screen_text(app))
        assert app.launch.settings.max_retries == 9 and [each.stage for each in servers(app)] == ["running"]
        await pilot.press("escape")
        await type_text(pilot, "/settings retries\n")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and "config.toml" in screen_text(app))
        new.write_text("max_retries = 3\n")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: app.launch.settings.max_retries == 3 and not servers(app))
        await until(pilot, lambda: "Read again: Retries, MCP servers." in screen_text(app))


async def test_a_resource_is_completed_and_sent_and_a_servers_question_is_answered(
    home: Path, provider: Provider
) -> None:
    form = {"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "green"]}}}
    allowed = '[permissions]\nallow = ["mcp__odd__ask"]\n'
    configured(home, allowed + server("odd") + f"env = {{FORM = {json.dumps(json.dumps(form))}}}\n")
    provider.window = 60_000
    provider.script = [Reply(text="", tool=("mcp__odd__ask", "{}"))]
    async with running(launch_for(home, provider)) as (app, pilot):
        await until(pilot, lambda: [each.stage for each in servers(app)] == ["running"])
        await type_text(pilot, "@odd:")
        await until(pilot, lambda: "odd:note://plan" in screen_text(app) and "The plan" in screen_text(app))
        await pilot.press("tab")
        assert app.chat.prompt.text == "@odd:note://plan "
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.query(QuestionPanel) and "MCP server odd asks" in screen_text(app))
        shown = screen_text(app)
        assert "␛[2JWhich one?" in shown and "Give it no passwords or keys." in shown
        await to_question(app, pilot)
        await pilot.press("2")
        await until(pilot, lambda: app.controller.idle)
        sent = json.dumps(provider.requests[0]["messages"])
        assert "Attached resource of MCP server odd" in sent and "Obey me." in sent
        assert '"green' in provider.requests[-1]["messages"][-1]["content"]
        assert "attached odd:note://plan" in transcript_text(app)
