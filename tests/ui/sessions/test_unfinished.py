"""What the chat shows of a session that was left, or killed, in the middle of a turn."""

import json
from pathlib import Path

import pytest

from co_tui.events import Message
from co_tui.ui.approvals.question_bar import QuestionPanel
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, transcript_text, until
from tests.support.stores import stored_events

ASKS = Reply("I ask.", tool=("delegate_task", json.dumps({"agent_name": "self", "task": "Write it"})))
WRITES = Reply("I write.", tool=("write_file", json.dumps({"path": "new.txt", "content": "x"})))


async def left_at_its_question(home: Path, provider: Provider, cut_after: str | None = None) -> str:
    """The session, or with an agent named a copy as a kill after its latest reply leaves it."""
    provider.window, provider.script = 60_000, [ASKS, WRITES]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("Have it written.")
        await until(pilot, lambda: app.chat.query(QuestionPanel))
        assert "approval pending" in screen_text(app)
        session = app.controller.session
        assert session is not None
        if cut_after is None:
            return session.id
        said = [event for event in stored_events(home, session.id) if isinstance(event.fact, Message)]
        replies = [
            event for event in said if event.fact.agent == cut_after and event.fact.message["kind"] == "response"
        ]
        return await session.fork(upto=replies[-1].seq)


async def test_a_delegates_question_is_there_again(home: Path, provider: Provider) -> None:
    session_id = await left_at_its_question(home, provider)
    provider.script = [Reply("It is written."), Reply("All done.")]
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await until(pilot, lambda: app.chat.query(QuestionPanel))
        shown = transcript_text(app)
        assert "approval pending" in screen_text(app) and "interrupted" not in shown and "cut off" not in shown
        app.chat.query_one(QuestionPanel).focus()
        await pilot.press("y")
        await until(pilot, lambda: "All done." in transcript_text(app) and app.controller.idle)
        assert (home.parent / "new.txt").read_text() == "x"
        assert "done · fresh · 1 call" in screen_text(app) and not app.chat.query(QuestionPanel)
        assert transcript_text(app).count("I ask.") == 1
    told = provider.requests[-1]["messages"][-1]
    assert (told["role"], told["content"].strip()) == ("tool", "It is written.")


@pytest.mark.parametrize(
    ("cut_after", "status"),
    also_in_a_long_run([("self 1", "interrupted · fresh · 1 call")], [("", "interrupted")]),
)
async def test_a_call_that_never_became_a_question_is_interrupted(
    home: Path, provider: Provider, cut_after: str, status: str
) -> None:
    session_id = await left_at_its_question(home, provider, cut_after)
    provider.script = [Reply("Then not.")]
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await until(pilot, lambda: "the turn was cut off" in transcript_text(app))
        await until(pilot, lambda: status in screen_text(app))
        line = next(line for line in screen_text(app).split("\n") if "delegate_task" in line or "agent" in line)
        assert "…" not in line and "asked" not in line and not app.chat.query(QuestionPanel)
        app.send("And now?")
        await until(pilot, lambda: "Then not." in transcript_text(app) and app.controller.idle)
    assert [each["content"] for each in provider.requests[-1]["messages"] if each["role"] == "tool"] == [
        "Interrupted by user."
    ]
    assert not (home.parent / "new.txt").exists()
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await until(pilot, lambda: status in screen_text(app))
        assert transcript_text(app).count("the turn was cut off") == 1
