"""Conversations in Anthropic's format: one a line or object with its `messages`, or one message a line or list item."""

from typing import Any, Final

from co_tui.exchange.importers import anthropic_blocks
from co_tui.exchange.importers.builder import SessionBuilder
from co_tui.exchange.importers.chat_messages import chat_id, sessions_of
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import (
    EMPTY_REPLIES,
    OTHER_RECORDS,
    blocks_of,
    objects,
    read_time,
    text,
    text_of_blocks,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import ANY_CHAT, DocumentImporter

NAME: Final = "anthropic"
_ROLES: Final = ("user", "assistant")
_OWN_BLOCKS: Final = ("thinking", "redacted_thinking", "document", "search_result", "container_upload")
_TIMES: Final = ("timestamp", "created_at", "created")


def recognises(document: Document) -> bool:
    """By its own blocks, or by a system prompt next to the messages; texts alone could be anyone's."""
    return any(_is_request(record) or any(map(_is_own, _messages(record))) for record in document.records[:200])


def _is_request(record: Record) -> bool:
    return "system" in record and any(map(_is_message, objects(record.get("messages"))))


def _messages(record: Record) -> list[Record]:
    return list(objects(record["messages"]))[:200] if isinstance(record.get("messages"), list) else [record]


def _is_message(value: Record) -> bool:
    return value.get("role") in _ROLES and isinstance(value.get("content"), str | list)


def _is_own(message: Record) -> bool:
    return _is_message(message) and any(map(_is_own_block, objects(message["content"])))


def _is_own_block(block: Record) -> bool:
    is_image = block.get("type") == "image" and isinstance(block.get("source"), dict)
    is_tool = anthropic_blocks.is_call(block) or (anthropic_blocks.is_result(block) and "tool_use_id" in block)
    return is_tool or is_image or block.get("type") in _OWN_BLOCKS


def load(document: Document) -> list[ImportedSession]:
    return sessions_of(
        document, [record for record in document.records if isinstance(record.get("messages"), list)], _session
    )


def _session(
    document: Document, about: Record, messages: list[Record], skipped: int, is_only: bool
) -> list[ImportedSession]:
    builder = SessionBuilder(NAME, _time(about) or document.modified)
    builder.skipped = skipped
    builder.title = text(about.get("title")) or text(about.get("name"))
    builder.cwd = text(about.get("cwd"))
    builder.system(text_of_blocks(about.get("system")), None)
    for message in messages:
        builder.mark(text(message.get("id")) or text(message.get("uuid")))
        _say(builder, message, text(message.get("model")) or text(about.get("model")))
    return [] if builder.empty else [builder.build(chat_id(NAME, about, messages, is_only=is_only))]


def _say(builder: SessionBuilder, message: Record, model: str) -> None:
    time = _time(message)
    if message.get("role") == "system":
        builder.system(text_of_blocks(message.get("content")), time)
        return
    if not _is_message(message):
        builder.leave_out(OTHER_RECORDS)
        return
    blocks = list(blocks_of(message["content"]))
    if message["role"] == "assistant":
        if not blocks:
            builder.leave_out(EMPTY_REPLIES)
        usage = anthropic_blocks.usage_of(message.get("usage"))
        anthropic_blocks.reply(builder, blocks, time, model=model, usage=usage, reply_id=text(message.get("id")))
        return
    anthropic_blocks.results(builder, blocks, time)
    said = builder.counting(anthropic_blocks.prompt_blocks(blocks))
    builder.prompt(said.text, time, images=said.images)


def _time(record: Record) -> Any:
    return next((time for key in _TIMES if (time := read_time(record.get(key)))), None)


IMPORTERS: Final = (DocumentImporter("Anthropic's chat format", recognises, load, ANY_CHAT),)
