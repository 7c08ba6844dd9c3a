"""Sessions of Codex CLI: rollouts of items of the Responses API, in the forms of several years."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from co_tui.events.stored_messages import REPLACES, SUMMARY
from co_tui.exchange.image_blocks import image_of
from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import (
    blocks_of,
    count,
    objects,
    prompt_content,
    read_time,
    readable,
    result_content,
    text,
    text_of_blocks,
)
from co_tui.exchange.importers.imported import ImportedSession, stable_id
from co_tui.exchange.importers.importer import LOOSE, DocumentImporter

NAME: Final = "codex"
_ROWS: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "tool_call")
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output", "tool_search_output", "tool_result")
_MADE_IMAGE: Final = "image_generation_call"
_ITEMS: Final = ("message", "reasoning", "web_search_call", _MADE_IMAGE, *_CALLS, *_OUTPUTS)
_LONG_AGO: Final = datetime(2025, 1, 1, tzinfo=UTC)
"""Of what has no time: before that there was no Codex CLI."""
_BY_PROGRAM: Final = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>")
"""How what Codex tells the model in the user's name begins."""


def recognises(document: Document) -> bool:
    rows = document.records[:200]
    return any(_is_row(row) for row in rows) or any(_is_bare_item(row) for row in rows)


def _is_row(row: Record) -> bool:
    return row.get("type") in _ROWS and isinstance(row.get("payload"), dict) and "timestamp" in row


def _is_bare_item(row: Record) -> bool:
    """Of the first versions, whose rows are the items themselves."""
    return row.get("type") in (*_CALLS, *_OUTPUTS) and "payload" not in row and ("timestamp" in row or "call_id" in row)


def load(document: Document) -> list[ImportedSession]:
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    reader = _Reader(builder, said_as_items=any(_speaks(item) for _, item in _items(document.records)))
    for row in document.records:
        reader.read(row)
    reader.end_reply()
    identity = reader.session_id or readable(document.records)
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _items(rows: list[Record]) -> Iterator[tuple[Record, Record]]:
    for row in rows:
        if (item := _item(row)) is not None:
            yield row, item


def _item(row: Record) -> Record | None:
    if row.get("type") == "response_item":
        payload = row.get("payload")
        return payload if isinstance(payload, dict) else None
    if "payload" in row:
        return None
    if "role" in row:
        return {**row, "type": "message"}
    return row if row.get("type") in _ITEMS else None


def _speaks(item: Record) -> bool:
    return item.get("type") == "message" and item.get("role") in ("user", "assistant")


class _Reader:
    """Items of one reply follow each other; what ends it is a result, a prompt, or the report of its tokens."""

    def __init__(self, builder: SessionBuilder, *, said_as_items: bool) -> None:
        self._builder = builder
        self._said_as_items = said_as_items
        self._parts: list[ModelResponsePart] = []
        self._time: Any = None
        self._model = ""
        self.session_id = ""

    def read(self, row: Record) -> None:
        payload = row.get("payload")
        about = payload if isinstance(payload, dict) else {}
        match row.get("type"):
            case "session_meta":
                self._begin(about)
            case "turn_context":
                self._model = text(about.get("model")) or self._model
            case "event_msg":
                self._event(about, row.get("timestamp"))
            case "compacted":
                self._compact(about, row.get("timestamp"))
            case _:
                if (item := _item(row)) is not None:
                    self._model = text(row.get("model")) or self._model
                    self._said(item, row.get("timestamp"))
                elif not self.session_id and "instructions" in row:  # the head of the first versions
                    self._begin(row)

    def _begin(self, about: Record) -> None:
        if self.session_id:  # of a thread that this one was made from
            return
        self.session_id = text(about.get("id"))
        self._builder.cwd = text(about.get("cwd"))
        git = about.get("git")
        if isinstance(git, dict):
            self._builder.branch = text(git.get("branch"))

    def _event(self, about: Record, time: Any) -> None:
        kind = about.get("type")
        if kind == "token_count":
            self._count(about)
        elif kind == "thread_name_updated":
            self._builder.title = text(about.get("thread_name") or about.get("name")) or self._builder.title
        elif not self._said_as_items and kind in ("user_message", "agent_message"):
            role = "user" if kind == "user_message" else "assistant"
            self._said({"type": "message", "role": role, "content": about.get("message")}, time)

    def _count(self, about: Record) -> None:
        info = about.get("info")
        if isinstance(info, dict):
            self._builder.window_tokens = count(info, "model_context_window") or self._builder.window_tokens
            self.end_reply()
            self._builder.used(_usage(info.get("last_token_usage")))

    def _said(self, item: Record, time: Any) -> None:
        kind, role = item.get("type"), item.get("role")
        if kind == "message" and role == "user":
            self.end_reply()
            said = prompt_content(item.get("content"))
            by_program = said.text.lstrip().startswith(_BY_PROGRAM)
            self._builder.prompt(said.text, read_time(time), images=said.images, by_program=by_program)
        elif kind in _OUTPUTS:
            self.end_reply()
            self._builder.results([_result(item)], read_time(time))
        elif parts := _parts(item):
            self._time = self._time if self._parts else time
            self._parts += parts

    def end_reply(self) -> None:
        if self._parts:
            self._builder.reply(self._parts, read_time(self._time), model=self._model)
            self._parts = []

    def _compact(self, about: Record, time: Any) -> None:
        self.end_reply()
        when = read_time(time)
        left = [message for item in objects(about.get("replacement_history")) for message in _messages(item, when)]
        summary = text(about.get("message"))
        if left and summary and isinstance(last := left[-1], ModelRequest):
            left[-1] = replace(last, metadata={REPLACES: 0, SUMMARY: summary})
        self._builder.compacted(summary, when, replacement=left)


def _parts(item: Record) -> list[ModelResponsePart]:
    kind = item.get("type")
    if kind == "message" and item.get("role") == "assistant":
        said = text_of_blocks(item.get("content"))
        return [TextPart(said)] if said.strip() else []
    if kind == "reasoning":
        thought = text_of_blocks(item.get("summary") or []) or text_of_blocks(item.get("content") or [])
        return [ThinkingPart(thought)] if thought else []
    if kind == "web_search_call":  # done by the provider, within the reply
        action = item.get("action")
        return [NativeToolCallPart("web_search", action if isinstance(action, dict) else {}, text(item.get("id")))]
    if kind == _MADE_IMAGE:
        return [FilePart(image)] if (image := image_of(item)) is not None else []
    return [_call(item)] if kind in _CALLS else []


def _call(item: Record) -> ToolCallPart:
    function = item.get("function")
    named = function if isinstance(function, dict) else {}
    name = text(item.get("name")) or text(named.get("name")) or str(item.get("type")).removesuffix("_call")
    given: Any = next((item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), {})
    return ToolCallPart(name, _arguments(given), text(item.get("call_id")))


def _arguments(given: Any) -> dict[str, Any] | str:
    """As JSON, which is what a call has; a plain text becomes one."""
    if isinstance(given, dict):
        return given
    if isinstance(given, str):
        try:
            read = json.loads(given)
        except (ValueError, RecursionError):
            read = None
        return given if isinstance(read, dict) else {"input": given}
    return {"input": given}


def _result(item: Record) -> Result:
    output = next((item[key] for key in ("output", "result", "tools") if item.get(key) is not None), "")
    failed = isinstance(output, dict) and output.get("success") is False
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        output = output["content"]
    content = result_content(output)
    return Result(text(item.get("call_id")), content.text, text(item.get("name")), failed, content.images)


def _messages(item: Record, when: datetime | None) -> Iterator[ModelMessage]:
    """What replaces the compacted messages: text only."""
    said = text_of_blocks([block for block in blocks_of(item.get("content")) if text(block.get("text"))])
    time = when or _LONG_AGO
    if item.get("type") != "message" or not said:
        return
    if item.get("role") == "user":
        yield ModelRequest(parts=[UserPromptPart(said, timestamp=time)], timestamp=time, metadata={REPLACES: 0})
    elif item.get("role") == "assistant":
        yield ModelResponse(parts=[TextPart(said)], timestamp=time)


def _usage(usage: Any) -> RequestUsage:
    return RequestUsage(
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        cache_read_tokens=count(usage, "cached_input_tokens"),
    )


IMPORTER: Final = DocumentImporter("Codex CLI", recognises, load, LOOSE)
