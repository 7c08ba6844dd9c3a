"""Agents of a folder on the screen: asked about once, listed with their files."""

from pathlib import Path

from co_tui.ui.screens.trust import FileScreen
from co_tui.ui.widgets.question import QuestionPanel
from tests.support.screen import launch_for, running, screen_text, transcript_text, type_text, until

REVIEWER = (
    "---\nname: reviewer\ndescription: Reads code.\nmodel: openai:other\ntools: Read, WebFetch\n---\nYou review.\n"
)


async def test_a_folder_with_agents_asks_once_and_lists_them(home: Path) -> None:
    agents = home.parent / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.md").write_text(REVIEWER)
    (agents / "odd.md").write_text("no front matter")
    async with running(launch_for(home), ready=False) as (app, pilot):
        await until(pilot, lambda: isinstance(app.focused, QuestionPanel))
        assert "has its own agents" in screen_text(app) and "reviewer on openai:other" in screen_text(app)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, FileScreen))
        assert "You review." in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, QuestionPanel))
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.query(QuestionPanel))
    async with running(launch_for(home), ready=False) as (app, pilot):
        await until(pilot, lambda: "1 agent of" in transcript_text(app))
        assert "waits until you trust this folder" in transcript_text(app) and not app.chat.query(QuestionPanel)
        await type_text(pilot, "/agents \n")
        await until(pilot, lambda: "a fresh run of the agent" in transcript_text(app))
        assert "Reads code." not in transcript_text(app)
    (agents / "reviewer.md").write_text(REVIEWER.replace("Read, ", "Read, Grep, "))
    async with running(launch_for(home), ready=False) as (app, pilot):
        await until(pilot, lambda: isinstance(app.focused, QuestionPanel))
        await pilot.press("t")
        await until(pilot, lambda: "Trusted." in transcript_text(app))
        await type_text(pilot, "/agents \n")
        await until(pilot, lambda: "reviewer  Reads code." in transcript_text(app))
        shown = transcript_text(app)
        assert "tools Read, Grep, WebFetch · on openai:other · .claude/agents/reviewer.md" in shown
        assert "There is no tool WebFetch here" in shown and "odd.md defines no agent" in shown
