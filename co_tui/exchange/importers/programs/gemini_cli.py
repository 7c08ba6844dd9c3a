"""Sessions of Gemini CLI: one object with its messages, or one record a line that changes them."""

from collections.abc import Iterator
from typing import Any, Final

from pydantic_ai.messages import FilePart, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.image_blocks import images_in
from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import count, objects, prompt_content, read_time, readable, text
from co_tui.exchange.importers.imported import ImportedSession, stable_id
from co_tui.exchange.importers.importer import DocumentImporter

NAME: Final = "gemini-cli"
_SNAPSHOT: Final = "<state_snapshot>"
"""How a summary that replaces compressed messages begins."""
_KINDS: Final = ("user", "gemini", "model")


def recognises(document: Document) -> bool:
    return any(_is_head(record) or _is_reply(record) for record in document.records[:50])


def _is_head(record: Record) -> bool:
    return "sessionId" in record and "projectHash" in record


def _is_reply(record: Record) -> bool:
    return record.get("type") == "gemini" and "id" in record and "content" in record


def load(document: Document) -> list[ImportedSession]:
    head, messages = _read(document.records)
    builder = SessionBuilder(NAME, read_time(head.get("startTime")) or document.modified)
    builder.skipped = document.skipped
    builder.title = text(head.get("summary"))
    directories = head.get("directories")
    builder.cwd = text(directories[0]) if isinstance(directories, list) and directories else ""
    for message in messages:
        _say(builder, message)
    identity = text(head.get("sessionId")) or readable(document.records)
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _read(records: list[Record]) -> tuple[Record, list[Record]]:
    """What is known of the session, and its messages as the records left them."""
    head: Record = {}
    messages: dict[str, Record] = {}
    for number, record in enumerate(records):
        if isinstance(changes := record.get("$set"), dict):
            messages = _by_id(changes["messages"]) if "messages" in changes else messages
            head |= changes
        elif isinstance(back_to := record.get("$rewindTo"), str):
            messages = dict(_before(messages, back_to))
        elif "sessionId" in record:
            head |= record
            messages |= _by_id(record.get("messages"))
        elif "type" in record:
            messages[text(record.get("id")) or f"#{number}"] = record
    return head, list(messages.values())


def _by_id(messages: Any) -> dict[str, Record]:
    return {text(each.get("id")) or f"#{number}": each for number, each in enumerate(objects(messages))}


def _before(messages: dict[str, Record], place: str) -> Iterator[tuple[str, Record]]:
    for key, message in messages.items():
        if key == place:
            return
        yield key, message


def _say(builder: SessionBuilder, message: Record) -> None:
    kind, time = message.get("type"), read_time(message.get("timestamp"))
    said, images = prompt_content(message.get("content") or message.get("parts") or "")
    if kind not in _KINDS:  # messages of the program to its user
        return
    if kind == "user":
        if said.lstrip().startswith(_SNAPSHOT):
            builder.compacted(said, time)
        else:
            builder.prompt(said, time, images=images)
        return
    calls = list(objects(message.get("toolCalls")))
    builder.reply(
        [
            *_thoughts(message),
            *([TextPart(said)] if said.strip() else []),
            *map(FilePart, images),
            *map(_call, calls),
        ],
        time,
        model=text(message.get("model")),
        usage=_usage(message.get("tokens")),
    )
    if results := [_result(call) for call in calls if call.get("result") is not None]:
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
    images = images_in(_inside(call["result"]))
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


IMPORTER: Final = DocumentImporter("Gemini CLI", recognises, load)
