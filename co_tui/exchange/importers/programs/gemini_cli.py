"""Sessions of Gemini CLI: one object with its messages, or one record a line that changes them.

Also its saved chats and checkpoints, whose messages have a role and parts, as in the Gemini API.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import FilePart, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.file_blocks import file_of, files_in
from co_tui.exchange.importers.builder import Place, Result, SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import (
    EMPTY_REPLIES,
    NOTICES,
    OTHER_PARTS,
    OTHER_RECORDS,
    beginning,
    count,
    objects,
    prompt_content,
    read_time,
    readable,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.store.session_ids import stable_id

NAME: Final = "gemini-cli"
_SNAPSHOT: Final = "<state_snapshot>"
"""How a summary that replaces compressed messages begins."""
_SETUP: Final = ("This is the Gemini CLI. We are setting up the context", "<session_context>")
"""How a note begins that the program sends to the model in the user's name."""
_NOTICES: Final = ("info", "error", "warning", "about", "help", "stats", "quit", "tool_group", "compression")


class _Said(NamedTuple):
    message: Record


class _WentBack(NamedTuple):
    to: str
    """The id of the first message that no longer counts."""


def recognises(document: Document) -> bool:
    records = document.records[:50]
    return any(_is_head(record) or _is_reply(record) for record in records) or bool(_contents(document.records))


def _is_head(record: Record) -> bool:
    return "sessionId" in record and "projectHash" in record


def _is_reply(record: Record) -> bool:
    return record.get("type") == "gemini" and "id" in record and "content" in record


def _is_content(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in ("user", "model") and isinstance(value.get("parts"), list)


def _contents(records: list[Record]) -> list[Record]:
    """The messages of a saved chat: as a list, as its `history`, or as the `clientHistory` of a checkpoint."""
    if len(records) == 1:
        for key in ("clientHistory", "history"):
            found = list(objects(records[0].get(key)))
            if any(map(_is_content, found)):
                return found
    return records if any(map(_is_content, records[:50])) else []


def load(document: Document) -> list[ImportedSession]:
    if contents := _contents(document.records):
        return _saved_chat(document, contents)
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    head, said = _read(builder, document.records)
    builder.start(read_time(head.get("startTime")))
    builder.title = text(head.get("summary"))
    directories = head.get("directories")
    builder.cwd = text(directories[0]) if isinstance(directories, list) and directories else ""
    answered = {text(call.get("id")) for each in said if isinstance(each, _Said) for call in _answered(each.message)}
    places: dict[str, Place | None] = {}
    for each in said:
        if isinstance(each, _WentBack):
            if each.to in places:
                builder.go_back(places[each.to])
            continue
        builder.mark(id := text(each.message.get("id")))
        places[id] = builder.place  # going back to a message takes it back too
        _say(builder, each.message, answered)
    identity = text(head.get("sessionId")) or readable(document.records)
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _read(builder: SessionBuilder, records: list[Record]) -> tuple[Record, list[_Said | _WentBack]]:
    """What is known of the session, and what was said and taken back, as the latest records left it."""
    head: Record = {}
    said: dict[str, _Said | _WentBack] = {}
    for number, record in enumerate(records):
        if isinstance(changes := record.get("$set"), dict):
            if "messages" in changes:
                kept = _by_id(changes["messages"])
                gone = sum(isinstance(each, _Said) for key, each in said.items() if key not in kept)
                builder.left_out.update({"replaced messages": gone} if gone else {})
                said = kept
            head |= changes
        elif isinstance(back_to := record.get("$rewindTo"), str):
            said[f"# back {number}"] = _WentBack(back_to)
        elif "sessionId" in record and "type" not in record:
            head |= record
            said |= _by_id(record.get("messages"))
        elif "type" in record:
            said[text(record.get("id")) or f"#{number}"] = _Said(record)
        else:
            builder.leave_out(OTHER_RECORDS)
    return head, list(said.values())


def _by_id(messages: Any) -> dict[str, _Said | _WentBack]:
    return {text(each.get("id")) or f"#{number}": _Said(each) for number, each in enumerate(objects(messages))}


def _answered(message: Record) -> list[Record]:
    return [call for call in objects(message.get("toolCalls")) if call.get("result") is not None]


def _say(builder: SessionBuilder, message: Record, answered: Collection[str]) -> None:
    kind, time = text(message.get("type")), read_time(message.get("timestamp"))
    if kind == "user":
        content = message.get("content") or message.get("parts") or ""
        answers = [part for part in objects(content) if isinstance(part.get("functionResponse"), dict)]
        # A result is written twice, with its call and as it is sent.
        if new := [_answer(part) for part in answers if text(part["functionResponse"].get("id")) not in answered]:
            builder.results(new, time)
        rest = [part for part in content if part not in answers] if answers else content
        _prompt(builder, *builder.counting(prompt_content(rest))[:2], time)
    elif kind in ("gemini", "model"):
        _reply(builder, message, time)
    else:  # messages of the program to its user
        builder.leave_out(NOTICES if kind in _NOTICES else OTHER_RECORDS)


def _prompt(builder: SessionBuilder, said: str, images: Iterable[Any], time: datetime | None) -> None:
    if said.lstrip().startswith(_SNAPSHOT):
        builder.compacted(said, time)
    else:
        builder.prompt(said, time, images=tuple(images), by_program=said.lstrip().startswith(_SETUP))


def _reply(builder: SessionBuilder, message: Record, time: datetime | None) -> None:
    content = prompt_content(message.get("content") or message.get("parts") or "")
    said, images, _ = builder.counting(content)
    calls = list(objects(message.get("toolCalls")))
    parts = [
        *_thoughts(message),
        *([TextPart(said)] if said.strip() else []),
        *map(FilePart, images),
        *map(_call, calls),
    ]
    if not parts:
        builder.leave_out(EMPTY_REPLIES)
    builder.reply(parts, time, model=text(message.get("model")), usage=_usage(message.get("tokens")))
    if results := [_result(call) for call in _answered(message)]:
        builder.results(results, read_time(calls[-1].get("timestamp")) or time)


def _thoughts(message: Record) -> Iterator[ModelResponsePart]:
    for thought in objects(message.get("thoughts")):
        thinking = "\n".join(filter(None, (text(thought.get("subject")), text(thought.get("description")))))
        if thinking:
            yield ThinkingPart(thinking)


def _call(call: Record) -> ToolCallPart:
    arguments = call.get("args")
    name = text(call.get("name")) or "tool"
    return ToolCallPart(name, arguments if isinstance(arguments, dict) else {}, text(call.get("id")))


def _result(call: Record) -> Result:
    failed = call.get("status") in ("error", "cancelled")
    images = files_in(_inside(call["result"]))
    return Result(text(call.get("id")), _returned(call["result"]), text(call.get("name")), failed, images)


def _inside(result: Any) -> Iterator[Record]:
    """The pieces of a result, next to the function's responses and inside them."""
    for each in objects(result):
        yield each
        answer = each.get("functionResponse")
        yield from objects(answer.get("parts") if isinstance(answer, dict) else None)


def _returned(result: Any) -> str:
    """The outputs of the function's responses, else all of it."""
    outputs = []
    for each in objects(result):
        answer = each.get("functionResponse")
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            output = response.get("output", response.get("error", response))
            outputs.append(readable(output))
        elif text(each.get("text")):
            outputs.append(text(each.get("text")))
    return "\n".join(outputs) if outputs else readable(result)


def _usage(tokens: Any) -> RequestUsage:
    return RequestUsage(
        input_tokens=count(tokens, "input"),
        output_tokens=count(tokens, "output") + count(tokens, "thoughts"),
        cache_read_tokens=count(tokens, "cached"),
    )


# Saved chats


def _saved_chat(document: Document, contents: list[Record]) -> list[ImportedSession]:
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    for content in contents:
        if not _is_content(content):
            builder.leave_out(OTHER_RECORDS)
        elif content["role"] == "user":
            _user_parts(builder, content["parts"])
        else:
            _model_parts(builder, content["parts"])
    return [] if builder.empty else [builder.build(stable_id(NAME, beginning(contents, _is_own_prompt)))]


def _is_own_prompt(content: Record) -> bool:
    said = prompt_content(content.get("parts")).text
    return content.get("role") == "user" and not said.lstrip().startswith(_SETUP)


def _user_parts(builder: SessionBuilder, parts: list[Any]) -> None:
    answers = [part for part in parts if isinstance(part, dict) and isinstance(part.get("functionResponse"), dict)]
    if answers:
        builder.results([_answer(part) for part in answers], None)
    said = prompt_content([_block(part) for part in parts if part not in answers])
    _prompt(builder, *builder.counting(said)[:2], None)


def _answer(part: Record) -> Result:
    answer = part["functionResponse"]
    response = answer.get("response")
    failed = isinstance(response, dict) and "error" in response and "output" not in response
    returned = _returned([part])
    return Result(text(answer.get("id")), returned, text(answer.get("name")), failed, files_in(_inside([part])))


def _block(part: Any) -> Any:
    """A part as a block that names its kind, where it has no text and no image."""
    if not isinstance(part, dict) or "text" in part or file_of(part) is not None:
        return part
    held = part.get("inlineData") or part.get("fileData")
    if isinstance(held, dict):
        return {"type": "file", "mimeType": text(held.get("mimeType")), "filename": text(held.get("fileUri"))}
    return {"type": next(iter(part), "")}


def _model_parts(builder: SessionBuilder, parts: list[Any]) -> None:
    found: list[ModelResponsePart] = []
    for part in objects(parts):
        if isinstance(call := part.get("functionCall"), dict):
            found.append(_call(call))
        elif said := text(part.get("text")):
            found.append(ThinkingPart(said) if part.get("thought") is True else TextPart(said))
        elif (image := file_of(part)) is not None:
            found.append(FilePart(image))
        elif "text" not in part:
            builder.leave_out(OTHER_PARTS)
    if not found:
        builder.leave_out(EMPTY_REPLIES)
    builder.reply(found, None)


IMPORTERS: Final = (DocumentImporter("Gemini CLI", recognises, load),)
