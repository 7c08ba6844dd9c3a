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
    NORMAL = "normal"
    NOTABLE = "notable"
    BAD = "bad"
    HEAVY = "heavy"


class EntryStyle(NamedTuple):
    """How a fact appears as an entry of the timeline."""

    symbol: str
    kind: EntryKind
    weight: EntryWeight = EntryWeight.NORMAL
    is_quiet: bool = False
    """Whether it is only shown when the filter asks for it."""
