"""Agents of a folder on the screen: asked about once, listed with their files."""

import json
import threading
from pathlib import Path

from co_tui.paths import locate
from co_tui.settings import project_trust_request
from co_tui.trust import Trust
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.settings.trust_screen import FileScreen
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, to_question, transcript_text, type_text, until

REVIEWER = "---\nname: reviewer\ndescription: Reads code.\nmodel: openai:other\ntools: Read, Browse\n---\nYou review.\n"


async def test_a_folder_with_agents_asks_once_and_lists_them(home: Path) -> None:
    agents = home.parent / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.md").write_text(REVIEWER)
    (agents / "odd.md").write_text("no front matter")
    async with running(launch_for(home), ready=False) as (app, pilot):
        await to_question(app, pilot)
        assert "has its own agents" in screen_text(app) and "reviewer on openai:other" in screen_text(app)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, FileScreen))
        assert "You review." in screen_text(app)
        await pilot.press("escape")
        await to_question(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.query(QuestionPanel))
    async with running(launch_for(home), ready=False) as (app, pilot):
        await until(pilot, lambda: "1 agent of" in transcript_text(app))
        assert "ignored until you run" in transcript_text(app) and not app.chat.query(QuestionPanel)
        await type_text(pilot, "/agents \n")
        await until(pilot, lambda: "a new run of the current agent" in transcript_text(app))
        assert "Reads code." not in transcript_text(app)
    (agents / "reviewer.md").write_text(REVIEWER.replace("Read, ", "Read, Grep, "))
    async with running(launch_for(home), ready=False) as (app, pilot):
        await to_question(app, pilot)
        await pilot.press("t")
        await until(pilot, lambda: "Trusted." in transcript_text(app))
        await type_text(pilot, "/agents \n")
        await until(pilot, lambda: "reviewer  Reads code." in transcript_text(app))
        shown = transcript_text(app)
        assert "tools Read, Grep, Browse · on openai:other · .claude/agents/reviewer.md" in shown
        assert "Unknown tool Browse" in shown and "Skipped agent" in shown


@only_in_a_long_run
async def test_one_at_work_shows_what_it_does_and_how_full_it_is(home: Path, provider: Provider) -> None:
    folder, looks, last = home.parent, threading.Event(), threading.Event()
    (folder / ".claude" / "agents").mkdir(parents=True)
    (folder / ".claude" / "agents" / "reviewer.md").write_text(REVIEWER.replace("model: openai:other\n", ""))
    (folder / "login.py").write_text("x = 1\n" * 30)
    provider.window = 60_000
    provider.script = [
        Reply("I ask.", tool=("delegate_task", json.dumps({"agent_name": "reviewer", "task": "Find the callers"}))),
        Reply(status=503, body='{"error": {"message": "overloaded"}}'),
        Reply("I look.", tool=("read_file", json.dumps({"path": "login.py"})), until=looks),
        Reply("Three callers.", until=last),
        Reply("So there are three."),
    ]
    wish = project_trust_request(folder)
    assert wish is not None
    Trust(locate({"CO_TUI_HOME": str(home)}).trust_file).remember(wish, trusted=True)
    async with running(launch_for(home, provider), size=(80, 24)) as (app, pilot):
        await type_text(pilot, "Who calls it?\n")
        await until(pilot, lambda: "asked · fresh · ~" in screen_text(app) or "again · fresh · ~" in screen_text(app))
        looks.set()
        await until(pilot, lambda: "read login.py · fresh · ~" in screen_text(app))
        assert "of 60k" in screen_text(app).split("read login.py")[1].split("\n")[0]
        last.set()
        await until(pilot, lambda: "So there are three." in transcript_text(app))
        assert "done · fresh · 1 call · " in screen_text(app)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "▸ read  login.py" in screen_text(app))
        opened = screen_text(app)
        assert "! openai-chat:scripted had a server error: overloaded" in opened and "context " in opened
    sent = provider.requests[1]["messages"]
    assert "You review." in json.dumps(sent[0]) and sent[-1]["content"] == "Find the callers"
    assert [tool["function"]["name"] for tool in provider.requests[1]["tools"]] == ["read_file"]


async def test_the_conversation_is_handed_over_and_back(home: Path, provider: Provider) -> None:
    folder = home.parent
    (folder / ".claude" / "agents").mkdir(parents=True)
    (folder / ".claude" / "agents" / "reviewer.md").write_text(REVIEWER.replace("model: openai:other\n", ""))
    provider.window = 60_000
    provider.script = [
        Reply("", tool=("transfer_to_agent", json.dumps({"agent_name": "reviewer", "message": "Look at it."}))),
        Reply("I looked."),
        Reply("Main again."),
    ]
    wish = project_trust_request(folder)
    assert wish is not None
    Trust(locate({"CO_TUI_HOME": str(home)}).trust_file).remember(wish, trusted=True)
    async with running(launch_for(home, provider), size=(130, 30)) as (app, pilot):
        await type_text(pilot, "Let it be reviewed.\n")
        await until(pilot, lambda: "I looked." in transcript_text(app) and app.controller.idle)
        assert "reviewer · openai-chat:scripted" in screen_text(app), "the title line"
        assert "⇄ agent → reviewer" in screen_text(app) and "hand over  reviewer Look at it." in screen_text(app)
        await type_text(pilot, "/agent nobody\n")
        await until(pilot, lambda: "Unknown agent 'nobody'. Use one of main." in transcript_text(app))
        await type_text(pilot, "/agent m")
        await until(pilot, lambda: "the session's own agent" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "main answers from now on." in transcript_text(app))
        assert "reviewer · openai-chat:scripted" not in screen_text(app)
        await type_text(pilot, "And you?\n")
        await until(pilot, lambda: "Main again." in transcript_text(app))
    assert ["You review." in json.dumps(each["messages"][0]) for each in provider.requests] == [False, True, False]
