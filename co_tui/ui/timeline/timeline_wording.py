"""An event's words on the timeline: what happened first, the figures below it."""

from collections.abc import Sequence
from typing import Final, assert_never

from co_tui.agent.tool_names import CHANGING_TOOLS, COMMAND_TOOLS
from co_tui.events import (
    Announced,
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    Clear,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    DelegationEnd,
    DelegationStart,
    Fact,
    Json,
    Message,
    ModeChange,
    ModelChange,
    Occurrence,
    Pin,
    PlanChanged,
    PolicyChange,
    Recollection,
    Rewind,
    SessionEnd,
    SessionError,
    SessionFork,
    SessionInterrupted,
    SessionPinned,
    SessionRename,
    SessionResume,
    SessionStart,
    SessionTrashed,
    Truncation,
    Unknown,
    UsageInfo,
)
from co_tui.events.stored_messages import prompt_of
from co_tui.events.triggers import words_for
from co_tui.inert import one_line
from co_tui.session.tool_wording import gist_of_call
from co_tui.settings.rules import PRESENT_PLAN
from co_tui.ui.approvals.modes import mode_name
from co_tui.ui.formatting import counted, money, tokens

LINE_CHARS = 60
TROUBLES: Final = {
    "authentication": "key refused",
    "checkpoint": "checkpoint not written",
    "compaction_stopped": "compaction stopped",
    "connection": "connection broke",
    "context_limit": "too long for the model",
    "cut_off": "reply broke off",
    "fixed_part": "hardly any room left",
    "http": "provider refused",
    "length": "output limit reached",
    "malformed": "unreadable reply",
    "mcp": "MCP server failed",
    "mcp_missing": "MCP tools missing",
    "memory": "memory not written",
    "no_room": "no room for a summary",
    "not_found": "model not found",
    "provider": "provider failed",
    "quota": "out of credit",
    "rate_limit": "rate limited",
    "redirect": "redirected elsewhere",
    "rejected": "request rejected",
    "repeated_call": "same call failed again",
    "server": "provider failed",
    "steps": "out of steps",
    "tools_left_out": "fewer tools offered",
    "timeout": "no answer in time",
    "too_long": "reply too long",
    "unexpected": "failed unexpectedly",
    "unreachable": "not reachable",
    "unsendable": "cannot be sent",
    "unusable": "model not usable",
}
"""What went wrong, by the kind a failure has in the log."""


def words_of(fact: Fact) -> str:
    """The first line says what happened; empty for what is no entry."""
    match fact:
        case SessionStart():
            return f"session began\n{_short(fact.model)}"
        case SessionResume():
            return "session resumed"
        case SessionFork():
            return f"forked from {one_line(fact.source_session_id[-6:], 6)}"
        case SessionRename():
            return f"{'named' if fact.by else 'renamed'}\n{_line(fact.title)}"
        case SessionPinned():
            return "session pinned" if fact.pinned else "session unpinned"
        case SessionTrashed():
            return "put into the trash" if fact.trashed else "taken out of the trash"
        case SessionEnd():
            return "session left"
        case Message():
            return f"turn {fact.turn}"
        case Truncation():
            left_out = counted(fact.messages_removed, "message")
            return f"truncated −{tokens(fact.tokens_removed)}\n{left_out} left out"
        case Recollection():
            return f"recollected\n{counted(fact.lines, 'line')} came back" if fact.note else ""
        case CompactionStart():
            return f"compacting\n{_why(fact)}{counted(fact.messages, 'message')}"
        case CompactionComplete():
            return _compaction(fact)
        case CompactionUndone():
            return f"{_line(fact.what)} undone"
        case Clear():
            return f"context cleared\n{counted(fact.messages_removed, 'message')} left it"
        case Rewind():
            return f"rewound\n{counted(len(fact.history), 'message')} left in the context"
        case ModelChange():
            return f"model changed\n{_short(fact.to)}"
        case ModeChange():
            return f"mode → {_line(mode_name(fact.to))}"
        case PolicyChange():
            return f"policy → {_line(fact.to)}"
        case SessionError():
            return f"{trouble_of(fact)}\n{_line(fact.outcome)}"
        case SessionInterrupted():
            return _line(fact.what) or "interrupted"
        case Occurrence():
            return f"{_line(fact.what)}\n{_line(fact.outcome)}"
        case Unknown():
            return f"something newer\n{_line(fact.type)}"
        case Pin():
            return f"{counted(len(fact.messages), 'message')} {'pinned' if fact.pinned else 'unpinned'}"
        case ApprovalRequested():
            about = gist_of_call(fact.tool, fact.arguments) or fact.what  # a diff says little in one line
            return f"{_asks(fact.tool)}\n{_line(about)}"
        case ApprovalDecided(approved=True, mode=mode) if mode:
            return "plan accepted"
        case ApprovalDecided():
            return f"allowed\n{_allowed(fact)}" if fact.approved else f"denied\n{_by(fact)}"
        case ApprovalRevoked():
            return f"revoked\n{_line(fact.rule or f'{fact.tool} {fact.pattern}')}"
        case DelegationStart():
            return f"delegated to {one_line(fact.name or fact.agent, 40)}\n{_line(fact.task)}"
        case DelegationEnd():
            return f"{one_line(fact.agent, 40)} ended\n{_line(fact.error or fact.outcome)}"
        case PlanChanged():
            return f"plan changed\n{_progress(fact.steps)}"
        case UsageInfo() | Announced():
            return ""
        case _:
            assert_never(fact)


def gist_of(fact: Fact) -> str:
    """How a turn began: stands beside its number as far as there is room."""
    prompt = prompt_of(fact.message) if isinstance(fact, Message) else None
    return one_line(prompt, LINE_CHARS) if prompt else ""


def trouble_of(fact: SessionError) -> str:
    """What went wrong, for people; a kind of a newer version at least without its underscores."""
    return TROUBLES.get(fact.kind) or one_line(fact.kind.replace("_", " "), 40) or "something failed"


def _line(text: str) -> str:
    return one_line(text, LINE_CHARS)


def _why(fact: CompactionStart) -> str:
    words = words_for(fact.trigger) or {"background": "beside the turn"}.get(fact.trigger, "")
    return f"{words} · " if words else ""


def _asks(tool: str) -> str:
    if tool in COMMAND_TOOLS:
        return "asks to run"
    if tool in CHANGING_TOOLS:
        return "asks to change"
    return "presents a plan" if tool == PRESENT_PLAN else f"asks to use {one_line(tool, 40)}"


def _allowed(fact: ApprovalDecided) -> str:
    allowed = one_line(", ".join(fact.rules) or fact.pattern, 40)
    spans = {"session": f"this session: {allowed}", "project": f"always: {allowed}", "pattern": f"always: {allowed}"}
    span = spans.get(fact.scope, "once")
    return f"{span}, by {one_line(fact.by, 20)}" if fact.by else span


def _by(fact: ApprovalDecided) -> str:
    return _line(fact.reason) or f"by {one_line(fact.by, 20) or 'nobody'}"


def _progress(steps: Sequence[Json]) -> str:
    done = sum(step.get("state") in ("done", "completed") for step in steps)
    return f"{done} of {counted(len(steps), 'step')} done"


def _short(model: str) -> str:
    """A model's name without its provider, as wide as the timeline is."""
    return one_line(model.rpartition(":")[2].rpartition("/")[2], 22)


def _compaction(fact: CompactionComplete) -> str:
    if fact.cancelled:
        return "compaction cancelled"
    if not fact.success:
        return f"compaction failed\n{_line(fact.error)}"
    if fact.edited and fact.summarised_by == "you":
        return "summary rewritten by you"
    if not fact.replaced:
        return f"Conversation Compacted\nby {one_line(fact.summarised_by, 20)}"
    change = f" · {fact.post_tokens / fact.pre_tokens - 1:+.0%}" if fact.pre_tokens else ""
    saved = change.replace("-", "−").replace("%", " %")
    took = f"{fact.duration_ms / 1000:.1f} s" if fact.duration_ms >= 100 else "at once"
    checkpoint = f"checkpoint {fact.checkpoint_number}" if fact.checkpoint_number else ""
    cost = money(fact.cost) if fact.cost else ""
    figures = (
        f"{tokens(fact.pre_tokens)} → {tokens(fact.post_tokens)}{saved}",
        f"{counted(len(fact.replaced), 'message')} · {took}",
        " · ".join(filter(None, (checkpoint, cost))),
    )
    return "\n".join(filter(None, ("Conversation Compacted", *figures)))
