"""What every fact is at a glance: its sign, its kind and its weight, the same wherever it is told."""

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

COMPACTED_SIGN: Final = "◆"
"""Stands for a conversation that was made smaller, wherever that shows."""


class EntryKind(StrEnum):
    """What an entry is about, in the word people see."""

    TURN = "turns"
    COMPACTION = "compactions"
    CONTEXT = "context"
    WORK = "work"
    TROUBLE = "trouble"
    SESSION = "session"


class EntryWeight(StrEnum):
    """How much an entry should catch the eye."""

    LIGHT = "light"
    NORMAL = "normal"
    NOTABLE = "notable"
    BAD = "bad"
    HEAVY = "heavy"


class Glance(NamedTuple):
    """A fact as an entry among others."""

    sign: str
    kind: EntryKind
    weight: EntryWeight = EntryWeight.NORMAL


def glance_at(fact: Fact) -> Glance | None:
    """None for what is no entry: measurements, searches that found nothing, and what is only announced."""
    kind, weight = EntryKind, EntryWeight
    match fact:
        case UsageInfo() | Announced():
            return None
        case Message():
            return Glance("●", kind.TURN, weight.LIGHT)
        case CompactionComplete():
            return _compaction(fact)
        case CompactionStart():
            return Glance("◇", kind.COMPACTION, weight.LIGHT)
        case CompactionUndone():
            return Glance("↶", kind.COMPACTION, weight.NOTABLE)
        case Truncation():
            return Glance("✂", kind.CONTEXT, weight.NOTABLE)
        case Recollection():
            return Glance("↩", kind.CONTEXT) if fact.note else None
        case Clear():
            return Glance("⌫", kind.CONTEXT, weight.NOTABLE)
        case Rewind():
            return Glance("↶", kind.CONTEXT, weight.NOTABLE)
        case Pin():
            return Glance("◉", kind.CONTEXT)
        case ArtifactStored() | MemoryWritten() | BoardShown() | BoardChanged():
            return Glance("+", kind.CONTEXT)
        case ApprovalRequested():
            return Glance("◔", kind.WORK, weight.NOTABLE)
        case ApprovalDecided():
            return Glance("✓", kind.WORK) if fact.approved else Glance("✗", kind.WORK, weight.NOTABLE)
        case ApprovalRevoked():
            return Glance("↶", kind.WORK)
        case DelegationStart():
            return Glance("↳", kind.WORK)
        case DelegationEnd():
            return Glance("✗", kind.WORK, weight.BAD) if fact.error else Glance("↲", kind.WORK)
        case PlanChanged():
            return Glance("☑", kind.WORK)
        case HookRun():
            return Glance("+", kind.WORK)
        case SessionError():
            again = fact.retry_in_s is not None
            return Glance("↻", kind.TROUBLE, weight.NOTABLE) if again else Glance("✗", kind.TROUBLE, weight.BAD)
        case SessionInterrupted():
            return Glance("■", kind.TROUBLE, weight.NOTABLE)
        case SessionStart() | SessionResume():
            return Glance("○", kind.SESSION, weight.LIGHT)
        case SessionFork():
            return Glance("↗", kind.SESSION)
        case SessionRename():
            return Glance("✎", kind.SESSION, weight.LIGHT)
        case SessionPinned():
            return Glance("◉", kind.SESSION, weight.LIGHT)
        case SessionTrashed():
            return Glance("⌫", kind.SESSION)
        case SessionEnd():
            return Glance("◌", kind.SESSION, weight.LIGHT)
        case ModelChange() | PolicyChange() | ModeChange():
            return Glance("⇄", kind.SESSION)
        case Unknown():
            return Glance("?", kind.SESSION)
        case _:
            assert_never(fact)


def sign_of(fact: Fact) -> str:
    """Empty for what is no entry."""
    glance = glance_at(fact)
    return glance.sign if glance else ""


def _compaction(fact: CompactionComplete) -> Glance:
    if fact.cancelled:
        return Glance("◇", EntryKind.COMPACTION)
    if not fact.success:
        return Glance("✗", EntryKind.COMPACTION, EntryWeight.BAD)
    if fact.edited and fact.summarised_by == "you":
        return Glance("✎", EntryKind.COMPACTION, EntryWeight.NOTABLE)
    return Glance(COMPACTED_SIGN, EntryKind.COMPACTION, EntryWeight.HEAVY)
