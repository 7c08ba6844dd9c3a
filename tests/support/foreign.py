"""Session files of other programs, written by hand in their forms."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

Rows = Iterable[Any]


def write_lines(file: Path, rows: Rows) -> Path:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def claude_row(kind: str, content: Any, number: int = 0, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    time = f"2025-03-01T10:{number // 60:02}:{number % 60:02}.000Z"
    return {"type": kind, "sessionId": "s-1", "cwd": "/work", "timestamp": time, "message": message, **more}


def claude_call(id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def claude_result(id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def codex_row(kind: str, number: int = 0, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2025-03-01T10:00:{number:02}Z", "type": kind, "payload": payload}


def codex_said(role: str, text: str, number: int = 0) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return codex_row("response_item", number, type="message", role=role, content=[{"type": kind, "text": text}])


def counts(messages: Sequence[ModelMessage]) -> Counter[str]:
    """How often each thing is said; a pair is a call with a result among the messages right after it."""
    found: Counter[str] = Counter()
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            found["replies"] += 1
            open_calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
            found["calls"] += len(open_calls)
            continue
        for part in message.parts:
            found["prompts"] += isinstance(part, UserPromptPart)
            found["systems"] += isinstance(part, SystemPromptPart)
            if isinstance(part, ToolReturnPart):
                found["results"] += 1
                if part.tool_call_id in open_calls:
                    open_calls.remove(part.tool_call_id)
                    found["pairs"] += 1
    return +found
