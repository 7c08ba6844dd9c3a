"""What a file of another program holds, counted a second time from its JSON alone, and what became of it.

A piece is a block of a message, a message that is one text, or a record that is no message. Each has a kind; pieces
that say nothing of their own (titles, modes, token counts, copies) are bookkeeping.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    NativeToolCallPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.events import CompactionComplete, Rewind
from co_tui.events.stored_messages import COMMAND, NOTE, REPLACES
from co_tui.exchange.importers import ImportedSession

BOOKKEEPING = "bookkeeping"
DAMAGED = "damaged lines"
Kinds = Iterator[str]

# What was imported

_PARTS: dict[type, str] = {
    TextPart: "texts",
    ThinkingPart: "thinking",
    ToolCallPart: "tool calls",
    NativeToolCallPart: "tool calls",
    ToolReturnPart: "results",
    SystemPromptPart: "system prompts",
    FilePart: "images",
}


def imported(sessions: Iterable[ImportedSession]) -> Counter[str]:
    found: Counter[str] = Counter()
    for session in sessions:
        for message in session.messages:
            found.update(_kinds_in(message))
        facts = [event.fact for event in session.log]
        found["compactions"] += sum(isinstance(fact, CompactionComplete) for fact in facts)
        found["going back"] += sum(isinstance(fact, Rewind) for fact in facts)
        found[DAMAGED] += session.skipped
    return +found


def left_out(sessions: Iterable[ImportedSession]) -> Counter[str]:
    return sum((Counter(dict(session.left_out)) for session in sessions), Counter())


def _kinds_in(message: ModelMessage) -> Kinds:
    metadata = message.metadata or {}
    for part in message.parts:
        content = getattr(part, "content", None)
        images = [each for each in content if isinstance(each, BinaryContent)] if isinstance(content, list) else []
        yield from ["images"] * len(images)
        if not isinstance(part, UserPromptPart):
            yield _PARTS[type(part)]
        elif COMMAND in metadata:
            yield "commands"
        elif NOTE in metadata:
            yield "notes"
        elif REPLACES not in metadata:  # a summary belongs to its compaction
            yield "prompts"


# Claude Code

_CLAUDE_ROWS = {
    **dict.fromkeys(["summary", "custom-title", "ai-title", "last-prompt", "mode", "permission-mode"], BOOKKEEPING),
    **dict.fromkeys(["agent-name", "relocated", "worktree-state", "bridge-session"], BOOKKEEPING),
    **dict.fromkeys(["atis-latch", "started"], BOOKKEEPING),
    "file-history-snapshot": "file snapshots",
    "pr-link": "links",
    "frame-link": "links",
    "result": "records of sub-agents",
}
_CLAUDE_SYSTEM = {
    "compact_boundary": "compactions",
    "turn_duration": BOOKKEEPING,
    "session_start": BOOKKEEPING,
    "api_error": "error messages",
    "error": "error messages",
    "stop_hook_summary": "hook output",
}
_CLAUDE_ATTACHED = {"queued_command": "prompts", "file": "notes", "nested_memory": "memory files"}
_CLAUDE_ATTACHED |= {"hook_additional_context": "notes"}
_CLAUDE_BLOCKS = {"text": "texts", "thinking": "thinking", "redacted_thinking": "hidden thinking"}
_CLAUDE_BLOCKS |= dict.fromkeys(["tool_use", "server_tool_use"], "tool calls")
_CLAUDE_BLOCKS |= dict.fromkeys(["tool_result", "web_search_tool_result"], "results")


def claude_code(file: Path) -> Counter[str]:
    rows, damaged = _claude_rows(file)
    only_agents = all(row.get("isSidechain") for row in rows if row.get("type") in ("user", "assistant"))
    found = Counter({DAMAGED: damaged})
    ran = ""
    is_tree = bool({row.get("parentUuid") for row in rows} & {row["uuid"] for row in rows if "uuid" in row})
    followed: set[str] = set()
    for row in rows:
        if row.get("isSidechain") and not only_agents:
            found["records of sub-agents"] += 1
            continue
        kinds = list(_claude_row(row, rows))
        if is_tree and "parentUuid" in row and {"prompts", "notes"} & {*kinds}:
            parent = row["parentUuid"] or "the start"
            found["going back"] += parent in followed
            followed.add(parent)
        followed.discard(row.get("uuid", ""))  # ids that were taken out of a file are all the same
        followed |= {"the start"} if {*kinds} & {"prompts", "texts"} else set()
        for kind in kinds:
            # A command and what it printed are one, and so are a command and the prompt that it wrote.
            if kind == "output":
                kind = BOOKKEEPING if ran else "commands"
            elif kind == "notes" and row.get("isMeta") and ran.startswith("/"):
                found += Counter({"prompts": 1, BOOKKEEPING: 1})
                found["commands"] -= 1
                ran = ""
                continue
            found[kind.partition(" ")[0] if kind.startswith("commands ") else kind] += 1
            ran = kind.partition(" ")[2] if kind.startswith("commands ") else ran if kind in _SILENT else ""
    return +found


_SILENT = (BOOKKEEPING, "notices of the program", "reminders to the model", "hook output")


def _claude_rows(file: Path) -> tuple[list[dict[str, Any]], int]:
    if file.suffix == ".json":
        return json.loads(file.read_text())["loglines"], 0
    values = list(_values(file))
    rows = [each for each in values if isinstance(each, dict)]
    return rows, len(values) - len(rows)


def _claude_row(row: dict[str, Any], rows: list[dict[str, Any]]) -> Kinds:
    kind = row.get("type")
    if kind in ("user", "assistant"):
        message = row.get("message")
        if not isinstance(message, dict) or "content" not in message:
            yield DAMAGED
        elif row.get("isCompactSummary"):
            yield BOOKKEEPING if any(each.get("subtype") == "compact_boundary" for each in rows) else "compactions"
        elif kind == "assistant":
            yield from _claude_reply(row, message)
        else:
            yield from _claude_prompt(row, _blocks(message["content"]))
    elif kind == "system":
        yield _CLAUDE_SYSTEM.get(row.get("subtype", ""), "notices of the program")
    elif kind == "attachment":
        yield from _claude_attachment(row["attachment"])
    elif kind == "queue-operation":
        yield "prompts" if row.get("operation") == "enqueue" and not _is_said(row, rows) else BOOKKEEPING
    elif kind == "progress":
        yield "hook output" if row["data"]["type"] == "hook_progress" else "progress reports"
    else:
        yield _CLAUDE_ROWS.get(kind or "", "other records")


def _is_said(queued: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    prompts = [row["attachment"].get("prompt") for row in rows if row.get("type") == "attachment"]
    prompts += [
        row["message"].get("content") for row in rows if row.get("type") == "user" and "content" in row["message"]
    ]
    return queued["content"] in prompts


def _claude_reply(row: dict[str, Any], message: dict[str, Any]) -> Kinds:
    if message.get("model") == "<synthetic>" or row.get("isApiErrorMessage"):
        yield "error messages" if row.get("isApiErrorMessage") or row.get("error") else "notices of the program"
        return
    yield from (_CLAUDE_BLOCKS.get(block["type"], "other parts") for block in _blocks(message["content"]))


def _claude_prompt(row: dict[str, Any], blocks: list[dict[str, Any]]) -> Kinds:
    words = 0
    for block in blocks:
        said = block.get("text", "")
        if block["type"].endswith("tool_result"):
            yield "results"
        elif block["type"] == "image":
            yield "images"
            words += 1
        elif said.startswith("[Request interrupted by user"):
            yield BOOKKEEPING
        elif said.startswith("<command-"):
            name = said.partition("<command-name>")[2].partition("<")[0]
            yield f"commands /{name.strip().lstrip('/')}"
        elif said.startswith("<bash-input>"):
            yield "commands $"
        elif said.startswith(("<local-command-std", "<bash-std")):
            yield "output"
        elif said.startswith("Caveat:"):
            yield "notices of the program"
        else:
            words += 1
    if words:
        yield "notes" if row.get("isMeta") else "prompts"


def _claude_attachment(about: dict[str, Any]) -> Kinds:
    kind = about["type"]
    if isinstance(about.get("prompt"), list):
        yield from ("images" for block in about["prompt"] if block["type"] == "image")
    if "hook" in kind and kind != "hook_additional_context":  # what a hook told the model is a note
        yield "hook output"
    elif kind == "never-seen":
        yield "other attachments"
    else:
        yield _CLAUDE_ATTACHED.get(kind, "reminders to the model")


# Codex CLI

_CODEX_ITEMS = {
    "reasoning": "thinking",
    "web_search_call": "tool calls",
    "image_generation_call": "images",
    "ghost_snapshot": "file snapshots",
    "agent_message": "records of sub-agents",
}
_CODEX_EVENTS = {
    **dict.fromkeys(["token_count", "task_started", "task_complete", "turn.completed", "turn_aborted"], BOOKKEEPING),
    **dict.fromkeys(["context_compacted", "thread_settings_applied", "thread_name_updated"], BOOKKEEPING),
    **dict.fromkeys(["thread_goal_updated", "item_completed"], BOOKKEEPING),
    **dict.fromkeys(["user_message", "agent_message", "agent_reasoning"], BOOKKEEPING),
    **dict.fromkeys(["entered_review_mode", "exited_review_mode"], "reviews"),
    "thread_rolled_back": "going back",
    "sub_agent_activity": "records of sub-agents",
    "guardian_assessment": "approvals",
    "undo_completed": "notices of the program",
    "error": "error messages",
}


def codex(file: Path) -> Counter[str]:
    values = list(_values(file))
    rows = [each for each in values if isinstance(each, dict)]
    found = Counter({DAMAGED: len(values) - len(rows)})
    calls = {str((row.get("payload") or row).get("call_id")) for row in rows if row.get("type") != "event_msg"}
    for row in rows:
        payload = row.get("payload") or {}
        kind = row.get("type")
        if kind in ("session_meta", "turn_context", "world_state") or "record_type" in row or "instructions" in row:
            found[BOOKKEEPING] += 1
        elif kind == "compacted":
            found["compactions"] += 1
        elif kind == "event_msg":
            found[_codex_event(payload, calls)] += 1
        elif kind == "inter_agent_communication_metadata":
            found["records of sub-agents"] += 1
        else:
            found.update(_codex_item(payload or row))
    return +found


def _codex_event(payload: dict[str, Any], calls: set[str]) -> str:
    kind = payload["type"]
    if kind.startswith("collab_"):
        return "records of sub-agents"
    if "call_id" in payload or "callId" in payload:
        return BOOKKEEPING if str(payload.get("call_id") or payload.get("callId")) in calls else "tool reports"
    return _CODEX_EVENTS.get(kind, "other records")


def _codex_item(item: dict[str, Any]) -> Kinds:
    kind, role = item.get("type", "message" if "role" in item else ""), item.get("role")
    blocks = _blocks(item.get("content") or [])
    returned = [each for each in _blocks(item.get("output")) if isinstance(each, dict)]
    yield from ("images" for block in [*blocks, *returned] if block.get("type") == "input_image")
    if kind == "message":
        if role == "developer":
            yield "instructions of the program"
        elif role == "user":
            by_program = blocks[0].get("text", "").startswith(("<environment_context>", "<turn_aborted>"))
            yield "notes" if by_program else "prompts"
        else:
            yield "texts"
    elif kind == "reasoning" and not item.get("summary") and not item.get("content"):
        yield "hidden thinking"
    elif kind.endswith(("_output", "_result")):
        yield "results"
    elif kind.endswith("_call") and kind not in _CODEX_ITEMS:
        yield "tool calls"
    else:
        yield _CODEX_ITEMS.get(kind, "error messages" if kind == "error" else "other records")


# Gemini CLI


def gemini_cli(file: Path) -> Counter[str]:
    values = list(_values(file)) if file.suffix == ".jsonl" else [json.loads(file.read_text())]
    whole = values[0]
    if isinstance(whole, list) or "history" in whole:
        contents = whole if isinstance(whole, list) else whole.get("clientHistory") or whole["history"]
        return Counter(kind for content in contents for kind in _gemini_content(content))
    heads = [each for each in values if "sessionId" in each or "$set" in each]
    backs = [each for each in values if "$rewindTo" in each]
    messages = [each for each in [*whole.get("messages", ()), *values] if "type" in each]
    others = len(values) - len(heads) - len(backs) - sum("type" in each for each in values)
    known = Counter({BOOKKEEPING: len(heads), "going back": len(backs), "other records": others})
    return +(known + Counter(kind for message in messages for kind in _gemini_message(message)))


def _gemini_message(message: dict[str, Any]) -> Kinds:
    said = message.get("content") or message.get("parts")
    if message["type"] == "user":
        yield "compactions" if str(said).startswith("<state_snapshot>") else "prompts"
    elif message["type"] in ("gemini", "model"):
        calls = message.get("toolCalls", [])
        yield from ["texts"] * bool(said)
        yield from ["thinking"] * len(message.get("thoughts", []))
        yield from ["tool calls"] * len(calls)
        yield from ["results"] * sum("result" in call for call in calls)
        if not said and not calls and not message.get("thoughts"):
            yield "empty replies"
    else:
        yield "notices of the program" if message["type"] in ("info", "error") else "other records"


def _gemini_content(content: dict[str, Any]) -> Kinds:
    keys = [next(iter(part)) for part in content["parts"]]
    if content["role"] == "model":
        named = {"text": "texts", "thought": "thinking", "functionCall": "tool calls"}
        yield from (named.get(key, "other parts") for key in keys)
        return
    yield from ["results"] * keys.count("functionResponse")
    yield from ["images"] * keys.count("inlineData")
    if {"text", "inlineData"} & set(keys):
        yield "notes" if "This is the Gemini CLI" in str(content) else "prompts"


# pi, opencode, llm, and the chat formats


def pi(file: Path) -> Counter[str]:
    return Counter(kind for row in _values(file) for kind in _pi_entry(row))


def _pi_entry(row: dict[str, Any]) -> Kinds:
    kind = row["type"]
    if kind == "message":
        yield from _pi_message(row["message"])
    elif kind in ("branch_summary", "custom_message"):
        yield "notes"
    elif kind == "compaction":
        yield "compactions"
    elif kind in ("session", "session_info", "model_change", "thinking_level_change", "label"):
        yield BOOKKEEPING
    else:
        yield "data of extensions" if kind == "custom" else "other records"


def _pi_message(message: dict[str, Any]) -> Kinds:
    named = {"user": "prompts", "toolResult": "results", "bashExecution": "commands"}
    if message["role"] != "assistant":
        yield named.get(message["role"], "other records")
    elif not message["content"]:
        yield "empty replies"
    else:
        blocks = {"text": "texts", "thinking": "thinking", "toolCall": "tool calls"}
        yield from (blocks.get(block["type"], "other parts") for block in message["content"])


def opencode(folder: Path) -> Counter[str]:
    """The storage that a session's file is in, as far as it belongs to that session."""
    if folder.is_file():
        storage, id = folder.parent.parent.parent, json.loads(folder.read_text())["id"]
    messages = [json.loads(file.read_text()) for file in (storage / "message" / id).glob("*.json")]
    found: Counter[str] = Counter({BOOKKEEPING: 1})  # the session's own file
    for message in messages:
        files = [*(storage / "part" / message["id"]).glob("*.json"), *(storage / "part").glob("*.json")]
        parts = [json.loads(file.read_text()) for file in files]
        own = [part for part in parts if part.get("messageID", message["id"]) == message["id"]]
        found.update(_opencode_parts(message, own))
    return +found


def _opencode_parts(message: dict[str, Any], parts: list[dict[str, Any]]) -> Kinds:
    if message["role"] == "user":
        yield "prompts"
        return
    named = {"text": "texts", "reasoning": "thinking", "tool": "tool calls", "file": "attached files"}
    named |= {"patch": "file changes", "snapshot": "file snapshots", "retry": "error messages"}
    named |= dict.fromkeys(["step-start", "step-finish"], BOOKKEEPING) | {"compaction": "compactions"}
    yield from (named.get(part["type"], "other parts") for part in parts)
    yield from ["results"] * sum(part["type"] == "tool" and "output" in part["state"] for part in parts)


def llm(file: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    with sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True) as database:
        database.row_factory = sqlite3.Row
        tables = [row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]

        def rows(table: str, order: str = "rowid") -> list[dict[str, Any]]:
            sought = f"SELECT * FROM {table} ORDER BY {order}"
            return [dict(row) for row in database.execute(sought)] if table in tables else []

        found += Counter({"tool calls": len(rows("tool_calls")), "results": len(rows("tool_results"))})
        calling = {row["response_id"] for row in rows("tool_calls")}
        systems: dict[Any, str] = {}
        for row in rows("responses", "conversation_id, datetime_utc"):
            found.update(_llm_response(row, systems, row["id"] in calling))
        roles = {row["hash"]: row["role"] for row in rows("messages")}
        for part in rows("parts"):
            found[_llm_part(part, roles[part["message_hash"]])] += 1
    return +found


def _llm_response(row: dict[str, Any], systems: dict[Any, str], calls: bool) -> Kinds:
    yield from ["prompts"] * bool((row["prompt"] or "").strip())
    yield from ["texts"] * bool(row["response"])
    yield from ["thinking"] * bool(row.get("reasoning"))
    yield from ["schemas"] * bool(row.get("schema_id"))
    yield from ["empty replies"] * (not row["response"] and not row.get("reasoning") and not calls)
    if row["system"]:
        conversation = row["conversation_id"] or row["id"]
        yield BOOKKEEPING if systems.get(conversation) == row["system"] else "system prompts"  # repeated with each
        systems[conversation] = row["system"]


def _llm_part(part: dict[str, Any], role: str) -> str:
    named = {"reasoning": "thinking", "tool_call": "tool calls", "tool_result": "results"}
    said = {"system": "system prompts", "user": "prompts", "assistant": "texts"}
    return said[role] if part["type"] == "text" else named.get(part["type"], "other parts")


def openai(file: Path) -> Counter[str]:
    records = list(_values(file))
    messages = [each for record in records for each in record.get("messages", [record])]
    return +Counter(kind for message in messages for kind in _openai_message(message))


def _openai_message(message: dict[str, Any]) -> Kinds:
    content, role = message.get("content"), message.get("role")
    named = {"system": "system prompts", "user": "prompts", "tool": "results", "function": "results"}
    if role == "assistant":
        calls = message.get("tool_calls") or ([message["function_call"]] if "function_call" in message else [])
        yield from ["texts"] * bool(content)
        yield from ["thinking"] * ("reasoning_content" in message)
        yield from ["tool calls"] * len(calls)
        yield from ["empty replies"] * (not content and not calls and "reasoning_content" not in message)
        return
    lost = {"input_audio": "audio", "image_url": "images", "file": "attached files"}
    yield from (lost[block["type"]] for block in content if block["type"] in lost) if isinstance(content, list) else ()
    yield named.get(role or "", "other records")


def anthropic(file: Path) -> Counter[str]:
    whole = json.loads(file.read_text())
    found = Counter({"system prompts": int("system" in whole)})
    for message in whole["messages"]:
        if message["role"] not in ("user", "assistant"):
            found["other records"] += 1
            continue
        found.update(_anthropic_blocks(message["role"], _blocks(message["content"])))
    return +found


def _anthropic_blocks(role: str, blocks: list[dict[str, Any]]) -> Kinds:
    if role == "assistant":
        yield from (_CLAUDE_BLOCKS.get(block["type"], "other parts") for block in blocks)
        return
    results = [block for block in blocks if block["type"] == "tool_result"]
    yield from ["results"] * len(results)
    yield from ("images" for block in blocks if block["type"] == "image")
    yield from ("attached files" for block in blocks if block["type"] == "document")
    yield from ["prompts"] * (len(blocks) > len(results))


def _values(file: Path) -> Iterator[Any]:
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError:
                yield None


def _blocks(content: Any) -> list[dict[str, Any]]:
    listed = content if isinstance(content, list) else [content]
    return [{"type": "text", "text": each} if isinstance(each, str) else each for each in listed]


COUNTS: dict[str, Callable[[Path], Counter[str]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini-cli": gemini_cli,
    "opencode": opencode,
    "pi": pi,
    "llm": llm,
    "openai": openai,
    "anthropic": anthropic,
}
