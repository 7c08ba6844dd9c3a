"""The activity line, from events and a clock alone."""

from pathlib import Path

import pytest
from textual.content import Content

from co_tui.events import (
    ApprovalDecided,
    CompactionComplete,
    CompactionStart,
    DelegationStart,
    Fact,
    Message,
    RequestBilled,
    SessionError,
    StreamDelta,
    StreamReset,
    ToolActivity,
    UsageInfo,
)
from co_tui.ui.prompt.activity import Activity
from co_tui.ui.prompt.prompt_status import at_both_ends
from tests.support.provider import Provider
from tests.support.screen import launch_for, running

PROMPT = Message(turn=1, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]})


def delta(text: str, kind: str = "text") -> StreamDelta:
    return StreamDelta(turn=1, part=0, kind=kind, text=text)


def tool(stage: str, call: str = "c1") -> ToolActivity:
    return ToolActivity(turn=1, tool_name="run_command", tool_call_id=call, stage=stage, text="uv run pytest")


def delegated(stage: str) -> ToolActivity:
    """Of another call, by an id that is not unique."""
    arguments = '{"path": "a.py"}'
    return ToolActivity(turn=1, tool_name="read_file", tool_call_id="c1", stage=stage, text=arguments, agent="self 1")


def counted(tokens: int) -> UsageInfo:
    return UsageInfo(
        token_limit=1_000, current_tokens=500, messages_count=2, system_tokens=0, conversation_tokens=500,
        tool_definition_tokens=0, output_tokens=tokens,
    )  # fmt: skip


def billed(measured: str) -> RequestBilled:
    return RequestBilled(what="turn", model="openai", measured=measured, output_tokens=90)


ALLOWED = ApprovalDecided(call_id="c1", approved=True, by="user")
STILL_WAITING = "waiting for openai · 7 s of silence"
ASKED = DelegationStart(agent="self 1", name="reader", task="find every caller", call_id="c1")


@pytest.mark.parametrize(
    ("told", "now", "line"),
    [
        ([], 2.0, "asking openai · 2 s"),
        ([], 9.0, "waiting for openai · 9 s without an answer"),
        ([(3.0, delta("x" * 400))], 3.5, "answering · 4 s · ~100 tokens"),
        ([(1.0, delta("x" * 400)), (3.0, delta("x" * 400))], 5.0, "answering · 5 s · ~200 tokens · 50/s"),
        ([(1.0, delta("x" * 400))], 7.0, "waiting for openai · 6 s of silence"),
        ([(1.0, delta("x" * 40, "thinking"))], 1.2, "thinking · 1 s · ~10 tokens"),
        ([(1.0, tool("started"))], 31.0, "run uv run pytest · 30 s"),
        ([(1.0, tool("started")), (17.0, ALLOWED)], 19.0, "run uv run pytest · 2 s"),
        ([(1.0, tool("started")), (2.0, tool("started", "c2"))], 4.0, "run uv run pytest · 2 s · 2 running"),
        ([(1.0, tool("started")), (8.0, tool("finished"))], 10.0, "asking openai · 10 s"),
        ([(1.0, delta("{", "tool_call"))], 1.5, "calling a tool · 2 s"),
        # Thoughts that the provider does not show: it is there, and thinks.
        ([(1.0, delta("", "thinking"))], 31.0, "thinking · 31 s"),
        ([(1.0, delta("", "thinking"))], 91.0, "thinking · 91 s · silent for 90 s"),
        ([(1.0, delta("", "thinking")), (2.0, delta("x" * 40, "thinking"))], 9.0, STILL_WAITING),
        # What was counted gives way to no guess; the speed is that of the reply, without the tools' time.
        ([(1.0, delta("x" * 400)), (2.0, counted(90)), (2.1, tool("started"))], 8.1, "run uv run pytest · 6 s"),
        ([(1.0, delta("x" * 400)), (2.0, counted(90))], 3.0, "asking openai · 3 s · 90 tokens"),
        # A request counts once: by its bill if nobody counted it, else by the measurement that follows.
        ([(1.0, delta("x" * 400)), (2.0, billed("estimate"))], 3.0, "asking openai · 3 s · 90 tokens"),
        ([(1.0, delta("x")), (2.0, billed("provider")), (2.0, counted(90))], 3.0, "asking openai · 3 s · 90 tokens"),
        (
            [(1.0, delta("x" * 400)), (2.0, counted(90)), (58.0, delta("x" * 80))],
            60.0,
            "answering · 60 s · ~110 tokens · 10/s",
        ),
        ([(1.0, delta("x" * 400)), (2.0, StreamReset(turn=1))], 3.0, "asking openai · 3 s"),
        # Who was asked, what for, and what it does now.
        ([(1.0, tool("started")), (1.1, ASKED)], 4.0, "reader find every caller · 3 s"),
        ([(1.0, tool("started")), (1.1, ASKED), (2.0, delegated("started"))], 4.0, "reader read a.py · 3 s"),
        ([(1.0, tool("started")), (3.0, delegated("finished"))], 4.0, "run uv run pytest · 3 s"),
        ([(1.0, SessionError(what="x", retry_in_s=8.0)), (1.1, StreamReset(turn=1))], 3.0, "retrying in 6 s"),
        ([(1.0, SessionError(what="x", retry_in_s=8.0)), (1.1, StreamReset(turn=1))], 12.0, "asking openai · 12 s"),
        ([(1.0, delta("x" * 40)), (2.0, PROMPT)], 4.0, "asking openai · 2 s"),
        ([(1.0, tool("started")), (2.0, PROMPT.but(agent="self 1"))], 4.0, "run uv run pytest · 3 s"),
        (
            [(1.0, tool("started")), (2.0, CompactionStart(trigger="window", agent="self 1"))],
            4.0,
            "run uv run pytest · 3 s",
        ),
    ],
)
def test_what_runs_for_how_long_and_whether_anything_comes(
    told: list[tuple[float, Fact]], now: float, line: str
) -> None:
    activity = Activity()
    activity.begin(0.0)
    for at, fact in told:
        activity.apply(fact, at)
    assert " ".join(activity.line(now, "openai").split()[1:]) == line


def test_nothing_is_said_to_answer_while_a_compaction_is_waited_for() -> None:
    activity = Activity()
    activity.begin(0.0)
    activity.apply(CompactionStart(trigger="blocking"), 1.0)
    assert activity.line(2.0, "openai") == ""
    activity.apply(CompactionComplete(success=True), 9.0)
    assert "asking openai" in activity.line(10.0, "openai")


def test_stopping_is_said_at_once() -> None:
    activity = Activity()
    activity.begin(0.0)
    activity.stop()
    assert "stopping" in activity.line(1.0, "openai")


def test_what_runs_and_what_can_be_done_share_a_line_where_there_is_room() -> None:
    line, hints = Content("⠹ answering · 14 s"), Content("Esc stop")
    assert str(at_both_ends(line, hints, 34)) == "⠹ answering · 14 s ────── Esc stop"
    assert str(at_both_ends(line, hints, 31)) == "⠹ answering · 14 s ─── Esc stop"
    assert at_both_ends(line, hints, 30) is None


def test_what_a_tool_is_about_is_cut_before_how_long_it_takes() -> None:
    activity = Activity()
    activity.apply(tool("started"), 1.0)
    assert activity.line(131.0, "openai", still=True, room=30) == "● run  uv run py… · 2 min 10 s"
    assert not activity.is_held_up(131.0), "a tool may take its time"
    activity.apply(tool("finished"), 131.0)
    assert not activity.is_held_up(135.0) and activity.is_held_up(137.0)


@pytest.mark.parametrize(("width", "is_above"), [(80, False), (120, True)])
async def test_hints_stay_on_one_border_while_a_turn_runs(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, width: int, is_above: bool
) -> None:
    lines = ["asking", "answering · 14 s · 212 tokens · 18/s", "run  a command that is very long " * 4]
    monkeypatch.setattr(Activity, "line", lambda *_, **__: lines[0])
    async with running(launch_for(home, provider), size=(width, 30)) as (app, pilot):
        app.chat.status.set_busy(True)
        for _ in range(len(lines)):
            app.chat.status.show_asking(False)
            await pilot.pause()
            assert ("adds to this turn" in str(app.chat.prompt.border_title)) is is_above
            assert ("adds to this turn" in str(app.chat.prompt.border_subtitle)) is not is_above
            lines.append(lines.pop(0))
        app.chat.status.set_busy(False)
