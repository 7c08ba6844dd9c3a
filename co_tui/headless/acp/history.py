"""A stored conversation as the updates that an editor would have got, so that it can show it."""

from collections.abc import Iterator
from heapq import merge
from pathlib import Path

from acp.helpers import text_block
from acp.schema import UserMessageChunk

from co_tui.events import CompactionComplete, Event, Json, Ref
from co_tui.events.file_diff import diff_in
from co_tui.events.stored_messages import pieces, text_of
from co_tui.events.tool_wording import stage_of
from co_tui.headless.acp.editor import Update
from co_tui.headless.acp.tool_updates import ToolCall
from co_tui.headless.acp.updates import (
    HAS_OWN_UPDATE,
    compaction_notice,
    message_chunk,
    plan_update,
    thought_chunk,
    usage_update,
)
from co_tui.inert import inert
from co_tui.session.state.session_state import Entry, SessionState, seq_of


def replayed(state: SessionState, folder: Path) -> Iterator[Update]:
    """All messages and compactions in order, then the plan and how full the context is."""
    history = _History(folder)
    own: Iterator[tuple[Ref, Entry | Event]] = ((entry.ref, entry) for entry in state.transcript if not entry.agent)
    compactions: Iterator[tuple[Ref, Entry | Event]] = (((seq_of(event), -1), event) for event in state.compactions)
    items: Iterator[tuple[Ref, Entry | Event]] = merge(own, compactions, key=lambda each: each[0])
    for _, item in items:
        yield from history.entry(item) if isinstance(item, Entry) else history.compacted(item)
    yield from history.unanswered()
    if state.plan:
        yield plan_update(state.plan)
    if state.usage is not None:
        yield usage_update(state.usage, state)


class _History:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls: dict[str, ToolCall] = {}

    def entry(self, entry: Entry) -> Iterator[Update]:
        id = f"message-{entry.seq}"
        for role, text, part in pieces(entry.message):
            match role:
                case "user" | "attached" | "command" if text:
                    yield _user_chunk(text, id)
                case "assistant" if text:
                    yield message_chunk(text, id)
                case "thinking" if text:
                    yield thought_chunk(text, id)
                case "tool_call":
                    yield from self._call(str(part.get("tool_name") or ""), str(part.get("tool_call_id") or ""), text)
                case "tool_result":
                    yield from self._result(part)

    def compacted(self, event: Event) -> Iterator[Update]:
        if isinstance(event.fact, CompactionComplete):
            yield compaction_notice(event.fact)

    def unanswered(self) -> Iterator[Update]:
        """Calls that never got a result."""
        for call in self._calls.values():
            yield call.progress("stopped")

    def _call(self, tool: str, id: str, arguments: str) -> Iterator[Update]:
        if tool not in HAS_OWN_UPDATE:
            call = self._calls[id] = ToolCall(id, tool, arguments, self._folder)
            yield call.start()

    def _result(self, part: Json) -> Iterator[Update]:
        call = self._calls.pop(str(part.get("tool_call_id") or ""), None)
        if call is not None:
            failed = part.get("part_kind") == "retry-prompt"
            stage = "failed" if failed else stage_of(str(part.get("outcome") or "success"))
            yield call.progress(stage, text_of(part.get("content")), diff_in(part))


def _user_chunk(text: str, id: str) -> UserMessageChunk:
    return UserMessageChunk(session_update="user_message_chunk", content=text_block(inert(text)), message_id=id)
