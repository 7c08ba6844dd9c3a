"""Messages in OpenAI's chat format, with what programs add that keep their requests; and files of such chats."""

from collections.abc import Callable
from typing import Any

from pydantic_ai.messages import ModelResponsePart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.importers.builder import NO_USAGE, Result, SessionBuilder
from co_tui.exchange.importers.citations import sources
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_parts import EMPTY, SYSTEM_PROMPTS, called, said, thought
from co_tui.exchange.importers.foreign_values import (
    beginning,
    blocks_of,
    is_user,
    objects,
    prompt_content,
    readable,
    result_content,
    text,
    text_of_blocks,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.store.session_ids import stable_id


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
    cited = [each for key in ("annotations", "citations") for each in _list(message.get(key))]
    return [*(part for each in (reasoning, *thoughts) for part in thought(each)), *said(words), *sources(cited), *calls]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def sessions_of(
    document: Document,
    conversations: list[Record],
    session: Callable[[Document, Record, list[Record], int, bool], list[ImportedSession]],
) -> list[ImportedSession]:
    """One of each record that is a conversation, else one of all records.

    `session` takes the document, what is known about the conversation, its messages, how many records were skipped,
    and whether it is the only one.
    """
    if not conversations:
        return session(document, {}, document.records, document.skipped, True)
    found: list[ImportedSession] = []
    for record in conversations:
        skipped = 0 if found else document.skipped + len(document.records) - len(conversations)
        found += session(document, record, list(objects(record["messages"])), skipped, len(conversations) == 1)
    return found


def chat_id(source: str, about: Record, messages: list[Record], *, is_only: bool) -> str:
    """Among several of a file, those without an id may begin alike."""
    known = beginning(messages, is_user) if "id" in about or is_only else readable(messages)
    return stable_id(source, str(about.get("id", "")), known)
