"""Which events an import has read again since: they count as they were read last."""

from collections.abc import Sequence
from typing import Final

from co_tui.events.event import Event
from co_tui.events.facts import Fact
from co_tui.events.facts.agents import DelegationEnd, DelegationStart
from co_tui.events.facts.context import BY_IMPORT, Clear, CompactionComplete, CompactionUndone, Rewind, UsageInfo
from co_tui.events.facts.conversation import Message
from co_tui.events.facts.life import SessionEnd

NOTHING_REPLACED: Final = 1 << 62
_READ: Final = (Message, CompactionComplete, CompactionUndone, Clear, Rewind, UsageInfo, DelegationStart, DelegationEnd)
"""What an import writes of a conversation; all else happened here."""


def _is_end_of_import(fact: Fact) -> bool:
    return isinstance(fact, SessionEnd) and bool(fact.program)


def without_replaced(events: Sequence[Event], upto: int = NOTHING_REPLACED) -> tuple[list[Event], int]:
    """The events that still count, and the seq up to which those before them do: the `upto` of an earlier page."""
    kept: list[Event] = []
    for event in reversed(events):
        fact = event.fact
        if isinstance(fact, Rewind) and fact.by == BY_IMPORT:
            upto = min(upto, fact.to_seq)
        elif (event.seq or 0) <= upto or not (isinstance(fact, _READ) or _is_end_of_import(fact)):
            kept.append(event)
    return kept[::-1], upto
