"""What files of further programs hold, counted a second time from them alone; see `foreign_counts` for the kinds."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.support.foreign_counts import BOOKKEEPING

Kinds = Iterator[str]
Row = dict[str, Any]


def _rows(file: Path) -> list[Row]:
    text = file.read_text()
    try:
        whole = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]
    return whole if isinstance(whole, list) else [whole]


def _images(value: Any) -> Kinds:
    """Wherever an image is with its bytes."""
    if isinstance(value, dict):
        if isinstance(value.get("data"), str) or str(value.get("url")).startswith("data:"):
            yield "images"
            return
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from _images(each)


# Copilot CLI

_COPILOT = {
    "session.start": BOOKKEEPING,
    "session.model_change": BOOKKEEPING,
    "session.title_changed": BOOKKEEPING,
    "assistant.usage": BOOKKEEPING,
    "abort": BOOKKEEPING,
    "system.message": "system prompts",
    "session.compaction_complete": "compactions",
    "session.snapshot_rewind": "going back",
    "assistant.reasoning": "thinking",
    "permission.requested": "approvals",
    "hook.end": "hook output",
    "something.new": "other records",
}
_COPILOT |= dict.fromkeys(["session.mode_changed", "session.info", "session.task_complete"], "notices of the program")
_COPILOT |= dict.fromkeys(["session.shutdown"], "notices of the program")
_COPILOT |= dict.fromkeys(["assistant.turn_start", "assistant.turn_end"], "notices of the program")


def copilot_cli(rows: list[Row]) -> Kinds:
    replies = [row["data"] for row in rows if row["type"] == "assistant.message"]
    called = {call["toolCallId"] for reply in replies for call in reply.get("toolRequests", ())}
    for row in rows:
        kind, data = row["type"], row["data"]
        if "agentId" in row:
            yield "records of sub-agents"
        elif kind == "user.message":
            yield "prompts" if data["content"] else "notes"
            yield from _images(data)
        elif kind == "assistant.message":
            yield from ["thinking"] * ("reasoningText" in data) + ["texts"] * bool(data["content"].strip())
            yield from ["tool calls"] * len(data.get("toolRequests", ()))
        elif kind == "tool.execution_start":
            yield BOOKKEEPING if data["toolCallId"] in called else "tool calls"
        elif kind == "tool.execution_complete":
            yield "results"
            yield from _images(data)
        else:
            yield _COPILOT[kind]


# Programs with Anthropic's blocks

_BLOCKS = {
    "text": "texts",
    "thinking": "thinking",
    "tool_use": "tool calls",
    "tool_result": "results",
    "redacted_thinking": "hidden thinking",
    "token_budget": "notices of the program",
    "something_new": "other parts",
}


def cline(rows: list[Row]) -> Kinds:
    is_task = "messages" not in rows[0]
    yield from () if is_task else ["system prompts"]
    for message in rows if is_task else rows[0]["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message.get("isSummary"):
            yield "compactions"
        elif message["role"] == "assistant":
            is_call = "</read_file>" in blocks[0].get("text", "")
            yield from ["tool calls"] if is_call else (_BLOCKS[block["type"]] for block in blocks)
        else:
            yield from _cline_prompt(message, blocks)


def _cline_prompt(message: Row, blocks: list[Row]) -> Kinds:
    words = [block.get("text", "") for block in blocks if block["type"] != "tool_result"]
    environment = [each for each in words if each.startswith("<environment_details>")]
    yield from ["results"] * (len(blocks) - len(words)) + ["notes on the environment"] * len(environment)
    yield from _images(blocks)
    if len(words) > len(environment):
        is_summary = message.get("metadata", {}).get("kind") == "compaction_summary"
        yield "notes" if is_summary else "results" if "] Result:" in words[0] else "prompts"


def claude_ai(rows: list[Row]) -> Kinds:
    parents = [message["parent_message_uuid"] for row in rows for message in row["chat_messages"]]
    yield from ["going back"] * (len(parents) - len(set(parents)))
    for message in (message for row in rows for message in row["chat_messages"]):
        yield from ["attached files"] * len(message.get("files", ()))
        if message["sender"] == "human":
            yield "prompts"
        else:
            yield from (_BLOCKS[block["type"]] for block in message["content"])


# Kimi

_KIMI = {
    "metadata": BOOKKEEPING,
    "turn.prompt": BOOKKEEPING,
    "llm.request": "requests to the model",
    "llm.tools_snapshot": "requests to the model",
    "usage.record": "records of usage",
    "permission.record_approval_result": "approvals",
    "context.apply_compaction": "compactions",
    "context.undo": "going back",
    "something.new": "other records",
}
_KIMI |= dict.fromkeys(["tools.set_active_tools", "plan_mode.enter", "plan_mode.exit"], "notices of the program")
_KIMI |= dict.fromkeys(["full_compaction.begin", "full_compaction.complete"], "notices of the program")
_KIMI_ROLES = {"_checkpoint": "notices of the program", "_usage": "notices of the program", "user": "prompts"}
_KIMI_ROLES |= {"tool": "results"}
_KIMI_EVENTS = {"tool.call": "tool calls", "tool.result": "results"}


def kimi(rows: list[Row]) -> Kinds:
    prompts = [row for row in rows if row.get("type") == "turn.prompt"]
    said = [row for row in rows if row.get("message", {}).get("origin") == {"kind": "user"}]
    undone = sum(row.get("type") == "context.undo" for row in rows)
    yield from ["prompts"] * (len(prompts) - len(said) + undone)  # asked, and never sent
    for row in rows:
        yield from _kimi_message(row) if "role" in row else _kimi_record(row)


def _kimi_message(row: Row) -> Kinds:
    if row["role"] != "assistant":
        yield _KIMI_ROLES[row["role"]]
        return
    blocks = row["content"] if isinstance(row["content"], list) else [{"type": "text"}]
    yield from ("thinking" if block["type"] == "think" else "texts" for block in blocks)
    yield from ["tool calls"] * len(row.get("tool_calls", ()))


def _kimi_record(row: Row) -> Kinds:
    if row["type"] == "config.update":
        yield "system prompts" if "systemPrompt" in row else BOOKKEEPING
    elif row["type"] == "context.append_message":
        yield "prompts" if row["message"]["origin"]["kind"] == "user" else "notes"
    elif row["type"] == "context.append_loop_event":
        event = row["event"]
        part = event.get("part", {}).get("type")
        yield _KIMI_EVENTS.get(event["type"], {"think": "thinking", "text": "texts"}.get(part, BOOKKEEPING))
        yield from _images(event.get("result"))
    else:
        yield _KIMI[row["type"]]


# Goose

_GOOSE = {
    "text": "texts",
    "thinking": "thinking",
    "toolRequest": "tool calls",
    "toolResponse": "results",
    "redactedThinking": "hidden thinking",
    "systemNotification": "notices of the program",
}


def goose(rows: list[Row]) -> Kinds:
    for message in rows[0].get("conversation", rows):
        if "role" not in message:
            yield BOOKKEEPING
        elif message.get("metadata", {}).get("userVisible") is False:
            yield "compactions"
        elif message["role"] == "user" and message["content"][0]["type"] == "text":
            yield "prompts"
            yield from _images(message["content"])
        else:
            yield from (_GOOSE[block["type"]] for block in message["content"])


def goose_database(file: Path) -> Kinds:
    with sqlite3.connect(file) as connection:
        rows = connection.execute("SELECT role, content_json, metadata_json FROM messages").fetchall()
        (inner,) = connection.execute("SELECT count(*) FROM sessions WHERE session_type = 'sub_agent'").fetchone()
    connection.close()
    yield from ["sessions of sub-agents"] * inner
    yield from goose([{"role": role, "content": json.loads(a), "metadata": json.loads(b)} for role, a, b in rows])


# ChatGPT

_CHATGPT = {
    "text": "texts",
    "thoughts": "thinking",
    "code": "tool calls",
    "execution_output": "results",
    "reasoning_recap": "notices of the program",
    "user_editable_context": "custom instructions",
}


def chatgpt(rows: list[Row]) -> Kinds:
    for nodes in (row["mapping"] for row in rows):
        parents = [node["parent"] for node in nodes.values()]
        yield from ["going back"] * (len(parents) - len(set(parents)))
        for message in (node["message"] for node in nodes.values()):
            yield from _chatgpt_message(message) if message else [BOOKKEEPING]


def _chatgpt_message(message: Row) -> Kinds:
    content, kind = message["content"], message["content"]["content_type"]
    if message["author"]["role"] == "system":
        yield "empty messages"
    elif message["author"]["role"] == "user" and kind in ("text", "multimodal_text"):
        yield "prompts"
        yield from ["images" for part in content["parts"] if isinstance(part, dict)]
        files = message.get("metadata", {}).get("attachments", ())
        yield from ["attached files" for each in files if "mime_type" not in each]
    else:
        yield _CHATGPT[kind]


# aider


def aider(file: Path) -> Kinds:
    for session in re.split(r"^# aider chat started at .*$", file.read_text(), flags=re.MULTILINE)[1:]:
        if "\n#### " not in session:
            yield "empty sessions"
            continue
        yield from ["lines of aider's own output" for _ in re.findall(r"^> .*  $", session, re.MULTILINE)]
        for prompt in re.findall(r"(?:^####.*  \n)+", session, re.MULTILINE):
            yield "commands to aider" if prompt.startswith("#### /") else "prompts"
        yield from ["thinking"] * session.count("THINKING")
        yield from ["texts" for word in ("On it.", "Done.", "Hello.") if f"\n{word}\n" in session]


# Qwen Code

_QWEN = {"ui_telemetry": "telemetry", "custom_title": BOOKKEEPING, "chat_compression": "compactions"}


def qwen_code(rows: list[Row]) -> Kinds:
    for before, row in zip([None, *rows], rows, strict=False):
        if row.get("isSidechain"):
            yield "records of sub-agents"
        elif row["type"] == "system":
            yield _QWEN[row["subtype"]]
        elif row["type"] == "assistant":
            yield from map(_qwen_part, row["message"]["parts"])
        else:
            yield "results" if row["type"] == "tool_result" else "prompts"
            yield from _images(row["message"])
            if before and row["parentUuid"] != before["uuid"]:
                yield "going back"


def _qwen_part(part: Row) -> str:
    return "tool calls" if "functionCall" in part else "thinking" if part.get("thought") else "texts"


def _counted(kinds: Callable[[list[Row]], Iterable[str]]) -> Callable[[Path], Counter[str]]:
    return lambda file: Counter(kinds(_rows(file)))


PROGRAM_COUNTS: dict[str, Callable[[Path], Counter[str]]] = {
    "copilot-cli": _counted(copilot_cli),
    "cline": _counted(cline),
    "kimi": _counted(kimi),
    "goose": lambda file: Counter(goose_database(file) if file.suffix == ".db" else goose(_rows(file))),
    "chatgpt": _counted(chatgpt),
    "claude-ai": _counted(claude_ai),
    "aider": lambda file: Counter(aider(file)),
    "qwen-code": _counted(qwen_code),
}
