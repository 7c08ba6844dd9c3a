"""A small file of each program with all kinds of what it writes, and with records that nobody has seen yet."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.foreign import claude_call, claude_result, claude_row, codex_row, codex_said, write_lines

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNgYAAAAAMAAbitOmMAAAAASUVORK5CYII="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
LOST_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "damaged"}}
SEARCH = {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "rain"}}
FOUND = {
    "type": "web_search_result",
    "title": "Weather",
    "url": "https://example.invalid/rain",
    "encrypted_content": "x",
}
SEARCHED = {"type": "web_search_tool_result", "tool_use_id": "w", "content": [FOUND]}


def _attached(**about: Any) -> dict[str, Any]:
    return {"type": "attachment", "attachment": about, "timestamp": "2025-03-01T10:00:20Z", "sessionId": "s-1"}


def _queued(operation: str, **more: Any) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, "timestamp": "2025-03-01T10:00:21Z", **more}


CLAUDE_ROWS: list[dict[str, Any]] = [
    claude_row("user", "<command-name>/model</command-name>\n<command-args>opus</command-args>", 1),
    claude_row("user", "<local-command-stdout>Set model to opus</local-command-stdout>", 1),
    claude_row("user", [{"type": "text", "text": "is it raining?"}, IMAGE, LOST_IMAGE], 2),
    _attached(
        type="file",
        filename="/repo/a.txt",
        content={"type": "text", "file": {"filePath": "/repo/a.txt", "content": "what the file says"}},
    ),
    _attached(type="todo_reminder", content=[], itemCount=0),
    _attached(type="hook_success", hookName="Stop", stdout="ok"),
    _attached(type="never-seen", content="?"),
    claude_row("assistant", [{"type": "thinking", "thinking": "hm"}, SEARCH], 3, message={"id": "m1"}),
    claude_row("assistant", [SEARCHED], 4, message={"id": "m1"}),
    claude_row("assistant", [{"type": "text", "text": "No rain."}, claude_call("a")], 5, message={"id": "m1"}),
    _queued("enqueue", content="and tomorrow?"),
    _queued("enqueue", content="in Rome, too"),
    claude_row("user", [claude_result("a", "done")], 6),
    _queued("remove"),
    _attached(type="queued_command", prompt="and tomorrow?", commandMode="prompt"),
    _queued("dequeue"),
    claude_row("assistant", [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Sunny"}], 7),
    claude_row("user", [{"type": "text", "text": "[Request interrupted by user]"}], 8),
    claude_row("user", "<command-message>review</command-message>\n<command-name>/review</command-name>", 9),
    claude_row("user", [{"type": "text", "text": "Review all changes."}], 9, isMeta=True),
    claude_row("assistant", [{"type": "text", "text": "Fine."}, {"type": "never-seen"}], 10),
    claude_row("assistant", "API Error: 529 overloaded", 11, isApiErrorMessage=True, message={"model": "<synthetic>"}),
    claude_row("user", "<bash-input>ls</bash-input>", 12),
    claude_row("user", "<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>", 12),
    claude_row("user", "from an agent", 13, isSidechain=True),
    {"type": "system", "subtype": "turn_duration", "durationMs": 5},
    {"type": "system", "subtype": "informational", "content": "Updated."},
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    {"type": "ai-title", "aiTitle": "Weather"},
    {"type": "never-seen", "content": "?"},
]

CODEX_ROWS: list[dict[str, Any]] = [
    codex_row("session_meta", id="t1", cwd="/w", git={"branch": "dev"}, model_provider="openai"),
    codex_row("turn_context", model="gpt-x"),
    codex_said("developer", "You are Codex.", 1),
    codex_said("user", "<environment_context>here</environment_context>", 1),
    codex_said("user", "one", 1),
    codex_row("response_item", 2, type="reasoning", summary=[], encrypted_content="x"),
    codex_row("response_item", 2, type="reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
    codex_row("response_item", 3, type="function_call", name="shell", arguments="{}", call_id="a"),
    codex_row("event_msg", 3, type="exec_command_end", call_id="a", stdout="of a"),
    codex_row("response_item", 4, type="function_call_output", call_id="a", output="of a"),
    codex_said("assistant", "first", 5),
    codex_row("event_msg", 5, type="agent_message", message="first"),
    codex_said("user", "two", 6),
    codex_said("assistant", "second", 7),
    codex_row("event_msg", 7, type="turn_aborted", reason="interrupted"),
    codex_row("event_msg", 8, type="thread_rolled_back", num_turns=1),
    codex_said("user", "three", 9),
    codex_said("assistant", "third", 10),
    codex_row("event_msg", 10, type="error", message="overloaded"),
    codex_row("event_msg", 10, type="mcp_tool_call_end", call_id="of no item"),
    codex_row("event_msg", 11, type="never_seen"),
    codex_row("response_item", 11, type="never_seen"),
    codex_row("never_seen", 11),
]

CODEX_FIRST_ROWS: list[dict[str, Any]] = [
    {"id": "f1", "timestamp": "2025-06-10T10:00:00Z", "instructions": None, "git": {"branch": "main"}},
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "greet"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
]

GEMINI_CHAT: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}]},
    {"role": "model", "parts": [{"text": "Got it."}]},
    {
        "role": "user",
        "parts": [{"text": "what is in a.txt?"}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}}],
    },
    {
        "role": "model",
        "parts": [{"thought": True, "text": "look"}, {"functionCall": {"name": "read", "args": {"p": 1}}}],
    },
    {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "words"}}}]},
    {"role": "model", "parts": [{"text": "Words."}, {"executableCode": {"code": "1"}}]},
]

ANTHROPIC: dict[str, Any] = {
    "model": "claude-x",
    "system": "Be exact.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "rain?"}, IMAGE, LOST_IMAGE]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, claude_call("a")]},
        {"role": "user", "content": [claude_result("a", [{"type": "text", "text": "clear"}])]},
        {"role": "assistant", "content": [SEARCH, SEARCHED, {"type": "text", "text": "No."}, {"type": "never-seen"}]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "file:x"}}]},
        {"role": "never-seen", "content": "?"},
    ],
}

OPENAI_ROWS: list[dict[str, Any]] = [
    {"role": "system", "content": "Be exact."},
    {"role": "user", "content": [{"type": "text", "text": "hear"}, {"type": "input_audio", "input_audio": {}}]},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "1"},
    {"role": "assistant", "content": "One.", "reasoning_content": "hm"},
    {"role": "assistant", "content": ""},
    {"note": "nobody has seen this"},
]


def _pi_rows() -> list[dict[str, Any]]:
    def said(id: str, **message: Any) -> dict[str, Any]:
        return {"type": "message", "id": id, "timestamp": "2025-03-01T10:00:00Z", "message": message}

    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "toolCall", "id": "c", "name": "read", "arguments": {}}]
    return [
        {"type": "session", "id": "p", "cwd": "/w", "timestamp": "2025-03-01T10:00:00Z"},
        said("1", role="user", content="hi"),
        said("2", role="assistant", content=[*blocks, {"type": "never-seen"}], model="m", provider="x"),
        said("3", role="toolResult", toolCallId="c", toolName="read", content="x is 1"),
        said("4", role="assistant", content=[], stopReason="aborted"),
        said("5", role="bashExecution", command="ls", output="a.txt"),
        {"type": "branch_summary", "id": "6", "parentId": "5", "summary": "What was tried."},
        {"type": "custom_message", "id": "7", "parentId": "6", "content": "From an extension."},
        {"type": "custom", "id": "8", "customType": "state", "data": {}},
        {"type": "label", "id": "9", "label": "here"},
        {"type": "never-seen", "id": "10"},
    ]


def _gemini_rows() -> list[dict[str, Any]]:
    def said(id: str, kind: str, **more: Any) -> dict[str, Any]:
        return {"id": id, "timestamp": "2025-03-01T10:00:00Z", "type": kind, **more}

    call = {"id": "c", "name": "read", "args": {}, "result": [{"functionResponse": {"response": {"output": "1"}}}]}
    return [
        {"sessionId": "g", "projectHash": "x", "startTime": "2025-03-01T10:00:00Z"},
        said("1", "user", content="one"),
        said("2", "gemini", content="", toolCalls=[call], thoughts=[{"subject": "hm"}]),
        said("3", "gemini", content="wrong"),
        {"$rewindTo": "3"},
        said("4", "gemini", content="right"),
        said("5", "gemini", content=""),
        said("6", "info", content="Cancelled."),
        said("7", "never-seen", content="?"),
        {"never": "seen"},
    ]


def _opencode_session(folder: Path) -> Path:
    def write(path: str, **value: Any) -> Path:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
        return file

    state = {"status": "completed", "input": {}, "output": "ok"}
    parts = ["step-start", "snapshot", "patch", "retry", "file", "never-seen"]
    write("message/s/m1.json", id="m1", sessionID="s", role="user", time={"created": 1740823200000})
    write("part/m1/1.json", id="1", type="text", text="go")
    write("message/s/m2.json", id="m2", sessionID="s", role="assistant", time={"created": 1740823201000})
    write("part/m2/1.json", id="1", type="tool", tool="bash", callID="c", state=state)
    write("part/m2/2.json", id="2", type="text", text="done")
    for number, kind in enumerate(parts, 3):
        write(f"part/m2/{number}.json", id=str(number), type=kind)
    return write("session/p/s.json", id="s", projectID="p", directory="/w", title="T", time={"created": 1740823200000})


def _llm_database(folder: Path) -> Path:
    file = folder / "logs.db"
    with sqlite3.connect(file) as database:
        database.executescript(
            """
            CREATE TABLE threads(id TEXT, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
            CREATE TABLE turns(id TEXT, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
                resolved_model TEXT, input_tokens INTEGER, output_tokens INTEGER, datetime_utc TEXT);
            CREATE TABLE messages(hash TEXT, parent_hash TEXT, role TEXT);
            CREATE TABLE parts(id INTEGER, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT,
                payload TEXT);
            CREATE TABLE fragments(id INTEGER, content TEXT);
            INSERT INTO threads VALUES('t', 'Weather', 'h5', NULL, '2026-03-01T10:00:00');
            INSERT INTO turns VALUES('u1', 't', 'h2', 'h3', 'm', NULL, 10, 5, '2026-03-01T10:00:00');
            INSERT INTO turns VALUES('u2', 't', 'h4', 'h5', 'm', NULL, 20, 5, '2026-03-01T10:00:05');
            INSERT INTO messages VALUES('h1', NULL, 'system'), ('h2', 'h1', 'user'), ('h3', 'h2', 'assistant'),
                ('h4', 'h3', 'user'), ('h5', 'h4', 'assistant');
            INSERT INTO fragments VALUES(1, 'the manual');
            INSERT INTO parts VALUES
                (1, 'h1', 0, 'text', NULL, 'Be brief.', NULL),
                (2, 'h2', 0, 'text', NULL, NULL, '{"text_ref": [{"fragment": 1}, {"literal": ": rain?"}]}'),
                (3, 'h3', 0, 'reasoning', NULL, 'hm', NULL),
                (4, 'h3', 1, 'tool_call', 'sky', NULL,
                    '{"name": "sky", "arguments": {"at": "home"}, "tool_call_id": "c"}'),
                (5, 'h4', 0, 'tool_result', 'sky', NULL, '{"name": "sky", "output": "clear", "tool_call_id": "c"}'),
                (6, 'h5', 0, 'text', NULL, 'No.', NULL),
                (7, 'h5', 1, 'never-seen', NULL, 'x', NULL);
            """
        )
    return file


def _lines(rows: list[dict[str, Any]], name: str = "session.jsonl") -> Callable[[Path], Path]:
    return lambda folder: write_lines(folder / name, rows)


def _whole(value: Any, name: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        file = folder / name
        file.write_text(json.dumps(value, indent=1))
        return file

    return write


SAMPLES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "Claude Code": ("claude-code", _lines(CLAUDE_ROWS)),
    "Codex CLI": ("codex", _lines(CODEX_ROWS)),
    "Codex CLI, first format": ("codex", _lines(CODEX_FIRST_ROWS)),
    "Gemini CLI": ("gemini-cli", _lines(_gemini_rows())),
    "Gemini CLI, saved chat": ("gemini-cli", _whole({"history": GEMINI_CHAT}, "checkpoint-a.json")),
    "Gemini CLI, list": ("gemini-cli", _whole(GEMINI_CHAT, "checkpoint-b.json")),
    "opencode": ("opencode", _opencode_session),
    "pi": ("pi", _lines(_pi_rows())),
    "llm, threads": ("llm", _llm_database),
    "OpenAI's chat format": ("openai", _lines(OPENAI_ROWS)),
    "Anthropic's chat format": ("anthropic", _whole(ANTHROPIC, "chat.json")),
}
