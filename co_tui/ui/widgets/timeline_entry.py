"""An event's words on the timeline."""

from collections.abc import Sequence
from textwrap import wrap
from typing import assert_never

from rich.cells import cell_len
from rich.text import Text

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
    Event,
    Json,
    Message,
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
    SessionRename,
    SessionResume,
    SessionStart,
    Truncation,
    Unknown,
    UsageInfo,
)
from co_tui.inert import one_line
from co_tui.ui.formatting import counted, money, tokens
from co_tui.ui.widgets.block import clock

INDENT = "        "
"""Under the words of an entry, past its time and sign."""


def timeline_row(event: Event, width: int) -> Text:
    """Time, sign and words; what is longer than the column goes on below its beginning."""
    icon, text = timeline_entry(event) or ("", "")
    first, *others = text.split("\n")
    time = f"{clock(event.timestamp)} "
    room = width - cell_len(time) - 2
    row = Text(no_wrap=True)
    for n, line in enumerate(_wrapped(first, room)):
        row.append_text(Text.assemble((time, "dim"), f"{icon} ", line) if n == 0 else Text(f"\n{INDENT}{line}"))
    for other in others:
        for line in _wrapped(other, width - len(INDENT)):
            row.append(f"\n{INDENT}{line}", "dim")
    return row


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, max(8, width), break_long_words=True) or [""]


def timeline_entry(event: Event) -> tuple[str, str] | None:
    """An event's sign and words on the timeline; None for what does not belong there."""
    fact = event.fact
    match fact:
        case SessionStart():
            return "○", f"session began\n{_short(fact.model)}"
        case SessionResume():
            return "○", "session resumed"
        case SessionFork():
            return "↗", f"forked from {fact.source_session_id[-6:]}"
        case SessionRename():
            return "✎", f"renamed\n{one_line(fact.title, 60)}"
        case SessionEnd():
            return "◌", "session left"
        case Message():
            return "●", f"turn {fact.turn}"
        case Truncation():
            return (
                "✂",
                f"truncated −{tokens(fact.tokens_removed)}\n{counted(fact.messages_removed, 'message')} left out",
            )
        case Recollection():
            return "↩", f"recollected\n{counted(fact.lines, 'line')} came back"
        case CompactionStart():
            return "◇", f"compacting\n{fact.trigger.replace('_', ' ')} · {counted(fact.messages, 'message')}"
        case CompactionComplete():
            return _compaction(fact)
        case CompactionUndone():
            return "↶", f"{fact.what} undone"
        case Clear():
            return "⌫", f"context cleared\n{counted(fact.messages_removed, 'message')} left it"
        case Rewind():
            return "↶", f"rewound to event {fact.to_seq}"
        case ModelChange():
            return "⇄", f"model changed\n{_short(fact.to)}"
        case PolicyChange():
            return "⇄", f"policy → {fact.to}"
        case SessionError():
            sign = "↻" if fact.retry_in_s is not None else "✗"
            return sign, f"{fact.kind or 'error'}\n{one_line(fact.outcome, 60)}"
        case SessionInterrupted():
            return "■", one_line(fact.what, 60)
        case Occurrence():
            return "+", f"{one_line(fact.what, 60)}\n{one_line(fact.outcome, 60)}"
        case Unknown():
            return "?", fact.type
        case Pin():
            return "◉", f"{counted(len(fact.messages), 'message')} {'pinned' if fact.pinned else 'unpinned'}"
        case ApprovalRequested():
            return "◔", f"asks to run {one_line(fact.tool, 40)}\n{one_line(fact.what, 60)}"
        case ApprovalDecided():
            return ("✓", f"allowed\n{_allowed(fact)}") if fact.approved else ("✗", f"refused\n{_by(fact)}")
        case ApprovalRevoked():
            return "✗", f"asks again about {one_line(fact.tool, 40)}\n{one_line(fact.pattern, 60)}".rstrip()
        case DelegationStart():
            return "↳", f"{one_line(fact.name or fact.agent, 40)} was asked\n{one_line(fact.task, 60)}"
        case DelegationEnd():
            return (
                "✗" if fact.error else "↲"
            ), f"{one_line(fact.agent, 40)} ended\n{one_line(fact.error or fact.outcome, 60)}"
        case PlanChanged():
            return "☑", f"plan changed\n{_progress(fact.steps)}"
        case UsageInfo() | Announced():
            return None
        case _:
            assert_never(fact)


def _allowed(fact: ApprovalDecided) -> str:
    span = {"session": "for this session", "pattern": f"always: {one_line(fact.pattern, 40)}"}.get(fact.scope, "once")
    return f"{span}, by {one_line(fact.by, 20)}" if fact.by else span


def _by(fact: ApprovalDecided) -> str:
    return one_line(fact.reason, 60) or f"by {one_line(fact.by, 20) or 'nobody'}"


def _progress(steps: Sequence[Json]) -> str:
    done = sum(step.get("state") in ("done", "completed") for step in steps)
    return f"{done} of {counted(len(steps), 'step')} done"


def _short(model: str) -> str:
    """A model's name without its provider, as wide as the timeline is."""
    return one_line(model.rpartition(":")[2].rpartition("/")[2], 22)


def _compaction(fact: CompactionComplete) -> tuple[str, str]:
    if fact.cancelled:
        return "◇", "compaction cancelled"
    if not fact.success:
        return "✗", f"compaction failed\n{one_line(fact.error, 60)}"
    if fact.edited and fact.summarised_by == "you":
        return "✎", "summary rewritten by you"
    if not fact.replaced:
        return "◆", f"Conversation Compacted\nby {one_line(fact.summarised_by, 20)}"
    saved = f"{1 - fact.post_tokens / fact.pre_tokens:.0%}" if fact.pre_tokens else ""
    checkpoint = f" · cp {fact.checkpoint_number}" if fact.checkpoint_number else ""
    cost = f" · {money(fact.cost)}" if fact.cost else ""
    return (
        "◆",
        f"Conversation Compacted\n{tokens(fact.pre_tokens)} → {tokens(fact.post_tokens)}  −{saved}\n"
        f"{counted(len(fact.replaced), 'message')}{checkpoint}\n{fact.duration_ms / 1000:.1f} s{cost}",
    )
