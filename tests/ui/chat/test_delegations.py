"""A delegation in the chat: one line that changes in place, and opens to what was done."""

import json
from dataclasses import asdict
from typing import Any

from co_tui.events import (
    CompactionComplete,
    CompactionStart,
    DelegationEnd,
    DelegationStart,
    Event,
    Fact,
    Message,
    PlanChanged,
    SessionInterrupted,
    ToolActivity,
    UsageInfo,
)
from co_tui.events.tool_wording import argument_lines
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of
from co_tui.ui.transcript.block_rendering import BlockLayout
from co_tui.ui.transcript.blocks import BlockBuilder

LOOK = TextRenderer(palette_of(DARK))


def event(fact: Fact, seq: int | None = 1, second: int = 5) -> Event:
    return Event(session_id="s", seq=seq, timestamp=f"2026-01-02T03:04:{second:02}+00:00", fact=fact)


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
    builder.add(
        event(
            DelegationStart(
                agent="self 1", name="self", task="find callers", call_id="d1", context="fresh", files=("a.py",)
            )
        )
    )
    assert block.status == "asked · fresh" and block.inner == "    · with a.py"
    working = ToolActivity(
        turn=1, tool_name="grep", tool_call_id="g", stage="started", text='{"q": "open"}', agent="self 1"
    )
    assert builder.delegated(event(working, None)) is block and block.status == "search open · fresh"
    builder.add(
        event(reply("self 1", {"part_kind": "text", "content": "Looking."}, call("grep", "g", q="open\x1b[31m")))
    )
    builder.add(event(result("self 1", "grep", "g", "a\nb\nc")))
    end = DelegationEnd(agent="self 1", outcome="done", usage={"input_tokens": 41_000}, cost=0.02)
    builder.add(event(end, second=43))
    builder.add(event(result("", "delegate_task", "d1", "Three callers.")))
    assert builder.blocks == [block], "nothing of a delegate stands beside the conversation"
    assert block.status == "done · fresh · 1 call · 41k · $0.02 · 38 s"
    assert block.result.split("\n") == [
        "    · with a.py",
        "    Looking.",
        "    ▸ search  open␛[31m",
        "      ↳ 3 lines",
        "Three callers.",
    ]


def test_two_at_once_are_distinguished() -> None:
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


def usage(agent: str, tokens: int, measured: str = "provider") -> UsageInfo:
    return UsageInfo(
        token_limit=100_000,
        current_tokens=tokens,
        messages_count=3,
        system_tokens=0,
        conversation_tokens=tokens,
        tool_definition_tokens=0,
        limit_known=True,
        measured=measured,
        agent=agent,
    )


def test_its_own_small_gauge_is_on_its_line_and_below_its_talk() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("", call("delegate_task", "d1", agent_name="self", task="find callers"))))
    (block,) = builder.blocks
    builder.add(event(DelegationStart(agent="self 1", name="self", task="find callers", call_id="d1")))
    builder.add(event(usage("self 1", 8_000, "estimate")))
    assert block.status == "asked · conversation · ~8.0k of 100k"
    started = ToolActivity(turn=1, tool_name="grep", tool_call_id="g", stage="started", text="{}", agent="self 1")
    assert builder.delegated(event(started, None)) is block
    assert (
        builder.delegated(event(usage("self 1", 12_000))) is block
        and block.status == "search · conversation · 12k of 100k"
    )
    builder.add(event(CompactionStart(trigger="window", agent="self 1")))
    assert block.status == "compacting · conversation · 12k of 100k"
    smaller = CompactionComplete(
        success=True, agent="self 1", pre_tokens=12_000, post_tokens=900, replaced=((1, 0),), summarised_by="offline"
    )
    builder.add(event(smaller))
    builder.add(event(usage("self 1", 900)))
    builder.add(event(DelegationEnd(agent="self 1", outcome="done", usage={"input_tokens": 900})))
    assert builder.blocks == [block] and block.status == "done · conversation · 0 calls · 900"
    assert block.inner.split("\n") == [
        "    · Conversation Compacted: 12,000 → 900 tokens, 1 of 1 message summarised as a work journal.",
        "    context 900 of 100k, 1 %",
    ]


def test_one_that_works_for_another_is_reported_in_the_fold_of_that_one() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("", call("delegate_task", "d1", task="one"))))
    (block,) = builder.blocks
    builder.add(event(DelegationStart(agent="self 1", name="self", call_id="d1")))
    builder.add(event(reply("self 1", call("delegate_task", "e1", agent_name="reviewer", task="two"))))
    builder.add(event(DelegationStart(agent="self 1/reviewer 1", name="reviewer", call_id="e1")))
    assert block.status == "reviewer: asked · conversation"
    builder.add(event(reply("self 1/reviewer 1", {"part_kind": "text", "content": "Fine."})))
    builder.add(event(DelegationEnd(agent="self 1/reviewer 1", outcome="done", usage={"input_tokens": 50})))
    builder.add(event(DelegationEnd(agent="self 1", outcome="done", usage={"input_tokens": 90})))
    assert builder.blocks == [block] and block.status == "done · conversation · 1 call · 90"
    assert block.inner.split("\n")[1:] == ["        Fine.", "        ↳ reviewer: done · conversation · 0 calls · 50"]


def test_one_that_never_began_has_no_figures() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("", call("delegate_task", "d1", agent_name="self", task="find callers"))))
    (block,) = builder.blocks
    builder.add(event(DelegationStart(agent="self 1", name="self", task="find callers", call_id="d1")))
    builder.add(event(DelegationEnd(agent="self 1", outcome="failed", error="No key.")))
    assert block.status == "failed: No key."


def test_one_that_failed_says_how() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("", call("delegate_task", "d1", agent_name="self", task="find callers"))))
    (block,) = builder.blocks
    builder.add(event(DelegationStart(agent="self 1", name="self", task="find callers", call_id="d1")))
    why = "The provider is not reachable · it refused the connection at 127.0.0.1:9 three times in a row"
    builder.add(event(DelegationEnd(agent="self 1", outcome="failed", error=why, usage={"input_tokens": 900})))
    builder.add(event(result("", "delegate_task", "d1", "self 1 failed")))
    assert (
        block.status
        == "failed: The provider is not reachable, it refused the connection a… · conversation · 0 calls · 900"
    )
    assert f"! {why}" in block.result
    laid = BlockLayout(block, LOOK, 80)
    title = [laid.text_of(n) for n in range(laid.height)][-1]
    assert "▸ agent  find" in title and "failed: The provider is not reachable" in title


def test_a_delegates_change_has_its_figures() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("", call("delegate_task", "d1", agent_name="self", task="mend it"))))
    builder.add(event(DelegationStart(agent="self 1", name="self", call_id="d1")))
    builder.add(event(reply("self 1", call("write_file", "w", path="a.py", content="x"))))
    part = {"part_kind": "tool-return", "tool_name": "write_file", "tool_call_id": "w", "content": "Wrote 1 char"}
    part |= {"metadata": {"co_tui_diff": "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-y\n+x"}}
    builder.add(event(Message(turn=1, agent="self 1", message={"kind": "request", "parts": [part]})))
    assert builder.blocks[0].inner.split("\n") == ["    ▸ write  a.py", "      ↳ +1 −1"]


def test_an_interruption_is_reported_once() -> None:
    builder = BlockBuilder()
    builder.add(
        event(Message(turn=1, interrupted=True, message=reply("", {"part_kind": "text", "content": "So"}).message))
    )
    assert builder.blocks[-1].interrupted
    builder.add(event(SessionInterrupted(what="interrupted by the user", outcome="kept what came")))
    partial, note = builder.blocks
    continues = "F9 continues, or type a correction."
    assert not partial.interrupted and builder.touched == [partial]
    assert note.text == f"Stopped. Partial reply kept. {continues}"
    builder.user("again", "12:00")
    assert note.text == "Stopped. Partial reply kept."
    builder.add(event(SessionInterrupted(what="interrupted by the user", outcome="kept what came")))
    assert builder.blocks[-1].text == f"Stopped. {continues}"


def test_writing_a_plan_has_no_line_unless_it_fails() -> None:
    builder = BlockBuilder()
    builder.user("go", "12:00")
    builder.add(event(reply("", call("write_plan", "p1"))))
    builder.add(
        event(PlanChanged(steps=({"text": "read", "state": "completed"}, {"text": "mend", "state": "pending"})))
    )
    builder.add(event(result("", "write_plan", "p1", "ok")))
    (_, plan) = builder.blocks
    assert (plan.kind, plan.first_of_reply, plan.folded, plan.result) == ("plan", True, False, "✓ read\n○ mend")
    builder.add(event(reply("", call("write_plan", "p2"))))
    part = {"part_kind": "tool-return", "tool_name": "write_plan", "tool_call_id": "p2", "content": "no items"}
    part |= {"outcome": "failed"}
    builder.add(event(Message(turn=1, message={"kind": "request", "parts": [part]})))
    assert [block.status for block in builder.blocks[2:]] == ["failed"]


def test_one_that_a_limit_stopped_says_so_in_a_warning() -> None:
    builder = BlockBuilder()
    builder.add(event(reply("", call("delegate_task", "d1", agent_name="self", task="find callers"))))
    (block,) = builder.blocks
    builder.add(event(DelegationStart(agent="self 1", name="self", task="find callers", call_id="d1", context="fresh")))
    why = "Stopped after 200 steps (agent_max_steps). Everything is kept."
    builder.add(event(DelegationEnd(agent="self 1", outcome="stopped", error=why, usage={"input_tokens": 900})))
    assert block.status == "stopped · fresh · 0 calls · 900" and f"! {why}" in block.inner


def test_an_opened_delegation_names_its_task_not_its_arguments() -> None:
    assert argument_lines('{"agent_name": "self", "task": "find callers"}') == "task: find callers"
    assert argument_lines('{"agent_name": "reviewer", "task": "two"}') == "agent: reviewer\ntask: two"


def test_a_page_of_a_long_delegation_shows_what_its_events_showed_one_by_one() -> None:
    steps = [
        fact
        for n in range(30)
        for fact in (
            reply("self 1", {"part_kind": "text", "content": f"Step {n}."}, call("grep", f"g{n}", q=f"x{n}")),
            result("self 1", "grep", f"g{n}", "a\nb"),
        )
    ]
    nested = DelegationStart(agent="self 1/self 2", name="self", task="again", call_id="d2", context="fresh")
    facts = [
        reply("", call("delegate_task", "d1", task="find callers"), call("run_command", "r1", command="ls")),
        DelegationStart(agent="self 1", name="self", task="find callers", call_id="d1", context="fresh"),
        *steps,
        result("", "run_command", "r1", "a.py"),
        nested,
        reply("self 1/self 2", {"part_kind": "text", "content": "Within."}),
        DelegationEnd(agent="self 1/self 2", outcome="done"),
        DelegationEnd(agent="self 1", outcome="done"),
        result("", "delegate_task", "d1", "Three callers."),
    ]
    events = [event(fact, seq) for seq, fact in enumerate(facts, 1)]
    one_by_one, at_once = BlockBuilder(), BlockBuilder()
    for each in events:
        one_by_one.add(each)
    at_once.add_all(events)
    assert [asdict(block) for block in at_once.blocks] == [asdict(block) for block in one_by_one.blocks]
    delegation, command = at_once.blocks
    assert delegation.result.startswith("    Step 0.\n") and delegation.result.endswith("\nThree callers.")
    assert "        Within." in delegation.result and delegation.result.count("▸") == 30
    assert command.result == "a.py"
