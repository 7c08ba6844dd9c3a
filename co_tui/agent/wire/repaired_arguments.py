"""Repair the arguments of tool calls that are not quite JSON, before anything reads them."""

import json
from dataclasses import replace
from typing import Final

from pydantic_ai.messages import ModelResponse, ToolCallPart

MOST_CHARS: Final = 1_000_000


def with_repaired_arguments(response: ModelResponse) -> ModelResponse:
    """The response with calls whose arguments can be read; unchanged if they can already.

    Done here and not when a tool is called: so the log, the question and the tool have the same arguments. A reply that
    was cut is left as it is: its last call would be repaired into a shorter one."""
    if response.finish_reason == "length":
        return response
    parts = [_repaired(part) if isinstance(part, ToolCallPart) else part for part in response.parts]
    return replace(response, parts=parts) if parts != response.parts else response


def _repaired(call: ToolCallPart) -> ToolCallPart:
    text = call.args
    if not isinstance(text, str) or not text.strip() or len(text) > MOST_CHARS or _reads(text):
        return call
    found = _read_anyhow(text.strip())
    return replace(call, args=json.dumps(found, ensure_ascii=False)) if found else call


def _reads(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return True  # nested too deeply to be worth a guess
    except ValueError:
        return False
    return True


def _read_anyhow(text: str) -> dict[str, object]:
    """The arguments as they were meant; empty if the text does not end as arguments do, or cannot be read."""
    try:
        found = json.loads(text, strict=False)  # line breaks inside of texts
    except (ValueError, RecursionError):
        if not text.startswith("{") or not text.endswith("}"):
            return {}
        import json_repair

        try:
            found = json_repair.loads(text, skip_json_loads=True)
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}
