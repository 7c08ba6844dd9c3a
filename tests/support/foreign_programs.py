"""A small session of each program with everything in it that the program writes, by hand in its form."""

import base64
import io
import json
import sqlite3
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

TIME = "2025-03-01T10:00:00Z"
MS = 1740823200000
Row = dict[str, Any]


def png() -> bytes:
    file = io.BytesIO()
    Image.new("L", (2, 1)).save(file, "PNG")
    return file.getvalue()


PICTURE = base64.b64encode(png()).decode()
SHOWN = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}


def copilot(kind: str, number: int, data: Row, **more: Any) -> Row:
    return {"type": kind, "id": f"e{number}", "timestamp": f"2025-03-01T10:00:{number:02}Z", "data": data, **more}


COPILOT: list[Row] = [
    copilot("session.start", 0, {"sessionId": "s", "context": {"cwd": "/w", "branch": "b", "repository": "o/r"}}),
    copilot("session.model_change", 1, {"newModel": "m-1"}),
    copilot("system.message", 2, {"role": "system", "content": "You are."}),
    copilot(
        "user.message",
        3,
        {
            "content": "go",
            "attachments": [
                {"type": "blob", "mimeType": "image/png", "data": PICTURE},
                {"type": "selection", "filePath": "/w/a.py", "text": "x = 1"},
            ],
        },
    ),
    copilot("assistant.turn_start", 4, {"turnId": "0"}),
    copilot("assistant.reasoning", 5, {"content": "hm"}),
    copilot(
        "assistant.message",
        6,
        {"content": "On it.", "toolRequests": [{"toolCallId": "c", "name": "view", "arguments": {"path": "a"}}]},
    ),
    copilot("assistant.usage", 7, {"model": "m-1", "inputTokens": 50, "outputTokens": 5, "cacheReadTokens": 40}),
    copilot("tool.execution_start", 8, {"toolCallId": "c", "toolName": "view", "arguments": {"path": "a"}}),
    copilot(
        "tool.execution_complete",
        9,
        {
            "toolCallId": "c",
            "success": False,
            "result": {"content": "no", "contents": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}]},
        },
    ),
    copilot("assistant.message", 10, {"content": "inner"}, agentId="sub"),
    copilot("permission.requested", 11, {}),
    copilot("hook.end", 12, {}),
    copilot("session.title_changed", 13, {"title": "A title"}),
    copilot(
        "session.compaction_complete",
        14,
        {"success": True, "trigger": "manual", "preCompactionTokens": 99, "summaryContent": "In short."},
    ),
    copilot("user.message", 15, {"content": "wrong way"}),
    copilot("session.snapshot_rewind", 16, {"upToEventId": "e15"}),
    copilot("user.message", 17, {"content": "", "transformedContent": "Go on."}),
    copilot("assistant.message", 18, {"content": "Done."}),
    copilot("abort", 19, {"reason": "user"}),
    copilot("something.new", 20, {}),
]

CLINE: list[Row] = [
    {
        "version": 1,
        "agent": "lead",
        "sessionId": "1_a",
        "system_prompt": "You are.",
        "messages": [
            {
                "id": "m1",
                "role": "user",
                "ts": MS,
                "content": [
                    {"type": "text", "text": "go"},
                    {"type": "file", "path": "/w/a.py", "content": "x = 1"},
                    {"type": "image", "source": {"type": "base64", "data": PICTURE}},
                ],
            },
            {
                "id": "m2",
                "role": "assistant",
                "ts": MS + 1_000,
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "On it."},
                    {"type": "tool_use", "id": "c", "name": "read_files", "input": {"files": []}},
                    {"type": "redacted_thinking", "data": "x"},
                ],
                "modelInfo": {"id": "m-1"},
                "metrics": {"inputTokens": 50, "outputTokens": 5, "cacheReadTokens": 40},
            },
            {
                "id": "m3",
                "role": "user",
                "ts": MS + 2_000,
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"query": "a", "result": "ok"}]}],
            },
            {"id": "m4", "role": "assistant", "ts": MS + 3_000, "content": [{"type": "text", "text": "Done."}]},
        ],
    }
]
CLINE_TASK: list[Row] = [
    {
        "role": "user",
        "ts": MS,
        "content": [
            {"type": "text", "text": "<task>\ngo\n</task>"},
            {"type": "text", "text": "<environment_details>\n# Time\n</environment_details>"},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "<read_file><path>a</path></read_file>"}]},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "[read_file for 'a'] Result:"},
            {"type": "text", "text": "x = 1"},
            {"type": "text", "text": "<environment_details></environment_details>"},
        ],
    },
    {"role": "assistant", "isSummary": True, "content": [{"type": "text", "text": "In short."}]},
    {"role": "assistant", "content": "Done."},
]


def kimi(kind: str, number: int, **more: Any) -> Row:
    return {"type": kind, "time": MS + number * 1_000, **more}


def loop(kind: str, number: int, **event: Any) -> Row:
    return kimi("context.append_loop_event", number, event={"type": kind, "uuid": f"u{number}", **event})


def kimi_said(words: str, number: int, kind: str = "user") -> Row:
    content = [{"type": "text", "text": words}]
    message = {"role": "user", "content": content, "toolCalls": [], "origin": {"kind": kind}}
    return kimi("context.append_message", number, message=message)


KIMI: list[Row] = [
    {"type": "metadata", "protocol_version": "1.4", "created_at": MS},
    kimi("config.update", 1, systemPrompt="You are.", profileName="agent"),
    kimi("config.update", 1, modelAlias="m-1"),
    kimi("turn.prompt", 2, input=[{"type": "text", "text": "go"}], origin={"kind": "user"}),
    kimi_said("go", 2),
    kimi_said("<system-reminder>", 3, "injection"),
    loop("step.begin", 4),
    kimi("llm.request", 4),
    loop("content.part", 5, part={"type": "think", "think": "hm"}),
    loop("content.part", 5, part={"type": "text", "text": "On it."}),
    loop("tool.call", 6, toolCallId="c", name="Bash", args={"command": "ls"}, display={"cwd": "/w"}),
    loop("tool.result", 7, toolCallId="c", result={"isError": True, "output": [{"type": "text", "text": "no"}, SHOWN]}),
    loop("step.end", 8, usage={"inputOther": 10, "output": 5, "inputCacheRead": 40, "inputCacheCreation": 0}),
    kimi("usage.record", 8, usage={"inputOther": 10}),
    kimi("permission.record_approval_result", 8),
    kimi("context.apply_compaction", 9, summary="In short.", tokensBefore=99, keptUserMessageCount=1),
    kimi_said("wrong way", 10),
    kimi("context.undo", 11, count=1),
    kimi("turn.prompt", 12, input=[{"type": "text", "text": "never sent"}], origin={"kind": "user"}),
    kimi("something.new", 13),
]
KIMI_CONTEXT: list[Row] = [
    {"role": "_checkpoint", "id": 0},
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": "On it."}],
        "tool_calls": [{"type": "function", "id": "c", "function": {"name": "Bash", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "ok"}]},
    {"role": "_usage", "token_count": 99},
    {"role": "assistant", "content": "Done."},
]

GOOSE_MESSAGES: list[Row] = [
    {
        "id": "m1",
        "role": "user",
        "created": MS // 1_000,
        "content": [{"type": "text", "text": "go"}, {"type": "image", "data": PICTURE, "mimeType": "image/png"}],
        "metadata": {"userVisible": True, "agentVisible": False},
    },
    {
        "id": "m2",
        "role": "assistant",
        "created": MS // 1_000 + 1,
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "On it."},
            {
                "type": "toolRequest",
                "id": "c",
                "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}},
            },
            {"type": "redactedThinking", "data": "x"},
        ],
        "metadata": {
            "userVisible": True,
            "agentVisible": False,
            "inference": {"requestedModel": "m-1"},
            "usage": {"inputTokens": 50, "outputTokens": 5},
        },
    },
    {
        "id": "m3",
        "role": "user",
        "created": MS // 1_000 + 2,
        "content": [
            {
                "type": "toolResponse",
                "id": "c",
                "toolResult": {
                    "status": "success",
                    "value": {"content": [{"type": "text", "text": "no"}], "isError": True},
                },
            },
        ],
        "metadata": {"userVisible": True, "agentVisible": False},
    },
    {
        "id": "m4",
        "role": "assistant",
        "created": MS // 1_000 + 3,
        "content": [{"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Compacted"}],
        "metadata": {"userVisible": True, "agentVisible": False},
    },
    {
        "id": "m5",
        "role": "user",
        "created": MS // 1_000 + 4,
        "content": [{"type": "text", "text": "In short."}],
        "metadata": {"userVisible": False, "agentVisible": True},
    },
    {"id": "m6", "role": "user", "created": MS // 1_000 + 5, "content": [{"type": "text", "text": "and?"}]},
    {"id": "m7", "role": "assistant", "created": MS // 1_000 + 6, "content": [{"type": "text", "text": "Done."}]},
]
GOOSE: list[Row] = [
    {"working_dir": "/w", "description": "A title", "message_count": 7, "total_tokens": 5},
    *GOOSE_MESSAGES,
]
GOOSE_EXPORT: list[Row] = [{"id": "20250301_1", "name": "A title", "working_dir": "/w", "conversation": GOOSE_MESSAGES}]


def goose_database(file: Path) -> Path:
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT NOT NULL,
                 session_type TEXT, parent_session_id TEXT, model_config_json TEXT);
               CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT,
                 role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
               INSERT INTO sessions VALUES ('20250301_1', 'A title', '', '/w', 'user', NULL, '{"model_name": "m-0"}');
               INSERT INTO sessions VALUES ('20250301_2', 'Inner', '', '/w', 'sub_agent', '20250301_1', NULL);"""
        )
        for each in GOOSE_MESSAGES:
            values = (each["id"], "20250301_1", each["role"], json.dumps(each["content"]), each["created"])
            connection.execute(
                "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (*values, json.dumps(each.get("metadata", {}))),
            )
    connection.close()
    return file


def node(key: str, parent: str | None, role: str, content: Row, number: int, **more: Any) -> tuple[str, Row]:
    author = {"role": role, "name": more.pop("name", None)}
    message = {"id": key, "author": author, "create_time": MS / 1_000 + number, "content": content, **more}
    return key, {"id": key, "parent": parent, "children": [], "message": message}


def words(*parts: Any) -> Row:
    return {"content_type": "text", "parts": list(parts)}


CHATGPT: list[Row] = [
    {
        "title": "A title",
        "create_time": MS / 1_000,
        "conversation_id": "c-1",
        "default_model_slug": "m-0",
        "current_node": "a4",
        "mapping": {
            "root": {"id": "root", "parent": None, "children": ["sys"], "message": None},
            **dict(
                [
                    node("sys", "root", "system", words(""), 0),
                    node("ctx", "sys", "user", {"content_type": "user_editable_context", "user_profile": "me"}, 0),
                    node(
                        "u1",
                        "ctx",
                        "user",
                        {
                            "content_type": "multimodal_text",
                            "parts": [
                                {
                                    "content_type": "image_asset_pointer",
                                    "asset_pointer": "file-service://file-Abc12345",
                                },
                                "go",
                            ],
                        },
                        1,
                        metadata={
                            "attachments": [{"name": "shot.png", "mime_type": "image/png"}, {"name": "notes.pdf"}]
                        },
                    ),
                    node("old", "u1", "assistant", words("Another answer."), 2),
                    node(
                        "t1",
                        "u1",
                        "assistant",
                        {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "hm"}]},
                        3,
                        metadata={"turn_exchange_id": "x", "model_slug": "m-1"},
                    ),
                    node(
                        "a2",
                        "t1",
                        "assistant",
                        {"content_type": "code", "language": "unknown", "text": "print(1)"},
                        4,
                        recipient="python",
                        metadata={"turn_exchange_id": "x", "model_slug": "m-1"},
                    ),
                    node("r2", "a2", "tool", {"content_type": "execution_output", "text": "1"}, 5, name="python"),
                    node("recap", "r2", "assistant", {"content_type": "reasoning_recap", "content": "Thought"}, 6),
                    node("a4", "recap", "assistant", words("Done."), 7, recipient="all"),
                ]
            ),
        },
    }
]

CLAUDE_AI: list[Row] = [
    {
        "uuid": "c-1",
        "name": "A title",
        "created_at": TIME,
        "account": {"uuid": "me"},
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "",
                "created_at": TIME,
                "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
                "content": [{"type": "text", "text": "go"}],
                "attachments": [{"file_name": "a.txt", "extracted_content": "x = 1"}],
                "files": [{"file_name": "shot.png"}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "created_at": TIME,
                "parent_message_uuid": "m1",
                "content": [{"type": "text", "text": "Another answer."}],
            },
            {
                "uuid": "m3",
                "sender": "assistant",
                "created_at": TIME,
                "parent_message_uuid": "m1",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "tool_use", "id": "c", "name": "web_search", "input": {"query": "x"}},
                    {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "ok"}]},
                    {"type": "token_budget"},
                    {"type": "text", "text": "Done."},
                    {"type": "something_new"},
                ],
            },
        ],
    }
]

AIDER = """
# aider chat started at 2025-03-01 10:00:00

> Aider v0.86.1  
> Main model: m-1 with diff edit format  

#### /add a.py  
> Added a.py to the chat.  

#### go  
####   
#### on  

--------------
► **THINKING**

hm

------------
► **ANSWER**

On it.

> a quote of the model
#### a heading of the model

> Tokens: 2.5k sent, 10 received.  

#### and?  

Done.

# aider chat started at 2025-03-02 10:00:00

> Aider v0.86.1  

# aider chat started at 2025-03-03 10:00:00

#### hi  

Hello.
"""  # noqa: W291


def qwen(kind: str, number: int, parts: list[Row] | None = None, **more: Any) -> Row:
    said = {} if parts is None else {"message": {"role": "user", "parts": parts}}
    about = {"uuid": f"q{number}", "parentUuid": f"q{number - 1}", "sessionId": "s", "cwd": "/w", "gitBranch": "b"}
    return {**about, "type": kind, "timestamp": f"2025-03-01T10:00:{number:02}Z", **said, **more}


QWEN: list[Row] = [
    qwen("user", 1, [{"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}}]),
    qwen(
        "assistant",
        2,
        [
            {"text": "hm", "thought": True},
            {"text": "On it."},
            {"functionCall": {"id": "c", "name": "read_file", "args": {"path": "a"}}},
        ],
        model="m-1",
        contextWindowSize=1_000,
        usageMetadata={"promptTokenCount": 50, "candidatesTokenCount": 5, "cachedContentTokenCount": 40},
    ),
    qwen("tool_result", 3, [{"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "ok"}}}]),
    qwen("system", 4, subtype="ui_telemetry", systemPayload={}),
    qwen("system", 5, subtype="custom_title", systemPayload={"customTitle": "A title"}),
    qwen("assistant", 6, [{"text": "inner"}], isSidechain=True),
    qwen(
        "system",
        7,
        subtype="chat_compression",
        systemPayload={
            "info": {"originalTokenCount": 99},
            "compressedHistory": [
                {"role": "user", "parts": [{"text": "In short."}]},
                {"role": "model", "parts": [{"text": "Got it."}]},
            ],
        },
    ),
    qwen("user", 8, [{"text": "wrong way"}]),
    qwen("user", 9, [{"text": "and?"}], parentUuid="q7"),
    qwen("assistant", 10, [{"text": "Done."}]),
]

PROGRAMS: Mapping[str, list[Row]] = {
    "copilot-cli": COPILOT,
    "cline": CLINE,
    "kimi": KIMI,
    "goose": GOOSE,
    "chatgpt": CHATGPT,
    "claude-ai": CLAUDE_AI,
    "qwen-code": QWEN,
}
OTHER_FORMS: Mapping[str, list[Row]] = {"cline": CLINE_TASK, "kimi": KIMI_CONTEXT, "goose": GOOSE_EXPORT}
"""Of older versions, and what the program exports."""


def zipped(file: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file
