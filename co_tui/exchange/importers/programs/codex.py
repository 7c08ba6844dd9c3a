"""Sessions of Codex CLI: rollouts of items of the Responses API, in the forms of several years."""

from dataclasses import replace
from typing import Any, Final

from pydantic_ai.messages import ModelRequest, ModelResponsePart

from co_tui.events.stored_messages import REPLACES, SUMMARY
from co_tui.exchange.importers.builder import Place, SessionBuilder
from co_tui.exchange.importers.codex_items import CALLS, ITEMS, OUTPUTS, messages_of, parts_of, result_of, usage_of
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import (
    ERROR_MESSAGES,
    FILE_SNAPSHOTS,
    NOTICES,
    OTHER_RECORDS,
    SUB_AGENTS,
    beginning,
    blocks_of,
    count,
    is_user,
    objects,
    prompt_content,
    read_time,
    text,
)
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import LOOSE, DocumentImporter
from co_tui.store.session_ids import stable_id

NAME: Final = "codex"
_ROWS: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_BY_PROGRAM: Final = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>")
"""How what Codex tells the model in the user's name begins."""
_BOOKKEEPING: Final = (
    "token_count",
    "task_started",
    "task_complete",
    "turn.completed",
    "context_compacted",
    "thread_settings_applied",
    "thread_name_updated",
    "thread_goal_updated",
    "item_started",
    "item_completed",
    "session_configured",
    "account/rateLimits/updated",
)
"""Events that say nothing which is not also an item: counts, states, copies."""
_COPIES: Final = ("exec_command_", "patch_apply_", "mcp_tool_", "web_search_", "image_", "view_image_", "dynamic_tool_")
"""How events about a call begin; the call and its output are items of their own."""
_LEFT_OUT: Final = {
    "error": ERROR_MESSAGES,
    "stream_error": ERROR_MESSAGES,
    "warning": NOTICES,
    "deprecation_notice": NOTICES,
    "background_event": NOTICES,
    "undo_completed": NOTICES,
    "entered_review_mode": "reviews",
    "exited_review_mode": "reviews",
    "guardian_assessment": "approvals",
    "plan_update": "plans",
    "turn_diff": "file changes",
    "ghost_snapshot": FILE_SNAPSHOTS,
    "agent_message": SUB_AGENTS,
    "sub_agent_activity": SUB_AGENTS,
    "inter_agent_communication_metadata": SUB_AGENTS,
}
_TOOL_REPORTS: Final = "tool reports"
_INSTRUCTIONS: Final = "instructions of the program"


def recognises(document: Document) -> bool:
    rows = _rows(document.records)[:200]
    return any(_is_row(row) or _is_bare_item(row) for row in rows) or _is_first_format(rows)


def _rows(records: list[Record]) -> list[Record]:
    """The rows; the very first version wrote them as one object."""
    head, items = (records[0].get("session"), records[0].get("items")) if len(records) == 1 else (None, None)
    return [head, *objects(items)] if isinstance(head, dict) and isinstance(items, list) else records


def _is_row(row: Record) -> bool:
    return row.get("type") in _ROWS and isinstance(row.get("payload"), dict) and "timestamp" in row


def _is_bare_item(row: Record) -> bool:
    """Of the first versions, whose rows are the items themselves."""
    return row.get("type") in (*CALLS, *OUTPUTS) and "payload" not in row and ("timestamp" in row or "call_id" in row)


def _is_head(row: Record) -> bool:
    """The first row of the first versions: the session's data, without a type."""
    return not {"type", "payload", "role"} & row.keys() and bool(text(row.get("id"))) and "timestamp" in row


def _is_first_format(rows: list[Record]) -> bool:
    return bool(rows) and _is_head(rows[0]) and any(map(_is_own_item, rows[1:]))


def _is_own_item(row: Record) -> bool:
    """A message of others may have the same type, but other blocks."""
    blocks = (text(block.get("type")) for block in objects(row.get("content")))
    is_message = row.get("type") == "message" and any(kind.startswith(("input_", "output_")) for kind in blocks)
    return "payload" not in row and (is_message or row.get("type") in ITEMS[1:])


def load(document: Document) -> list[ImportedSession]:
    rows = _rows(document.records)
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    reader = _Reader(builder, rows)
    for row in rows:
        reader.read(row)
    reader.end_reply()
    identity = reader.session_id or beginning(rows, is_user)
    return [] if builder.empty else [builder.build(stable_id(NAME, identity))]


def _item(row: Record) -> Record | None:
    if row.get("type") == "response_item":
        payload = row.get("payload")
        return payload if isinstance(payload, dict) else None
    if "payload" in row:
        return None
    if "role" in row:
        return {**row, "type": "message"}
    return row if row.get("type") in ITEMS else None


def _speaks(item: Record) -> bool:
    return item.get("type") == "message" and item.get("role") in ("user", "assistant")


class _Reader:
    """Items of one reply follow each other; what ends it is a result, a prompt, or the report of its tokens."""

    def __init__(self, builder: SessionBuilder, rows: list[Record]) -> None:
        self._builder = builder
        items = [item for row in rows if (item := _item(row)) is not None]
        self._said_as_items = any(map(_speaks, items))
        self._calls = {text(item.get(key)) for item in items for key in ("call_id", "id")}
        self._parts: list[ModelResponsePart] = []
        self._turns: list[Place | None] = []
        """The places before the prompts that still count."""
        self._time: Any = None
        self._model = self._provider = ""
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
            case "world_state" | "token_usage_record":  # the counts are in an event, too
                pass
            case _:
                self._other(row)

    def _other(self, row: Record) -> None:
        if (item := _item(row)) is not None:
            self._model = text(row.get("model")) or self._model
            self._said(item, row.get("timestamp"))
        elif not self.session_id and _is_head(row):
            self._begin(row)
        elif "record_type" not in row:  # a state of the first versions, which says nothing
            self._builder.leave_out(_kind_left_out(row.get("type")))

    def _begin(self, about: Record) -> None:
        if self.session_id:  # of a thread that this one was made from
            return
        self.session_id = text(about.get("id"))
        self._provider = text(about.get("model_provider"))
        self._builder.start(read_time(about.get("timestamp")))
        self._builder.cwd = text(about.get("cwd"))
        git = about.get("git")
        if isinstance(git, dict):
            self._builder.branch = text(git.get("branch"))

    def _event(self, about: Record, time: Any) -> None:
        kind = text(about.get("type"))
        if kind in ("token_count", "turn.completed"):
            self._count(about)
        elif kind == "thread_name_updated":
            self._builder.title = text(about.get("thread_name") or about.get("name")) or self._builder.title
        elif kind == "thread_rolled_back":
            self._roll_back(count(about, "num_turns"), time)
        elif kind == "turn_aborted":
            self.end_reply()
            self._builder.interrupt()
        elif kind in ("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"):
            self._said_in_event(kind, about, time)
        elif kind.startswith(_COPIES):
            if text(about.get("call_id") or about.get("callId")) not in self._calls:
                self._builder.leave_out(_TOOL_REPORTS)
        elif kind not in _BOOKKEEPING:
            self._builder.leave_out(_kind_left_out(kind))

    def _said_in_event(self, kind: str, about: Record, time: Any) -> None:
        """What an item says too, except in sessions that have no such items."""
        if self._said_as_items:
            return
        if kind.startswith("agent_reasoning"):
            self._said({"type": "reasoning", "summary": text(about.get("text"))}, time)
            return
        role = "user" if kind == "user_message" else "assistant"
        images = about.get("images")
        shown = [{"type": "input_image", "image_url": each} for each in (images if isinstance(images, list) else ())]
        self._said({"type": "message", "role": role, "content": [*blocks_of(about.get("message")), *shown]}, time)

    def _roll_back(self, turns: int, time: Any) -> None:
        """The latest turns no longer count."""
        self.end_reply()
        if turns and self._turns:
            self._builder.go_back(self._turns[-min(turns, len(self._turns))], read_time(time))
            del self._turns[-turns:]

    def _count(self, about: Record) -> None:
        info = about.get("info")
        info = info if isinstance(info, dict) else {}
        self._builder.window_tokens = count(info, "model_context_window") or self._builder.window_tokens
        reported = next((each for each in (info.get("last_token_usage"), about.get("usage")) if each), None)
        if info or reported:
            self.end_reply()
            self._builder.used(usage_of(reported))

    def _said(self, item: Record, time: Any) -> None:
        kind, role = item.get("type"), item.get("role")
        if kind == "message" and role == "user":
            self.end_reply()
            self._prompt(item, time)
        elif kind in OUTPUTS:
            self.end_reply()
            self._builder.results([result_of(self._builder, item)], read_time(time))
        elif kind == "message" and role != "assistant":
            self._builder.leave_out(_INSTRUCTIONS if role in ("developer", "system") else OTHER_RECORDS)
        elif kind not in ITEMS:
            self._builder.leave_out(_kind_left_out(kind))
        elif parts := parts_of(self._builder, item):
            self._time = self._time if self._parts else time
            self._parts += parts

    def _prompt(self, item: Record, time: Any) -> None:
        said = self._builder.counting(prompt_content(item.get("content")))
        by_program = said.text.lstrip().startswith(_BY_PROGRAM)
        if not by_program:
            self._turns.append(self._builder.place)
        self._builder.prompt(said.text, read_time(time), images=said.images, by_program=by_program)

    def end_reply(self) -> None:
        if self._parts:
            self._builder.reply(self._parts, read_time(self._time), model=self._model, provider=self._provider)
            self._parts = []

    def _compact(self, about: Record, time: Any) -> None:
        self.end_reply()
        when = read_time(time)
        left = [message for item in objects(about.get("replacement_history")) for message in messages_of(item, when)]
        summary = text(about.get("message"))
        if left and summary and isinstance(last := left[-1], ModelRequest):
            left[-1] = replace(last, metadata={REPLACES: 0, SUMMARY: summary})
        self._builder.compacted(summary, when, replacement=left)


def _kind_left_out(kind: Any) -> str:
    kind = text(kind)
    if kind.startswith("collab_"):
        return SUB_AGENTS
    return "approvals" if kind.endswith("approval_request") else _LEFT_OUT.get(kind, OTHER_RECORDS)


IMPORTERS: Final = (DocumentImporter("Codex CLI", recognises, load, LOOSE),)
