"""Conversations in OpenAI's chat format: one a line with its `messages`, or one message a line."""

from typing import Any, Final

from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ThinkingPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.events.content import content_text, without_files
from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.chat_messages import chat_id, sessions_of
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import (
    EMPTY_REPLIES,
    OTHER_RECORDS,
    objects,
    prompt_content,
    read_time,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import ANY_CHAT, DocumentImporter
from co_tui.exchange.openai_format import to_message

NAME: Final = "openai"
_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_BLOCKS: Final = ("text", "image_url", "input_audio", "refusal", "file")
_OTHERS_TOOLS: Final = (
    "tool_use",
    "tool_result",
    "toolRequest",
    "toolResponse",
    "tool-call",
    "tool-result",
    "toolCall",
)
"""Blocks of other programs, whose calls would be lost here: such a file is not in this format."""


def recognises(document: Document) -> bool:
    records = document.records[:50]
    if any(map(_has_others_tools, document.records)):
        return False
    return any(map(_is_conversation, records)) or any(map(_is_message, records))


def _has_others_tools(record: Record) -> bool:
    messages = [record, *objects(record.get("messages"))]
    return any(block.get("type") in _OTHERS_TOOLS for each in messages for block in objects(each.get("content")))


def _is_conversation(record: Record) -> bool:
    messages = record.get("messages")
    return isinstance(messages, list) and bool(messages) and any(_is_message(each) for each in messages[:20])


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        return False
    content = value.get("content")
    return content is None or isinstance(content, str) or (isinstance(content, list) and all(map(_is_block, content)))


def _is_block(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and value.get("type") in _BLOCKS)


def load(document: Document) -> list[ImportedSession]:
    return sessions_of(document, [record for record in document.records if _is_conversation(record)], _session)


def _session(
    document: Document, about: Record, messages: list[Record], skipped: int, is_only: bool
) -> list[ImportedSession]:
    started = next(
        (time for key in ("created_at", "timestamp", "created") if (time := read_time(about.get(key)))), None
    )
    builder = SessionBuilder(NAME, started or document.modified)
    builder.skipped = skipped
    builder.title = text(about.get("title"))
    for message in messages:
        if text(message.get("role")) not in _ROLES:
            builder.leave_out(OTHER_RECORDS)
            continue
        builder.mark(text(message.get("id")))
        try:
            _say(builder, message, text(message.get("model")) or text(about.get("model")))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            builder.skipped += 1
    return [] if builder.empty else [builder.build(chat_id(NAME, about, messages, is_only=is_only))]


def _say(builder: SessionBuilder, chat: Record, model: str) -> None:
    time = next((time for key in ("timestamp", "created_at") if (time := read_time(chat.get(key)))), None)
    message = to_message(chat)
    builder.left_out.update(prompt_content(chat.get("content")).left_out)
    if isinstance(message, ModelResponse):
        thought = text(chat.get("reasoning_content")) or text(chat.get("reasoning"))
        parts = [*([ThinkingPart(thought)] if thought else []), *message.parts]
        builder.reply(parts, time, model=model, usage=message.usage)
        if not parts:
            builder.leave_out(EMPTY_REPLIES)
        if isinstance(chat.get("audio"), dict):
            builder.leave_out("audio")
        return
    assert isinstance(message, ModelRequest)
    (part,) = message.parts
    if isinstance(part, ToolReturnPart):
        call_id, name = text(chat.get("tool_call_id")), text(chat.get("name"))
        said, images = _split(part.content)
        builder.results([Result(call_id, said, name, images=images)], time)
    elif isinstance(part, SystemPromptPart):
        builder.system(part.content, time)
    elif isinstance(part, UserPromptPart):
        said, images = _split(part.content)
        builder.prompt(said, time, images=images)


def _split(content: Any) -> tuple[str, list[BinaryContent]]:
    images = [each for each in content if isinstance(each, BinaryContent)] if isinstance(content, list) else []
    return content_text(without_files(content)), images


IMPORTERS: Final = (DocumentImporter("OpenAI's chat format", recognises, load, ANY_CHAT),)
