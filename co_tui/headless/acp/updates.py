"""Turn the events of a session into updates for an editor."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from acp.helpers import plan_entry, text_block, update_current_mode, update_plan
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ConfigOptionUpdate,
    Cost,
    PlanEntryStatus,
    SessionInfoUpdate,
    UsageUpdate,
)

from co_tui.events import (
    BackgroundNews,
    CompactionComplete,
    CompactionStart,
    Event,
    Fact,
    HookRun,
    Json,
    Message,
    ModeChange,
    ModelChange,
    PlanChanged,
    PolicyChange,
    SessionError,
    SessionRename,
    StreamDelta,
    StreamReset,
    ToolActivity,
    ToolOutput,
    Truncation,
    UsageInfo,
)
from co_tui.headless.acp.editor import Update
from co_tui.headless.acp.options import ConfigOption
from co_tui.headless.acp.tool_updates import ToolCall
from co_tui.inert import inert
from co_tui.session.state.session_state import SessionState

META: Final = "co-tui"
"""The key of what only co-tui says, in the protocol's field for that."""
HAS_OWN_UPDATE: Final = frozenset(("write_plan",))
"""Tools whose effect an editor shows by itself."""
RESTARTED: Final = "\n\n*The reply was cut off. It starts again:*\n\n"


def message_chunk(text: str, message_id: str | None = None, **meta: Any) -> AgentMessageChunk:
    """A piece of what the agent says; `meta` is what co-tui adds to it."""
    own = {META: meta} if meta else None
    return AgentMessageChunk(
        session_update="agent_message_chunk", content=text_block(inert(text)), message_id=message_id, field_meta=own
    )


def thought_chunk(text: str, message_id: str | None = None) -> AgentThoughtChunk:
    return AgentThoughtChunk(
        session_update="agent_thought_chunk", content=text_block(inert(text)), message_id=message_id
    )


def notice(text: str, **meta: Any) -> AgentMessageChunk:
    """A sentence of co-tui itself, apart from the agent's words."""
    return message_chunk(f"\n\n*{text.strip()}*\n\n", **meta)


class Updates:
    """Turns the events of one session into updates, in order."""

    def __init__(self, folder: Path, options: Callable[[], list[ConfigOption]]) -> None:
        """`options` returns the options as they are now."""
        self._folder = folder
        self._options = options
        self._calls: dict[tuple[str, str], ToolCall] = {}
        """Those an editor knows, by agent and id."""
        self._has_streamed = False
        self._message_id = str(uuid4())
        """Of the message that is being written; a replayed one has another, so that an editor never joins the two."""

    def of(self, event: Event, state: SessionState) -> Iterator[Update]:
        """The updates for one event; `state` is the session's after it."""
        match event.fact:
            case StreamDelta() as delta:
                yield from self._streamed(delta)
            case StreamReset(agent="") if self._has_streamed:
                self._begin_message()
                yield message_chunk(RESTARTED, self._message_id)
            case Message():
                self._begin_message()
            case ToolActivity() as activity:
                yield from self._activity(activity)
            case ToolOutput(tool_call_id=id, agent=agent, text=text):
                if (call := self._calls.get((agent, id))) is not None:
                    yield call.progress("started", text)
            case UsageInfo(agent="") as usage:
                yield usage_update(usage, state)
            case fact:
                yield from self._happened(fact)

    def unfinished(self) -> Iterator[Update]:
        """The calls that were stopped before they had a result."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            yield call.progress("stopped")

    def _streamed(self, delta: StreamDelta) -> Iterator[Update]:
        if delta.kind == "tool_call":
            if delta.tool_call_id and (delta.agent, delta.tool_call_id) not in self._calls:
                yield from self._begin(delta.agent, delta.tool_call_id, delta.tool_name, "")
        elif not delta.agent and delta.text:  # a delegate's words are for the agent that asked it
            self._has_streamed = True
            chunk = message_chunk if delta.kind == "text" else thought_chunk
            yield chunk(delta.text, self._message_id)

    def _begin(self, agent: str, id: str, tool: str, arguments: str) -> Iterator[Update]:
        if tool in HAS_OWN_UPDATE:
            return
        known = (agent, id) in self._calls
        call = self._calls[agent, id] = ToolCall(id, tool, arguments, self._folder, agent)
        if not known:
            yield call.start()
        if arguments:
            yield call.progress("started")

    def _activity(self, activity: ToolActivity) -> Iterator[Update]:
        agent, id = activity.agent, activity.tool_call_id
        if activity.stage == "started":
            yield from self._begin(agent, id, activity.tool_name, activity.text or "{}")
            return
        if (agent, id) not in self._calls:  # refused before it began
            yield from self._begin(agent, id, activity.tool_name, "")
        if (call := self._calls.pop((agent, id), None)) is not None:
            yield call.progress(activity.stage, activity.text, activity.diff)

    def _happened(self, fact: Fact) -> Iterator[Update]:
        match fact:
            case PlanChanged(steps=steps):
                yield plan_update(steps)
            case ModeChange(to=mode):
                yield update_current_mode(mode)
                yield self._changed_options()
            case ModelChange() | PolicyChange():
                yield self._changed_options()
            case SessionRename(title=title):
                yield SessionInfoUpdate(session_update="session_info_update", title=inert(title))
            case _:
                if (said := _notice_of(fact)) is not None:
                    yield said

    def _changed_options(self) -> ConfigOptionUpdate:
        return ConfigOptionUpdate(session_update="config_option_update", config_options=self._options())

    def _begin_message(self) -> None:
        self._has_streamed = False
        self._message_id = str(uuid4())


def _notice_of(fact: Fact) -> AgentMessageChunk | None:
    """What co-tui says about a fact in the conversation."""
    match fact:
        case CompactionStart(blocks=True, agent=""):
            return notice("Compacting conversation history…", compaction={"stage": "started"})
        case CompactionComplete():
            return compaction_notice(fact)
        case Truncation(agent=""):
            return notice(fact.timeline_text().replace("\n", ": "), truncation=True)
        case SessionError(agent="") if fact.retry_in_s is not None:
            return notice(fact.retry_sentence(), error=fact.kind)
        case SessionError(agent="") if fact.is_warning:
            return notice(f"{fact.what} ({fact.outcome})", error=fact.kind)
        case BackgroundNews() | HookRun() if said := fact.sentence():
            return notice(said)
    return None


def usage_update(usage: UsageInfo, state: SessionState) -> UsageUpdate:
    """How full the context is, and what the session cost so far."""
    total = state.total_cost
    cost = Cost(amount=round(total, 6), currency="USD") if total is not None else None
    return UsageUpdate(session_update="usage_update", used=usage.current_tokens, size=usage.token_limit, cost=cost)


def plan_update(steps: tuple[Json, ...]) -> Update:
    return update_plan(plan_entry(str(step.get("text", "")), status=_status(step.get("state"))) for step in steps)


def _status(state: object) -> PlanEntryStatus:
    if state in ("done", "completed"):
        return "completed"
    return "in_progress" if state == "in_progress" else "pending"


def compaction_notice(fact: CompactionComplete) -> AgentMessageChunk:
    """A compaction as a message, with its figures for editors that show them."""
    figures = {
        "stage": "complete",
        "success": fact.success,
        "trigger": fact.trigger,
        "pre_tokens": fact.pre_tokens,
        "post_tokens": fact.post_tokens,
        "messages_removed": fact.messages_removed,
        "summary": fact.sent_text if fact.success else "",
    }
    return notice(fact.outcome_sentence(), compaction=figures)
