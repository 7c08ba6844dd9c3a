"""Messages as OpenAI's chat format writes them, with the additions of programs that keep their requests."""

from typing import Any

from pydantic_ai.messages import ModelResponsePart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.importers.builder import NO_USAGE, Result, SessionBuilder
from co_tui.exchange.importers.foreign_parts import EMPTY, SYSTEM_PROMPTS, called, said, thought
from co_tui.exchange.importers.foreign_values import (
    blocks_of,
    objects,
    prompt_content,
    result_content,
    text,
    text_of_blocks,
)


def say_chat(builder: SessionBuilder, message: Any, time: Any, model: str, *, usage: RequestUsage = NO_USAGE) -> None:
    """One message; what is none is counted as damaged, and a program's own instructions as left out."""
    role = message.get("role") if isinstance(message, dict) else None
    match role:
        case "user":
            content = builder.counting(prompt_content(message.get("content")))
            builder.prompt(content.text, time, images=content.images)
            builder.leave_out(EMPTY, 0 if content.text.strip() or content.images else 1)
        case "assistant":
            parts = chat_parts(message)
            builder.reply(parts, time, model=model, usage=usage)
            builder.leave_out(EMPTY, 0 if parts else 1)
        case "tool" | "function":
            returned = builder.counting(result_content(message.get("content")))
            call_id, tool = text(message.get("tool_call_id")), text(message.get("name"))
            builder.results([Result(call_id, returned.text, tool, images=returned.images)], time)
        case "system" | "developer":
            builder.leave_out(SYSTEM_PROMPTS)
        case _:
            builder.skipped += 1


def chat_parts(message: dict[str, Any]) -> list[ModelResponsePart]:
    """The thinking, words and calls of a reply."""
    blocks = list(blocks_of(message.get("content")))
    thoughts = [text(block.get("think")) for block in blocks if block.get("type") == "think"]
    words = text_of_blocks([block for block in blocks if block.get("type") != "think"])
    calls = []
    for each in objects(message.get("tool_calls")):
        function = each.get("function")
        about = function if isinstance(function, dict) else each
        calls.append(called(about.get("name"), about.get("arguments"), each.get("id")))
    reasoning = text(message.get("reasoning_content")) or text(message.get("reasoning"))
    return [*(part for each in (reasoning, *thoughts) for part in thought(each)), *said(words), *calls]
