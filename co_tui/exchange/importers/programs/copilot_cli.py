"""Sessions of Copilot CLI: one event a line, and the single object that its first versions wrote."""

from typing import Any, Final

from pydantic_ai.messages import ModelResponsePart
from pydantic_ai.usage import RequestUsage

from co_tui.exchange.file_blocks import files_in
from co_tui.exchange.importers.builder import Place, Result, SessionBuilder
from co_tui.exchange.importers.chat_messages import say_chat
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_parts import (
    APPROVALS,
    EMPTY,
    IMAGES,
    SYSTEM_PROMPTS,
    called,
    kind_of,
    labelled,
    said,
    thought,
)
from co_tui.exchange.importers.foreign_values import (
    ERROR_MESSAGES,
    HIDDEN_THINKING,
    NOTICES,
    SUB_AGENTS,
    beginning,
    count,
    objects,
    read_time,
    readable,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.store.session_ids import stable_id

NAME: Final = "copilot-cli"
_EVENTS: Final = ("session.start", "user.message", "assistant.message", "tool.execution_complete")
_LEFT_OUT: Final = {
    "assistant": NOTICES,
    "command": NOTICES,
    "elicitation": "questions to the user",
    "exit_plan_mode": NOTICES,
    "external_tool": NOTICES,
    "hook": "hook output",
    "mcp": NOTICES,
    "model": ERROR_MESSAGES,
    "pending_messages": NOTICES,
    "permission": APPROVALS,
    "sampling": NOTICES,
    "session": NOTICES,
    "session.binary_asset": IMAGES,
    "session.compaction_complete": "failed compactions",
    "session.error": ERROR_MESSAGES,
    "session.handoff": "handoffs",
    "session.truncation": "truncations",
    "session.warning": ERROR_MESSAGES,
    "skill": "texts of skills",
    "subagent": SUB_AGENTS,
    "system": NOTICES,
    "system.message": SYSTEM_PROMPTS,
    "tool": NOTICES,
    "user_input": "questions to the user",
}
"""How events are called that have no place here, by type or by its beginning."""


def recognises(document: Document) -> bool:
    return any(map(_is_event, document.records[:200])) or _is_snapshot(document.records[0])


def _is_event(record: Record) -> bool:
    return record.get("type") in _EVENTS and isinstance(record.get("data"), dict) and "timestamp" in record


def _is_snapshot(record: Record) -> bool:
    return isinstance(record.get("chatMessages"), list) and {"sessionId", "startTime"} <= record.keys()


def load(document: Document) -> list[ImportedSession]:
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    if not any(map(_is_event, document.records[:200])):
        return _snapshot(builder, document.records[0])
    reader = _Reader(builder)
    for record in document.records:
        reader.read(record)
    identity = reader.session_id or beginning(document.records, _is_event)
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _snapshot(builder: SessionBuilder, record: Record) -> list[ImportedSession]:
    """Of the first versions: the messages as sent, and a timeline of the screen."""
    messages, timeline = record["chatMessages"], record.get("timeline")
    time = read_time(record.get("startTime"))
    for message in messages:
        say_chat(builder, message, time, text(record.get("selectedModel")))
    builder.leave_out("lines of the screen", len(timeline) if isinstance(timeline, list) else 0)
    identity = text(record.get("sessionId")) or readable(messages[:1])
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


class _Reader:
    """Takes events in order; a result finds its call by id, wherever the call was written."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._model = ""
        self._thought = ""
        self._called: set[str] = set()
        self.session_id = ""
        self._places: dict[str, Place | None] = {}
        """Where the conversation was before each event."""

    def read(self, record: Record) -> None:
        kind, data = record.get("type"), record.get("data")
        if not isinstance(kind, str) or not isinstance(data, dict):
            self._builder.skipped += 1
            return
        if record.get("agentId") or data.get("parentToolCallId"):
            self._builder.leave_out(SUB_AGENTS)
            return
        self._places[text(record.get("id"))] = self._builder.place
        self._builder.mark(text(record.get("id")))
        take = _TAKEN.get(kind)
        if take is None or not take(self, data, read_time(record.get("timestamp"))):
            self._builder.leave_out(kind_of(kind, _LEFT_OUT))

    def begin(self, data: Record, _time: Any) -> bool:
        self.session_id = self.session_id or text(data.get("sessionId"))
        self._model = text(data.get("selectedModel")) or self._model
        context = data.get("context")
        where = context if isinstance(context, dict) else {}
        self._builder.cwd = self._builder.cwd or text(where.get("cwd"))
        self._builder.branch = self._builder.branch or text(where.get("branch"))
        self._builder.repository = self._builder.repository or text(where.get("repository"))
        return True

    def change_model(self, data: Record, _time: Any) -> bool:
        self._model = text(data.get("newModel")) or self._model
        return True

    def rename(self, data: Record, _time: Any) -> bool:
        self._builder.title = text(data.get("title")) or self._builder.title
        return True

    def prompt(self, data: Record, time: Any) -> bool:
        attached = list(objects(data.get("attachments")))
        images = files_in(attached)
        labels = [label for each in attached if (label := _attachment(each)) and not files_in([each])]
        content = text(data.get("content"))
        # What the program says itself has nothing that the user typed.
        words = "\n".join(filter(None, (content or text(data.get("transformedContent")), *labels)))
        if not words.strip() and not images:
            self._builder.leave_out(EMPTY)
            return True
        by_program = not content.strip() and not attached
        self._builder.prompt(words, time, images=images, by_program=by_program)
        return True

    def think(self, data: Record, _time: Any) -> bool:
        """Written before the reply that it belongs to, which may repeat it."""
        self._thought = text(data.get("content"))
        return True

    def reply(self, data: Record, time: Any) -> bool:
        requests = list(objects(data.get("toolRequests")))
        parts: list[ModelResponsePart] = [
            *thought(text(data.get("reasoningText")) or self._thought),
            *said(data.get("content")),
            *(called(each.get("name"), each.get("arguments"), each.get("toolCallId")) for each in requests),
        ]
        self._thought = ""
        self._called |= {text(each.get("toolCallId")) for each in requests}
        self._model = text(data.get("model")) or self._model
        self._builder.reply(parts, time, model=self._model, usage=_usage(data))
        self._builder.leave_out(EMPTY, 0 if parts else 1)
        is_hidden = "reasoningOpaque" in data and not text(data.get("reasoningText"))
        self._builder.leave_out(HIDDEN_THINKING, 1 if is_hidden else 0)
        return True

    def measure(self, data: Record, _time: Any) -> bool:
        self._model = text(data.get("model")) or self._model
        self._builder.used(_usage(data))
        return True

    def call(self, data: Record, time: Any) -> bool:
        """Repeats a call of the reply, but for one that the user asked for."""
        if (id := text(data.get("toolCallId"))) not in self._called:
            self._called.add(id)
            self._builder.reply([called(data.get("toolName"), data.get("arguments"), id)], time, model=self._model)
        return True

    def result(self, data: Record, time: Any) -> bool:
        result, error = data.get("result"), data.get("error")
        returned = result if isinstance(result, dict) else {}
        content = readable(returned.get("content")) if returned else readable(result)
        if isinstance(error, dict):
            content = content or text(error.get("message"))
        blocks = [*objects(returned.get("contents")), *objects(returned.get("binaryResultsForLlm"))]
        failed = data.get("success") is False
        call_id, tool = text(data.get("toolCallId")), text(data.get("toolName"))
        self._builder.results([Result(call_id, content, tool, failed, files_in(blocks))], time)
        return True

    def compact(self, data: Record, time: Any) -> bool:
        if data.get("success") is False:
            return False
        trigger = "manual" if data.get("trigger") == "manual" else "background"
        before = count(data, "preCompactionTokens")
        self._builder.window_tokens = count(data, "tokenLimit") or self._builder.window_tokens
        self._builder.compacted(text(data.get("summaryContent")), time, trigger=trigger, pre_tokens=before)
        return True

    def interrupt(self, _data: Record, _time: Any) -> bool:
        self._builder.interrupt()
        return True

    def go_back(self, data: Record, time: Any) -> bool:
        if (event := text(data.get("upToEventId"))) in self._places:
            self._builder.go_back(self._places[event], time)
        return True

    def clear(self, data: Record, time: Any) -> bool:
        self._builder.go_back(None, time)
        self._builder.prompt(text(data.get("initialMessage")), time, by_program=True)
        return True


_TAKEN: Final = {
    "abort": _Reader.interrupt,
    "session.start": _Reader.begin,
    "session.resume": _Reader.begin,
    "session.context_changed": lambda reader, data, time: reader.begin({"context": data}, time),
    "session.model_change": _Reader.change_model,
    "session.title_changed": _Reader.rename,
    "user.message": _Reader.prompt,
    "assistant.reasoning": _Reader.think,
    "assistant.message": _Reader.reply,
    "assistant.usage": _Reader.measure,
    "tool.execution_start": _Reader.call,
    "tool.execution_complete": _Reader.result,
    "session.compaction_complete": _Reader.compact,
    "session.snapshot_rewind": _Reader.go_back,
    "session.context_cleared": _Reader.clear,
}


def _attachment(block: Record) -> str:
    """A file by its name, with the lines that were chosen in it."""
    name = next(filter(None, (text(block.get(key)) for key in ("path", "filePath", "displayName", "url"))), "")
    label = labelled(text(block.get("type")) or "file", name)
    return "\n".join(filter(None, (label, text(block.get("text")))))


def _usage(data: Record) -> RequestUsage:
    return RequestUsage(
        input_tokens=count(data, "inputTokens"),
        output_tokens=count(data, "outputTokens"),
        cache_read_tokens=count(data, "cacheReadTokens"),
        cache_write_tokens=count(data, "cacheWriteTokens"),
    )


IMPORTERS: Final = (DocumentImporter("Copilot CLI", recognises, load),)
