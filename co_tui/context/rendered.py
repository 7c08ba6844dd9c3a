"""A conversation as text, for whoever summarises it or writes it into a memory file (T5)."""

from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.shape import STANDS_FOR, SUMMARY, content_text
from co_tui.context.tool_outputs import ends_of


def rendered(messages: Sequence[ModelMessage], *, result_chars: int, text_chars: int) -> list[str]:
    """Each message as one text, none longer than its limits allow; system parts and summaries are left out."""
    inputs: dict[str, str] = {}
    texts = []
    for message in messages:
        blocks = _response(message, inputs) if isinstance(message, ModelResponse) else _request(message, inputs)
        clipped = [_clip(block, result_chars if block.startswith("## Tool: ") else text_chars) for block in blocks]
        if clipped:
            texts.append("\n\n".join(clipped))
    return texts


def _response(message: ModelResponse, inputs: dict[str, str]) -> list[str]:
    blocks = []
    for part in message.parts:
        if isinstance(part, TextPart) and part.content.strip():
            blocks.append(f"## Assistant\n{part.content.strip()}")
        elif isinstance(part, ToolCallPart):
            inputs[part.tool_call_id] = content_text(part.args) if part.args else ""
    return blocks


def _request(message: ModelRequest, inputs: dict[str, str]) -> list[str]:
    if STANDS_FOR in (message.metadata or {}) and SUMMARY in (message.metadata or {}):
        return []  # handed over apart, to be brought up to date
    blocks = []
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            blocks.append(f"## User\n{content_text(part.content).strip()}")
        elif isinstance(part, ToolReturnPart) or (isinstance(part, RetryPromptPart) and part.tool_name):
            blocks.append(tool_result(part.tool_name, inputs.pop(part.tool_call_id, ""), content_text(part.content)))
    return blocks


def tool_result(name: str, given: str, returned: str) -> str:
    """A tool's work under its heading, with what went in and what came out."""
    return f"## Tool: {name}\n**Input:**\n{given}\n**Output:**\n{returned}"


def _clip(text: str, limit_chars: int) -> str:
    return ends_of(text, limit_chars) or text
