"""The symbol, kind and weight of every fact, the same wherever it is shown."""

from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from co_tui.events.facts import Fact, Unknown
from co_tui.events.facts.agents import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    DelegationEnd,
    DelegationStart,
    PlanChanged,
)
from co_tui.events.facts.base import Announced
from co_tui.events.facts.board import BoardChanged, BoardShown
from co_tui.events.facts.context import (
    ArtifactStored,
    Clear,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    MemoryWritten,
    Pin,
    Recollection,
    Rewind,
    Truncation,
    UsageInfo,
)
from co_tui.events.facts.conversation import HookRun, Message, SessionError, SessionInterrupted
from co_tui.events.facts.life import (
    ModeChange,
    ModelChange,
    PolicyChange,
    SessionEnd,
    SessionFork,
    SessionPinned,
    SessionRename,
    SessionResume,
    SessionStart,
    SessionTrashed,
)

COMPACTED_SYMBOL: Final = "◆"
"""Marks a compaction wherever one is shown."""


class EntryKind(StrEnum):
    """What an entry is about, as the filter names it."""

    TURN = "turns"
    COMPACTION = "compactions"
    CONTEXT = "context"
    WORK = "work"
    TROUBLE = "trouble"
    SESSION = "session"


class EntryWeight(StrEnum):
    """How prominent an entry is."""

    LIGHT = "light"
    NORMAL = "normal"
    NOTABLE = "notable"
    BAD = "bad"
    HEAVY = "heavy"


class EntryStyle(NamedTuple):
    """How a fact appears as an entry of the timeline."""

    symbol: str
    kind: EntryKind
    weight: EntryWeight = EntryWeight.NORMAL


def entry_style(fact: Fact) -> EntryStyle | None:
    """None for facts that are not entries: measurements, searches without a result, and announced facts."""
    kind, weight = EntryKind, EntryWeight
    match fact:
        case UsageInfo() | Announced():
            return None
        case Message():
            return EntryStyle("●", kind.TURN, weight.LIGHT)
        case CompactionComplete():
            return _compaction(fact)
        case CompactionStart():
            return EntryStyle("◇", kind.COMPACTION, weight.LIGHT)
        case CompactionUndone():
            return EntryStyle("↶", kind.COMPACTION, weight.NOTABLE)
        case Truncation():
            return EntryStyle("✂", kind.CONTEXT, weight.NOTABLE)
        case Recollection():
            return EntryStyle("↩", kind.CONTEXT) if fact.note else None
        case Clear():
            return EntryStyle("⌫", kind.CONTEXT, weight.NOTABLE)
        case Rewind():
            return EntryStyle("↶", kind.CONTEXT, weight.NOTABLE)
        case Pin():
            return EntryStyle("◉", kind.CONTEXT)
        case ArtifactStored() | MemoryWritten() | BoardShown() | BoardChanged():
            return EntryStyle("+", kind.CONTEXT)
        case ApprovalRequested():
            return EntryStyle("◔", kind.WORK, weight.NOTABLE)
        case ApprovalDecided():
            return EntryStyle("✓", kind.WORK) if fact.approved else EntryStyle("✗", kind.WORK, weight.NOTABLE)
        case ApprovalRevoked():
            return EntryStyle("↶", kind.WORK)
        case DelegationStart():
            return EntryStyle("↳", kind.WORK)
        case DelegationEnd():
            return EntryStyle("✗", kind.WORK, weight.BAD) if fact.error else EntryStyle("↲", kind.WORK)
        case PlanChanged():
            return EntryStyle("☑", kind.WORK)
        case HookRun():
            return EntryStyle("+", kind.WORK)
        case SessionError():
            again = fact.retry_in_s is not None
            return EntryStyle("↻", kind.TROUBLE, weight.NOTABLE) if again else EntryStyle("✗", kind.TROUBLE, weight.BAD)
        case SessionInterrupted():
            return EntryStyle("■", kind.TROUBLE, weight.NOTABLE)
        case SessionStart() | SessionResume():
            return EntryStyle("○", kind.SESSION, weight.LIGHT)
        case SessionFork():
            return EntryStyle("↗", kind.SESSION)
        case SessionRename():
            return EntryStyle("✎", kind.SESSION, weight.LIGHT)
        case SessionPinned():
            return EntryStyle("◉", kind.SESSION, weight.LIGHT)
        case SessionTrashed():
            return EntryStyle("⌫", kind.SESSION)
        case SessionEnd():
            return EntryStyle("◌", kind.SESSION, weight.LIGHT)
        case ModelChange() | PolicyChange() | ModeChange():
            return EntryStyle("⇄", kind.SESSION)
        case Unknown():
            return EntryStyle("?", kind.SESSION)
        case _:
            assert_never(fact)


def symbol_of(fact: Fact) -> str:
    """The symbol of a fact; empty if it is not an entry."""
    glance = entry_style(fact)
    return glance.symbol if glance else ""


def _compaction(fact: CompactionComplete) -> EntryStyle:
    if fact.cancelled:
        return EntryStyle("◇", EntryKind.COMPACTION)
    if not fact.success:
        return EntryStyle("✗", EntryKind.COMPACTION, EntryWeight.BAD)
    if fact.edited and fact.summarised_by == "you":
        return EntryStyle("✎", EntryKind.COMPACTION, EntryWeight.NOTABLE)
    return EntryStyle(COMPACTED_SYMBOL, EntryKind.COMPACTION, EntryWeight.HEAVY)
