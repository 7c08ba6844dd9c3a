"""What happened beside the conversation, in words for people who were not there."""

from typing import NamedTuple

from co_tui.events import (
    Announced,
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    BoardChanged,
    BoardShown,
    Clear,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    DelegationEnd,
    DelegationStart,
    Event,
    MemoryWritten,
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
    SessionPinned,
    SessionRename,
    SessionResume,
    SessionStart,
    SessionTrashed,
    Truncation,
    Unknown,
    UsageInfo,
)
from co_tui.events.symbols import symbol_of
from co_tui.inert import one_line

WORDS = 300
"""Characters of what was told by others."""
COMPACTED = "Conversation Compacted"


class Happening(NamedTuple):
    """One line of the timeline, and what opens below it."""

    sign: str
    words: str
    time: str
    seq: int
    detail: str = ""
    is_compaction: bool = False


def happening(event: Event) -> Happening | None:
    """None for what is no entry of the timeline."""
    told = _told(event)
    if told is None:
        return None
    words, *detail = told
    fact = event.fact
    is_compaction = isinstance(fact, CompactionComplete) and fact.success and not fact.agent
    return Happening(symbol_of(fact), words, event.timestamp, event.seq or 0, "".join(detail), is_compaction)


def _told(event: Event) -> tuple[str, ...] | None:
    """The words, and what opens below them."""
    fact = event.fact
    match fact:
        case Message() | UsageInfo() | CompactionStart() | ApprovalRequested() | Announced():
            return None
        case SessionStart():
            return (f"The session began{f' with {_short(fact.model)}' if fact.model else ''}",)
        case SessionResume():
            return ("The session was resumed",)
        case SessionFork():
            return (f"Forked from {_short(fact.source_session_id)}",)
        case SessionRename():
            return (f"Named “{_short(fact.title)}”",)
        case SessionPinned():
            return (f"The session was {'pinned' if fact.pinned else 'unpinned'}",)
        case SessionTrashed():
            return (f"The session was {'put into' if fact.trashed else 'taken out of'} the trash",)
        case SessionEnd():
            return (f"The session was left{f' ({_short(fact.reason)})' if fact.reason else ''}",)
        case Truncation():
            left_out = f"{fact.messages_removed:,} messages, {fact.tokens_removed:,} tokens less"
            return (f"A request was truncated: {left_out}",)
        case Recollection():
            return (f"{fact.lines} lines came back into the context",) if fact.note else None
        case CompactionComplete():
            return _compaction(fact)
        case CompactionUndone():
            return (f"The {_short(fact.what)} was undone",)
        case Clear():
            return (f"The context was cleared: {fact.messages_removed:,} messages left it",)
        case Rewind():
            return ("The conversation was rewound",)
        case ModelChange():
            return (f"The model changed to {_short(fact.to)}",)
        case ModeChange():
            return (f"The mode changed to {_short(fact.to)}",)
        case PolicyChange():
            return (f"The policy changed to {_short(fact.to)}",)
        case Pin():
            return (f"{len(fact.messages):,} messages {'pinned' if fact.pinned else 'unpinned'}",)
        case ApprovalDecided():
            by = f" by {_short(fact.by)}" if fact.by else ""
            return (f"Allowed{by}",) if fact.approved else (f"Refused{by}", fact.reason)
        case ApprovalRevoked():
            return ("What was always allowed is asked about again",)
        case DelegationStart():
            return f"{_short(fact.name or fact.agent)} was asked", fact.task
        case DelegationEnd():
            return f"{_short(fact.agent)} ended", fact.error or fact.outcome
        case PlanChanged():
            return "The plan changed", "\n".join(f"{step.get('state')}: {step.get('text')}" for step in fact.steps)
        case SessionError():
            return _short(fact.what), fact.outcome
        case BoardShown():
            return f"The session begins with {_notes(fact.entries)} of earlier ones", fact.note
        case BoardChanged():
            changes = [
                *(f"+ {each.get('text')}" for each in fact.added),
                *(f"- {each.get('text')}" for each in fact.pruned),
            ]
            is_done = changes or fact.model
            told = "The context board was brought up to date" if is_done else "The context board stays as it is"
            return told, "\n".join(changes) or ("" if is_done else fact.outcome)
        case MemoryWritten():
            return ("A summary was written to the daily memory",)  # where that is, is nobody else's
        case Occurrence():
            return (_short(" · ".join(filter(None, (fact.what, fact.where, fact.outcome)))),)
        case Unknown():
            return (_short(fact.type),)


def _notes(count: int) -> str:
    return f"{count:,} {'note' if count == 1 else 'notes'}"


def _compaction(fact: CompactionComplete) -> tuple[str, ...]:
    if fact.cancelled:
        return ("A compaction was cancelled",)
    if not fact.success:
        return "A compaction failed", fact.error
    figures = [
        f"{fact.pre_tokens:,} → {fact.post_tokens:,} tokens" if fact.replaced else "",
        f"{len(fact.replaced):,} messages" if fact.replaced else "",
        f"by {_short(fact.summarised_by)}" if fact.summarised_by else "",
        f"{fact.duration_ms / 1000:.1f} s" if fact.duration_ms else "",
        f"${fact.cost:.4f}" if fact.cost else "",
    ]
    return " · ".join(filter(None, (COMPACTED, *figures))), fact.summary


def _short(text: str) -> str:
    return one_line(text, WORDS)
