"""How facts appear on the timeline: symbol, kind and weight. Each fact declares its own."""

from enum import StrEnum
from typing import Final, NamedTuple

COMPACTED_SYMBOL: Final = "◆"
"""Marks a compaction wherever one is shown."""


class EntryKind(StrEnum):
    """What an entry is about, as the filter names it."""

    TURN = "turns"
    COMPACTION = "compactions"
    CONTEXT = "context"
    CHANGE = "changes"
    TROUBLE = "errors"
    APPROVAL = "approvals"
    WORK = "work"
    MEMORY = "memory"
    SESSION = "session"


class EntryWeight(StrEnum):
    """How prominent an entry is."""

    LIGHT = "light"
    """Routine: a turn, a session that began."""
    NORMAL = "normal"
    """Something changed: the model, a fork."""
    NOTABLE = "notable"
    """What the model sees changed, or the user should notice: a truncation, a retry."""
    BAD = "bad"
    """Something failed."""
    HEAVY = "heavy"
    """A compaction, the heaviest entry."""


class EntryStyle(NamedTuple):
    """How a fact appears as an entry of the timeline."""

    symbol: str
    kind: EntryKind
    weight: EntryWeight = EntryWeight.NORMAL
    is_quiet: bool = False
    """Whether it is only shown when the filter asks for it."""
