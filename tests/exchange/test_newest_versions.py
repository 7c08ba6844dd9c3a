"""What the newest versions of other programs wrote when they were run with a scripted model, shortened.

Codex CLI 0.169.0, Gemini CLI 0.61.0, Qwen Code 0.15.10, opencode 1.18.33, pi 0.73.1, llm 0.36, aider 0.86.2 and Claude
Code 2.1.197. Here are those whose form had changed; the others are read as before.
"""

import json
from pathlib import Path

from pydantic_ai.messages import ModelMessage, TextPart, ThinkingPart

from co_tui.exchange.importers import load
from co_tui.exchange.importers.default_folders import files_in
from tests.support.foreign import claude_call, claude_result, claude_row, codex_row, codex_said, counts, write_lines


def said(messages: list[ModelMessage]) -> tuple[int, int, int, int]:
    found = counts(messages)
    return found["prompts"], found["replies"], found["calls"], found["pairs"]


def test_codex_0_169(tmp_path: Path) -> None:
    usage = {"input_tokens": 120, "cached_input_tokens": 20, "output_tokens": 12}
    rows = [
        codex_row("session_meta", session_id="s", id="s", cwd="/w", account_scoped=True),
        codex_row("event_msg", type="task_started", turn_id="t"),
        codex_row("world_state", full=True, state={}),
        codex_row("turn_context", turn_id="t", model="scripted"),
        codex_said("user", "Read the note", 1),
        codex_row("event_msg", 1, type="item_completed", item={"type": "UserMessage", "content": []}),
        codex_row(
            "response_item", 2, type="reasoning", summary=[{"type": "summary_text", "text": "Hm."}], content=None
        ),
        codex_said("assistant", "I will read it.", 2),
        codex_row("response_item", 2, type="function_call", name="exec_command", arguments="{}", call_id="c"),
        codex_row("token_usage_record", 2, turn_id="t", response_id="r", usage=usage),
        codex_row("response_item", 3, type="function_call_output", call_id="c", output="Output:\nhello\n"),
        codex_row("event_msg", 3, type="token_count", info={"last_token_usage": usage}),
        codex_said("assistant", "It says hello.", 4),
        codex_row("event_msg", 4, type="task_complete", turn_id="t", last_agent_message="It says hello."),
    ]
    (session,) = load(write_lines(tmp_path / "rollout-1.jsonl", rows))
    assert said(session.messages) == (1, 2, 1, 1) and session.left_out == {}


def test_gemini_cli_0_61(tmp_path: Path) -> None:
    """A result is written with its call, and once more as it was sent."""
    sent = [{"functionResponse": {"id": "c", "name": "run_shell_command", "response": {"output": "hello"}}}]
    reply = {"id": "m2", "type": "gemini", "content": "I will read it.", "thoughts": [{"description": "Hm."}]}
    call = {"id": "c", "name": "run_shell_command", "args": {"command": "cat"}, "result": sent, "status": "success"}
    rows = [
        {"sessionId": "s", "projectHash": "p", "startTime": "2026-03-01T10:00:00Z", "kind": "main"},
        {"$set": {"messages": [{"id": "m0", "type": "user", "content": [{"text": "<session_context>\nLinux"}]}]}},
        {"id": "m1", "type": "user", "content": [{"text": "Read the note"}]},
        reply,
        reply | {"toolCalls": [call]},
        {"id": "m3", "type": "user", "content": sent},
        {"id": "m4", "type": "gemini", "content": "It says hello."},
    ]
    (session,) = load(write_lines(tmp_path / "session-1.jsonl", rows))
    assert said(session.messages) == (2, 2, 1, 1) and session.left_out == {}
    alone = [*rows[:3], reply | {"toolCalls": [{**call, "result": None}]}, *rows[5:]]
    (session,) = load(write_lines(tmp_path / "session-2.jsonl", alone))
    assert said(session.messages) == (2, 2, 1, 1), "and where only the second is there, it counts"


def test_aider_0_86(tmp_path: Path) -> None:
    tag = "thinking-content-7bbeb8e1441453ad999a0bbba8a46d4b"
    (file := tmp_path / ".aider.chat.history.md").write_text(
        "# aider chat started at 2026-03-01 10:00:00\n\n> Model: openai/scripted with whole edit format  \n\n"
        f"#### Read the note  \n\n<{tag}>\n\nHm.\n\n</{tag}>\n\nIt says hello.\n\n> Tokens: 652 sent, 61 received.  \n"
    )
    *_, reply = load(file)[0].messages
    assert list(reply.parts) == [ThinkingPart("Hm."), TextPart("It says hello.")]


def test_claude_code_2_1(tmp_path: Path) -> None:
    """An agent's file and what is known about it are in a folder of its session."""
    call = claude_call("t", "Agent", prompt="Read the note", subagent_type="general-purpose")
    file = write_lines(
        tmp_path / "s-1.jsonl",
        [
            {"type": "queue-operation", "operation": "enqueue", "sessionId": "s-1", "content": "delegate"},
            {"type": "queue-operation", "operation": "dequeue", "sessionId": "s-1"},
            claude_row("user", "delegate", 1, uuid="1"),
            claude_row("assistant", [call], 2, uuid="2"),
            claude_row("user", [claude_result("t", "hello")], 6, uuid="3", toolUseResult={"agentId": "a1"}),
            claude_row("assistant", "Done.", 7, uuid="4"),
            {"type": "last-prompt", "lastPrompt": "delegate", "leafUuid": "4", "sessionId": "s-1"},
        ],
    )
    (folder := tmp_path / "s-1" / "subagents").mkdir(parents=True)
    about = {"agentType": "general-purpose", "description": "read it", "toolUseId": "t", "spawnDepth": 1}
    (folder / "agent-a1.meta.json").write_text(json.dumps(about))
    rows = [claude_row("user", "Read the note", 3, uuid="a"), claude_row("assistant", "hello", 4, uuid="b")]
    write_lines(folder / "agent-a1.jsonl", [row | {"isSidechain": True, "agentId": "a1"} for row in rows])
    assert files_in(tmp_path) == [file]
    (session,) = load(file)
    assert said(session.messages) == (1, 2, 1, 1) and session.left_out == {}
    assert (session.message_count, session.delegation_count) == (6, 1)
