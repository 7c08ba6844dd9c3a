"""Sessions of Cline, and of Roo Code and Kilo Code, which were made from it.

Now a session's messages with a file about it and one with its compacted context next to them; before, a list of
messages as they were sent.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic_ai.usage import RequestUsage

from co_tui.exchange.file_blocks import files_in
from co_tui.exchange.importers import anthropic_blocks
from co_tui.exchange.importers.builder import Result, SessionBuilder
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
from co_tui.exchange.importers.xml_calls import blocks_of_text, has_calls, results_in, user_words_in
from co_tui.store.session_ids import stable_id

NAME: Final = "cline"
_MESSAGES: Final = ".messages.json"
_COMPACTED: Final = ".compaction.json"
_TASK_FILE: Final = "api_conversation_history.json"
_SCREEN_FILE: Final = "ui_messages.json"
_ENVIRONMENT: Final = "<environment_details>"
_TAG: Final = re.compile(r"^<(task|user_message|feedback|answer)>", re.MULTILINE)
"""What is put around the user's own words in the older form; inside of them it is theirs."""
_COMPLAINT: Final = "[ERROR] You did not use a tool"
"""How the program answers a reply without a call."""


def recognises(document: Document) -> bool:
    first = document.records[0]
    is_named = document.path.name == _TASK_FILE and "role" in first and "content" in first
    return is_named or _is_session(first) or _is_about(first) or any(map(_is_task_message, document.records[:20]))


def _is_session(record: Record) -> bool:
    return {"version", "agent", "sessionId", "messages"} <= record.keys() and isinstance(record["messages"], list)


def _is_about(record: Record) -> bool:
    return {"version", "session_id", "messages_path"} <= record.keys()


def _is_task_message(record: Record) -> bool:
    said = [text(block.get("text")) for block in blocks_of(record.get("content"))]
    if record.get("role") == "assistant":
        return any(map(has_calls, said))
    return record.get("role") == "user" and any(_ENVIRONMENT in each or results_in(each) for each in said)


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
        by_program = results or _is_summary(message) or content.text.startswith(_COMPLAINT)
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
    builder.start(read_time(_number(document.path.absolute().parent.name)))
    times = _screen_times(document.path)
    for number, message in enumerate(document.records):
        message = {"ts": times.get(number), **message}
        if message.get("isSummary") is True:
            builder.compacted(text_of_blocks(message.get("content")), read_time(message.get("ts")))
        elif message.get("role") == "user":
            _say_in_task(builder, {**message, "content": _without_environment(builder, message.get("content"))})
        else:
            _say(builder, {**message, "content": _with_calls(message, document.records[number + 1 : number + 2])})
    first = document.records[0]
    identity = readable([first.get("ts"), first.get("content")])
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _number(name: str) -> int | None:
    """A task's folder is named by the time it began."""
    return int(name) if name.isascii() and name.isdigit() and len(name) < 20 else None


def _screen_times(path: Path) -> dict[int, Any]:
    """When each message was said, by its number: requests and replies take turns in the screen's half of a task."""
    shown = list(objects(read_value(path.with_name(_SCREEN_FILE))))
    requests = [place for place, each in enumerate(shown) if each.get("say") == "api_req_started"]
    found: dict[int, Any] = {}
    for number, place in enumerate(requests):
        answered = shown[place + 1 : place + 2]
        found[2 * number] = shown[place].get("ts")
        found[2 * number + 1] = answered[0].get("ts") if answered else None
    return found


def _with_calls(message: Record, following: list[Record]) -> list[Record]:
    """The blocks of a reply, with calls that it has as XML as blocks; where it has others, XML is only quoted."""
    blocks = list(blocks_of(message.get("content")))
    if any(map(anthropic_blocks.is_call, blocks)):
        return blocks
    answered = {result.tool for each in following for result in results_in(_joined(blocks_of(each.get("content"))))}
    found = [blocks_of_text(_text(block), answered) if _text(block) else [block] for block in blocks]
    return [part for parts in found for part in parts]


def _joined(blocks: Iterable[Record]) -> str:
    return "\n".join(text(block.get("text")) for block in blocks if block.get("type") == "text")


def _say_in_task(builder: SessionBuilder, message: Record) -> None:
    """What the user said, or what tools returned that were called as XML."""
    blocks = list(blocks_of(message.get("content")))
    results = results_in(_joined(blocks))
    if not results:
        _say(builder, {**message, "content": list(map(_without_tags, blocks))})
        return
    time, images = read_time(message.get("ts")), files_in(blocks)
    found = [Result("", each.text, each.tool) for each in results]
    builder.results([*found[:-1], found[-1]._replace(images=images)], time)
    builder.prompt("\n\n".join(filter(None, map(user_words_in, results))), time)


def _without_tags(block: Record) -> Record:
    words = _text(block)
    opened = _TAG.search(words)
    closing = f"</{opened[1]}>" if opened else ""
    if opened and (end := words.rfind(closing)) >= opened.end():
        words = words[: opened.start()] + words[opened.end() : end] + words[end + len(closing) :]
    return {**block, "text": words.strip()} if words else block


def _text(block: Record) -> str:
    return text(block.get("text")) if block.get("type") == "text" else ""


def _without_environment(builder: SessionBuilder, content: Any) -> list[Record]:
    found = []
    for block in blocks_of(content):
        if _text(block).lstrip().startswith(_ENVIRONMENT):
            builder.leave_out("notes on the environment")
        else:
            found.append(block)
    return found


IMPORTERS: Final = (DocumentImporter("Cline", recognises, load),)
