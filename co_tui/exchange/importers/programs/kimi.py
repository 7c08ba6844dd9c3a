"""Sessions of Kimi: the records of Kimi Code, one a line, and the messages that Kimi CLI before it kept."""

from dataclasses import replace
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponsePart, UserPromptPart

from co_tui.events.stored_messages import REPLACES, SUMMARY
from co_tui.exchange.importers.builder import Place, Result, SessionBuilder
from co_tui.exchange.importers.chat_messages import chat_parts, say_chat
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_parts import (
    APPROVALS,
    EMPTY,
    SYSTEM_PROMPTS,
    called,
    kind_of,
    said,
    thought,
    tokens,
)
from co_tui.exchange.importers.foreign_values import (
    NOTICES,
    OTHER_PARTS,
    count,
    prompt_content,
    read_time,
    readable,
    result_content,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.store.session_ids import stable_id

NAME: Final = "kimi"
_RECORDS: Final = ("context.append_message", "context.append_loop_event", "turn.prompt", "context.apply_compaction")
_MOST_KEPT: Final = 1_000_000
"""Of prompts that the compactions of a session keep, all counted."""
_LEFT_OUT: Final = {
    "config": NOTICES,
    "context": NOTICES,
    "full_compaction": NOTICES,
    "goal": "goals",
    "llm": "requests to the model",
    "micro_compaction": "shortened results",
    "permission": APPROVALS,
    "plan": "plans",
    "plan_mode": NOTICES,
    "skill": "texts of skills",
    "swarm_mode": NOTICES,
    "task": "records of background tasks",
    "tools": NOTICES,
    "turn": NOTICES,
    "usage": "records of usage",
}
"""How records are called that have no place here, by type or by its beginning."""


def recognises(document: Document) -> bool:
    rows = document.records[:200]
    return any(map(_is_head, rows)) or any(map(_is_record, rows)) or any(map(_is_marker, rows))


def _is_head(row: Record) -> bool:
    return row.get("type") == "metadata" and "protocol_version" in row


def _is_record(row: Record) -> bool:
    return row.get("type") in _RECORDS and "time" in row


def _is_marker(row: Record) -> bool:
    """Of Kimi CLI: what it keeps between the messages."""
    return row.get("role") in ("_checkpoint", "_usage", "_system_prompt")


def load(document: Document) -> list[ImportedSession]:
    """Raises `ImportRefused` for Kimi CLI's second file, which says less than the first."""
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    rows = document.records
    if any(map(_is_marker, rows[:200])):
        return _messages(builder, rows, document)
    if not any(map(_is_record, rows)) and any(isinstance(row.get("message"), dict) for row in rows):
        raise ImportRefused(f"{document.path} is only part of a Kimi session. Import context.jsonl next to it.")
    reader = _Reader(builder)
    for row in rows:
        reader.read(row)
    reader.end()
    return [] if builder.empty else [builder.build(stable_id(NAME, *_identity(rows)))]


def _identity(rows: list[Record]) -> tuple[str, str]:
    """The session's id is only in the name of its folder: when it began, and with what."""
    began = next((str(row.get("created_at")) for row in rows if _is_head(row)), "")
    first = next((row for row in rows if _is_record(row)), {})
    return began, readable([first.get("time"), first.get("input"), first.get("message")])


def _messages(builder: SessionBuilder, rows: list[Record], document: Document) -> list[ImportedSession]:
    for row in rows:
        match row.get("role"):
            case "_checkpoint" | "_usage":
                builder.leave_out(NOTICES)
            case "_system_prompt":
                builder.leave_out(SYSTEM_PROMPTS)
            case _:
                say_chat(builder, row, None, "")
    # In the folder of the session, which has its id for a name.
    identity = (
        document.path.absolute().parent.name,
        readable(next((row for row in rows if row.get("role") == "user"), {})),
    )
    return [] if builder.empty else [builder.build(stable_id(NAME, *identity))]


class _Reader:
    """Loop events of one step are one reply; results come in between and find their calls by id."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._parts: list[ModelResponsePart] = []
        self._time: Any = None
        self._model = ""
        self._prompts: list[tuple[str, Place | None]] = []
        """What the user said, and the place before it, but for what was undone."""
        self._kept = 0
        """How many of them compactions kept: each names them again."""
        self._settled = 0
        """How many of them were said before the latest compaction, and cannot be undone."""
        self._asked: Record | None = None
        """A prompt that is not yet a message of the context."""

    def read(self, row: Record) -> None:
        kind, time = row.get("type"), read_time(row.get("time"))
        taken = False
        match kind:
            case "metadata":
                taken = True
            case "config.update":
                taken = self._configure(row)
            case "turn.prompt" | "turn.steer":
                self.end()
                self._asked = row
                taken = True
            case "context.append_message":
                taken = self._said(row.get("message"), time)
            case "context.append_loop_event":
                event = row.get("event")
                taken = self._event(event if isinstance(event, dict) else {}, time)
            case "context.apply_compaction":
                taken = self._compact(row, time)
            case "context.undo" | "context.clear":
                taken = self._undo(row, time)
        if not taken:
            self._builder.leave_out(kind_of(kind, _LEFT_OUT))

    def _configure(self, row: Record) -> bool:
        self._model = text(row.get("modelAlias")) or text(row.get("model")) or self._model
        if "systemPrompt" in row:
            self._builder.leave_out(SYSTEM_PROMPTS)
            return True
        return "modelAlias" in row

    def _said(self, message: Any, time: Any) -> bool:
        if not isinstance(message, dict):
            return False
        self.end_reply()
        if message.get("role") == "user":
            self._prompt(message, time)
        elif message.get("role") == "assistant":
            self._builder.reply(chat_parts(_as_chat(message)), time, model=self._model)
        else:
            say_chat(self._builder, _as_chat(message), time, self._model)
        return True

    def _prompt(self, message: Record, time: Any) -> None:
        origin = message.get("origin")
        content = self._builder.counting(prompt_content(message.get("content")))
        kind = origin.get("kind") if isinstance(origin, dict) else "user"
        if kind == "compaction_summary":  # the compaction's own record says it too
            self._builder.leave_out("repeated summaries")
            return
        if not content.text.strip() and not content.images:
            self._builder.leave_out(EMPTY)
            return
        if kind == "user":
            self._asked = None
            self._prompts.append((content.text, self._builder.place))
        self._builder.mark("")
        self._builder.prompt(content.text, time, images=content.images, by_program=kind != "user")

    def _event(self, event: Record, time: Any) -> bool:
        match event.get("type"):
            case "step.begin":
                self.end_reply()
                self._builder.mark(text(event.get("uuid")))
            case "step.end":
                self.end_reply()
                usage = tokens(event.get("usage"), "inputCacheRead", "inputCacheCreation", "inputOther", "output")
                self._builder.used(usage)
            case "content.part":
                self._part(event.get("part"), time)
            case "tool.call":
                self._add([called(event.get("name"), event.get("args"), event.get("toolCallId"))], time)
                display = event.get("display")
                where = display.get("cwd") if isinstance(display, dict) else ""
                self._builder.cwd = self._builder.cwd or text(where)
            case "tool.result":
                self.end_reply()
                self._builder.results([_result(self._builder, event)], time)
            case _:
                return False
        return True

    def _part(self, part: Any, time: Any) -> None:
        block = part if isinstance(part, dict) else {}
        found = thought(block.get("think")) if block.get("type") == "think" else said(block.get("text"))
        self._add(found, time)
        self._builder.leave_out(OTHER_PARTS, 0 if found else 1)

    def _add(self, parts: list[ModelResponsePart], time: Any) -> None:
        self._time = self._time if self._parts else time
        self._parts += parts

    def end(self) -> None:
        """The end of a turn; what was asked and never became a message is said all the same."""
        self.end_reply()
        if (asked := self._asked) is not None:
            self._asked = None
            self._prompt({"content": asked.get("input"), "origin": asked.get("origin")}, read_time(asked.get("time")))

    def end_reply(self) -> None:
        if self._parts:
            self._builder.reply(self._parts, self._time, model=self._model)
            self._parts = []

    def _compact(self, row: Record, time: Any) -> bool:
        """The summary, behind the latest of what the user said."""
        self.end_reply()
        summary = text(row.get("contextSummary")) or text(row.get("summary"))
        kept = min(count(row, "keptUserMessageCount"), len(self._prompts))
        self._kept += kept
        if self._kept > _MOST_KEPT:
            self._builder.leave_out("prompts that compactions kept", kept)
            kept = 0
        left: list[ModelMessage] = [_request(words, time) for words, _ in self._prompts[-kept:] if kept]
        if left and summary.strip():
            last = replace(
                _request(summary, time), metadata={REPLACES: 0, SUMMARY: text(row.get("summary")) or summary}
            )
            left.append(last)
        else:
            left = []
        self._builder.compacted(summary, time, pre_tokens=count(row, "tokensBefore"), replacement=left)
        self._settled = len(self._prompts)
        return True

    def _undo(self, row: Record, time: Any) -> bool:
        """Back to before the latest prompts, or to the beginning."""
        self.end_reply()
        cleared = row.get("type") == "context.clear"
        place = 0 if cleared else max(len(self._prompts) - count(row, "count"), self._settled)
        if place == len(self._prompts) and not cleared:
            return False
        self._builder.go_back(None if cleared else self._prompts[place][1], time)
        del self._prompts[place:]
        self._settled = min(self._settled, place)
        return True


def _request(words: str, time: Any) -> ModelRequest:
    part = UserPromptPart(words, timestamp=time) if time else UserPromptPart(words)
    return ModelRequest(parts=[part], timestamp=time)


def _as_chat(message: Record) -> Record:
    """With the names that OpenAI's format has for the same."""
    calls = message.get("toolCalls")
    return {**message, "tool_calls": calls, "tool_call_id": message.get("toolCallId")}


def _result(builder: SessionBuilder, event: Record) -> Result:
    result = event.get("result")
    about = result if isinstance(result, dict) else {"output": result}
    content = builder.counting(result_content(about.get("output")))
    return Result(text(event.get("toolCallId")), content.text, "", about.get("isError") is True, content.images)


IMPORTERS: Final = (DocumentImporter("Kimi", recognises, load),)
