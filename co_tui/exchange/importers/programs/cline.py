"""Sessions of Cline, and of Roo Code and Kilo Code, which were made from it.

Now a session's messages with a file about it and one with its compacted context next to them; before, a list of
messages as they were sent.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic_ai.usage import RequestUsage

from co_tui.exchange.importers import anthropic_blocks
from co_tui.exchange.importers.builder import SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record, read_value
from co_tui.exchange.importers.foreign_parts import EMPTY, SYSTEM_PROMPTS, labelled
from co_tui.exchange.importers.foreign_values import (
    OTHER_RECORDS,
    blocks_of,
    count,
    objects,
    read_time,
    readable,
    text,
    text_of_blocks,
)
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.store.session_ids import stable_id

NAME: Final = "cline"
_MESSAGES: Final = ".messages.json"
_COMPACTED: Final = ".compaction.json"
_ENVIRONMENT: Final = "<environment_details>"
_TAGS: Final = re.compile(r"</?(?:task|user_message|feedback|answer)>")
"""What is put around the user's own words in the older form."""
_RESULT: Final = re.compile(r"\s*\[[^\]\n]{1,300}\] Result:")
"""How a result begins in the older form, which has no blocks for them."""


def recognises(document: Document) -> bool:
    first = document.records[0]
    return _is_session(first) or _is_about(first) or any(map(_is_task_message, document.records[:20]))


def _is_session(record: Record) -> bool:
    return {"version", "agent", "sessionId", "messages"} <= record.keys() and isinstance(record["messages"], list)


def _is_about(record: Record) -> bool:
    return {"version", "session_id", "messages_path"} <= record.keys()


def _is_task_message(record: Record) -> bool:
    if record.get("role") not in ("user", "assistant") or "content" not in record:
        return False
    return any(_ENVIRONMENT in text(block.get("text")) for block in blocks_of(record["content"]))


def load(document: Document) -> list[ImportedSession]:
    """Raises `ImportRefused` for what belongs to the messages of a session."""
    first = document.records[0]
    if _is_about(first) or _is_beside_messages(document.path):
        raise ImportRefused(f"{document.path} is only part of a Cline session. Import the {_MESSAGES} file next to it.")
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    return _session(builder, document, first) if _is_session(first) else _task(builder, document)


def _is_beside_messages(path: Path) -> bool:
    """Whether it is the compacted context of a session whose messages are there too."""
    return path.name.endswith(_COMPACTED) and path.with_name(path.name.removesuffix(_COMPACTED) + _MESSAGES).is_file()


def _session(builder: SessionBuilder, document: Document, record: Record) -> list[ImportedSession]:
    builder.leave_out(SYSTEM_PROMPTS, 1 if text(record.get("system_prompt")) else 0)
    builder.leave_out(OTHER_RECORDS, len(document.records) - 1)
    messages = list(objects(record["messages"]))
    builder.skipped += len(record["messages"]) - len(messages)
    session_id, agent = text(record.get("sessionId")), text(record.get("agent"))
    about = _next_to(document.path, ".json", "session_id", session_id)
    compacted = _next_to(document.path, _COMPACTED, "sessionId", session_id)
    _describe(builder, about)
    time = read_time(compacted.get("updated_at")) or document.modified
    for message in messages:
        if compacted and (read_time(message.get("ts")) or time) > time:
            _compact(builder, compacted, time)
            compacted = {}
        _say(builder, message)
    if compacted:
        _compact(builder, compacted, time)
    # A file of compacted context without its messages is a session of its own.
    kind = "compacted" if any(_marks_compaction(message) for message in messages) else ""
    identity = (session_id or readable(messages[:1]), agent if agent != "lead" else "", kind)
    return [] if builder.empty else [builder.build(stable_id(NAME, *identity))]


def _next_to(path: Path, ending: str, key: str, session_id: str) -> Record:
    """Another file of the same session; nothing when it is that of another."""
    if not path.name.endswith(_MESSAGES) or not session_id:
        return {}
    found = read_value(path.with_name(path.name.removesuffix(_MESSAGES) + ending))
    return found if isinstance(found, dict) and found.get(key) == session_id else {}


def _describe(builder: SessionBuilder, about: Record) -> None:
    builder.cwd = text(about.get("cwd"))
    metadata = about.get("metadata")
    builder.title = text(metadata.get("title")) if isinstance(metadata, dict) else ""


def _marks_compaction(message: Record) -> bool:
    about = message.get("metadata")
    return isinstance(about, dict) and about.get("kind") in ("compaction_summary", "compaction")


def _is_summary(message: Record) -> bool:
    return _marks_compaction(message) and message["metadata"]["kind"] == "compaction_summary"


def _compact(builder: SessionBuilder, compacted: Record, time: datetime) -> None:
    """The context that Cline goes on with, in place of all that was said until then."""
    messages = list(objects(compacted.get("messages")))
    about: Record = next((message["metadata"] for message in messages if _marks_compaction(message)), {})
    summary = text(about.get("summary"))
    kept = next((text(message.get("id")) for message in messages if not _marks_compaction(message)), "")
    if summary:
        builder.compacted(summary, time, pre_tokens=count(about, "tokensBefore"), kept_from=kept)
        return
    other = SessionBuilder(NAME, time)
    for message in messages:
        _say(other, message)
    builder.compacted("", time, replacement=[] if other.empty else other.build("").messages)


def _say(builder: SessionBuilder, message: Record) -> None:
    builder.mark(text(message.get("id")))
    time = read_time(message.get("ts"))
    blocks = list(blocks_of(message.get("content")))
    if message.get("role") == "assistant":
        _reply(builder, message, blocks, time)
    elif message.get("role") == "user":
        results = any(map(anthropic_blocks.is_result, blocks))
        anthropic_blocks.results(builder, blocks, time)
        content = builder.counting(anthropic_blocks.prompt_blocks(map(_as_text, blocks)))
        by_program = results or _is_summary(message) or bool(_RESULT.match(content.text))
        builder.prompt(content.text, time, images=content.images, by_program=by_program)
        if not results and not content.text.strip() and not content.images:
            builder.leave_out(EMPTY)
    else:
        builder.skipped += 1


def _as_text(block: Record) -> Record:
    """A file with its content as text."""
    if block.get("type") != "file":
        return block
    name = labelled("file", text(block.get("path")) or text(block.get("name")))
    return {"type": "text", "text": "\n".join(filter(None, (name, text(block.get("content")))))}


def _reply(builder: SessionBuilder, message: Record, blocks: list[Record], time: Any) -> None:
    model, metrics = message.get("modelInfo"), message.get("metrics")
    usage = RequestUsage(  # the input is all of it, what came from the cache included
        input_tokens=count(metrics, "inputTokens"),
        output_tokens=count(metrics, "outputTokens"),
        cache_read_tokens=count(metrics, "cacheReadTokens"),
        cache_write_tokens=count(metrics, "cacheWriteTokens"),
    )
    name = (text(model.get("id")) or text(model.get("modelId"))) if isinstance(model, dict) else ""
    anthropic_blocks.reply(builder, blocks, time, model=name, usage=usage)
    builder.leave_out(EMPTY, 0 if blocks else 1)


def _task(builder: SessionBuilder, document: Document) -> list[ImportedSession]:
    """The older form: what the program adds to the user's words is not carried over."""
    for message in document.records:
        if message.get("role") == "user":
            message = {**message, "content": _own_words(builder, message.get("content"))}
        if message.get("isSummary") is True:
            builder.compacted(text_of_blocks(message.get("content")), read_time(message.get("ts")))
        else:
            _say(builder, message)
    first = document.records[0]
    identity = readable([first.get("ts"), first.get("content")])
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _own_words(builder: SessionBuilder, content: Any) -> list[Record]:
    found = []
    for block in blocks_of(content):
        words = text(block.get("text"))
        if block.get("type") != "text" or not words:
            found.append(block)
        elif words.lstrip().startswith(_ENVIRONMENT):
            builder.leave_out("notes on the environment")
        else:
            found.append({**block, "text": _TAGS.sub("", words).strip()})
    return found


IMPORTERS: Final = (DocumentImporter("Cline", recognises, load),)
