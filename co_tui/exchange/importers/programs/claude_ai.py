"""Conversations that were exported from Claude.ai: a list of them, each with its messages."""

from typing import Any, Final

from co_tui.exchange.importers import anthropic_blocks
from co_tui.exchange.importers.builder import SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_parts import ATTACHED_FILES, EMPTY, labelled
from co_tui.exchange.importers.foreign_values import (
    NOTICES,
    blocks_of,
    objects,
    prompt_content,
    read_time,
    readable,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.exchange.importers.trees import Node
from co_tui.store.session_ids import stable_id

NAME: Final = "claude-ai"
_NOTES: Final = ("token_budget", "flag")
"""Blocks that say nothing."""


def recognises(document: Document) -> bool:
    return any(map(_is_conversation, document.records[:20]))


def _is_conversation(record: Record) -> bool:
    return isinstance(record.get("chat_messages"), list) and "uuid" in record


def load(document: Document) -> list[ImportedSession]:
    found: list[ImportedSession] = []
    conversations = [record for record in document.records if _is_conversation(record)]
    read = [_session(document, record) for record in conversations]
    found = [session for session in read if session is not None]
    return with_rest(found, document, len(document.records) - len(conversations), len(read) - len(found))


def with_rest(found: list[ImportedSession], document: Document, damaged: int, empty: int) -> list[ImportedSession]:
    """What else an export holds: counted with the first conversation of it."""
    if not found:
        return []
    rest = {"empty conversations": empty, "other files of the export": document.other_files}
    first, *others = found
    left = {**first.left_out, **{kind: count for kind, count in rest.items() if count}}
    return [first.but(skipped=first.skipped + document.skipped + damaged, left_out=left), *others]


def _session(document: Document, record: Record) -> ImportedSession | None:
    builder = SessionBuilder(NAME, read_time(record.get("created_at")) or document.modified)
    builder.title = text(record.get("name"))
    messages = record["chat_messages"]
    known = [each for each in objects(messages) if each.get("sender") in ("human", "assistant")]
    builder.skipped += len(messages) - len(known)
    nodes = [Node(text(each.get("uuid")), _parent(each), each) for each in known]
    for message in builder.walk(nodes, leaf=text(record.get("current_leaf_message_uuid"))):
        _say(builder, message, text(record.get("model")))
    identity = text(record.get("uuid")) or readable(messages[:1])
    return None if builder.empty else builder.build(stable_id(NAME, identity))


def _parent(message: Record) -> str | None:
    """Exports of the first years name none."""
    return text(message["parent_message_uuid"]) if "parent_message_uuid" in message else None


def _say(builder: SessionBuilder, message: Record, model: str) -> None:
    time = read_time(message.get("created_at"))
    found = list(blocks_of(message.get("content")))
    blocks = [_spoken(block) for block in found if block.get("type") not in _NOTES]
    builder.leave_out(NOTICES, len(found) - len(blocks))
    if not blocks and text(message.get("text")):
        blocks = [{"type": "text", "text": message["text"]}]
    if message["sender"] == "assistant":
        anthropic_blocks.reply(builder, blocks, time, model=model)
        builder.leave_out(EMPTY, 0 if blocks else 1)
        builder.leave_out(ATTACHED_FILES, len(list(objects(message.get("files")))))
    else:
        _prompt(builder, message, blocks, time)


def _spoken(block: Record) -> Record:
    return {**block, "type": "text"} if block.get("type") == "voice_note" else block


def _prompt(builder: SessionBuilder, message: Record, blocks: list[Record], time: Any) -> None:
    content = builder.counting(prompt_content(blocks))
    attached = [_attachment(each) for each in objects(message.get("attachments"))]
    files = [text(each.get("file_name")) for each in objects(message.get("files"))]
    labels = [labelled("file", name) for name in files]
    words = "\n\n".join(filter(None, (content.text, *attached, *labels)))
    builder.prompt(words, time, images=content.images)
    builder.leave_out(ATTACHED_FILES, len(files))
    builder.leave_out(EMPTY, 0 if words.strip() or content.images else 1)


def _attachment(attachment: Record) -> str:
    """A file whose text came along."""
    name = labelled("file", text(attachment.get("file_name")))
    return "\n".join(filter(None, (name, text(attachment.get("extracted_content")))))


IMPORTERS: Final = (DocumentImporter("Claude.ai", recognises, load),)
