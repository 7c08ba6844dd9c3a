"""A delegation in the chat: one line that changes in place, and opens to what was done."""

import json
from typing import Any

from co_tui.events import DelegationEnd, DelegationStart, Event, Fact, Message, ToolActivity
from co_tui.ui.widgets.blocks import BlockBuilder


def event(fact: Fact, seq: int | None = 1) -> Event:
    return Event(session_id="s", seq=seq, timestamp="2026-01-02T03:04:05+00:00", fact=fact)


def reply(agent: str = "", *parts: dict[str, Any]) -> Message:
    return Message(turn=1, agent=agent, message={"kind": "response", "parts": list(parts)})


def call(tool: str, call_id: str, **arguments: str) -> dict[str, Any]:
    return {"part_kind": "tool-call", "tool_name": tool, "tool_call_id": call_id, "args": json.dumps(arguments)}


def result(agent: str, tool: str, call_id: str, content: str) -> Message:
    part = {"part_kind": "tool-return", "tool_name": tool, "tool_call_id": call_id, "content": content}
    return Message(turn=1, agent=agent, message={"kind": "request", "parts": [part]})


def test_a_delegation_is_one_line_with_a_live_gist_and_opens_to_its_own_talk() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("", call("delegate_task", "d1", agent_name="self", task="find callers"))))
    (block,) = builder.blocks
    builder.add(event(DelegationStart(agent="self 1", name="self", task="find callers", call_id="d1")))
    assert block.status == "asked"
    working = ToolActivity(
        turn=1, tool_name="grep", tool_call_id="g", stage="started", text='{"q": "open"}', agent="self 1"
    )
    assert builder.delegated(event(working, None)) is block and block.status == "grep open"
    builder.add(
        event(reply("self 1", {"part_kind": "text", "content": "Looking."}, call("grep", "g", q="open\x1b[31m")))
    )
    builder.add(event(result("self 1", "grep", "g", "a\nb\nc")))
    builder.add(event(DelegationEnd(agent="self 1", outcome="done", usage={"input_tokens": 41_000}, cost=0.02)))
    builder.add(event(result("", "delegate_task", "d1", "Three callers.")))
    assert builder.blocks == [block], "nothing of a delegate stands beside the conversation"
    assert block.status == "done · 1 call · 41k · $0.02"
    assert block.result.split("\n") == ["    Looking.", "    ▸ grep  open␛[31m", "      ↳ 3 lines", "Three callers."]


def test_two_at_once_are_told_apart() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("", call("delegate_task", "d1", task="one"), call("delegate_task", "d2", task="two"))))
    for n in (1, 2):
        builder.add(event(DelegationStart(agent=f"self {n}", name="self", call_id=f"d{n}")))
    for n in (2, 1):
        builder.add(event(reply(f"self {n}", {"part_kind": "text", "content": f"I am {n}."})))
    assert [block.inner for block in builder.blocks] == ["    I am 1.", "    I am 2."]


def test_what_belongs_to_no_call_that_is_shown_is_left_out() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("self 9", {"part_kind": "text", "content": "lost"})))
    assert builder.blocks == []
